import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteSite } from '../../server/sites/trash.ts'
import { toFiles } from '../api/content.ts'
import { deterministicBytes, listObjects, readBlob, received } from '../blobs/bytes.ts'
import { startServiceWithInternals } from '../blobs/service-with-internals.ts'
import { Program, signal } from '../operator/program.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { freePort } from '../tools/port.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { type ProxiedConnection, TcpProxy } from '../tools/tcp-proxy.ts'
import { createStorage } from './storage.ts'

const CONTENT = deterministicBytes('published twice', 5000)

test(
  'bytes that are published again while a collector is stopped before it deletes them are still served',
  requires('ceph', 'postgres'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const storage = stack.use(await createStorage())
    const { endpoint } = storage.proxy
    const proxy = stack.use(await TcpProxy.open(Number(new URL(endpoint).port)))
    const port = await freePort()
    const settings = {
      DATABASE_URL: stack.use(await (await sharedPostgres()).borrowDatabase()).url,
      BLOBS_URL: storage.url.replace(endpoint, `http://127.0.0.1:${proxy.port}`),
      SECRET: 'a secret of all nodes of this test',
      SMTP_URL: 'smtp://127.0.0.1:1',
      BASE_URL: `http://localhost:${port}`,
      BLOB_GRACE: '0',
    }
    const running = stack.use(await startServiceWithInternals({ ...settings, PORT: `${port}` }))
    const { service, operator } = running
    const { blobs } = storage.open()
    const publish = () => service.client().publish({ files: toFiles({ 'file.bin': CONTENT }) })
    const { slug } = await publish()
    const [former] = await listObjects(blobs)
    await operator.store.write('durable', { site: slug }, (tx) =>
      deleteSite(tx, slug, 'deleted', operator.store.clock()),
    )

    const DATA = stack.use(await memoryFolder()).path
    const collector = stack.use(Program.start({ ...service.settings, DATA }, { args: ['sweep', 'blobs'] }))
    const deleting = await stopBeforeDeletion(proxy, collector)
    await publish()
    // Minutes later the lease of the stopped collector has ended, and another one does its work.
    await running.sweep('blobs')
    signal(collector.pid, 'SIGCONT')
    deleting.resume('toServer')
    const { code, stderr } = await collector.ended
    assert.equal(code, 0, stderr)

    const objects = await listObjects(blobs)
    assert.equal(objects.length, 1)
    assert.notEqual(objects[0], former)
    const stored = await readBlob({ blobs, store: operator.store }, received(CONTENT).hash)
    assert.ok(stored?.equals(CONTENT))
  },
)

/** Stops a process as it sends a request that deletes objects, which is held back. */
function stopBeforeDeletion(proxy: TcpProxy, { pid }: Program): Promise<ProxiedConnection> {
  const { promise, resolve } = Promise.withResolvers<ProxiedConnection>()
  proxy.onBytes = (direction, bytes, connection) => {
    if (direction !== 'toServer' || !/^POST [^ ]*\?delete/.test(bytes.toString('latin1', 0, 500))) return
    proxy.onBytes = undefined
    signal(pid, 'SIGSTOP')
    connection.stop('toServer')
    resolve(connection)
  }
  return promise
}
