import { blobsContract, NOW } from '../blobs/contract.ts'
import { requires } from '../tools/part.ts'
import { createStorage } from './storage.ts'

/** As many as the suite opens. */
const PROCESSES = 4

blobsContract(
  'S3',
  async () => {
    await using storage = new AsyncDisposableStack()
    const { open } = storage.use(await createStorage())
    const processes = Array.from({ length: PROCESSES }, () => open({ clock: () => NOW }).blobs)
    // The first response tells how far their clock is from that of the server.
    await Promise.all(processes.map((blobs) => blobs.check()))
    const created = storage.move()
    return { open: () => processes.pop()!, [Symbol.asyncDispose]: () => created.disposeAsync() }
  },
  { ...requires('ceph'), isDurableAtPut: true },
)
