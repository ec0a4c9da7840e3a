import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { ClientMemory } from '../../server/lib/client-memory.ts'
import { WriteBuffer } from '../../server/net/http2/write-buffer.ts'
import { noise, sha256 } from '../edge-fixture.ts'
import { numbers } from '../support/random.ts'

test('what is sent over several connections at once arrives on each as it was sent', async (t) => {
  const pick = numbers(t)
  const memory = new ClientMemory({ totalBytes: 2 ** 26, perNetworkBytes: 2 ** 26 })
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const pairs: { outbox: WriteBuffer; sent: Buffer[]; came: Buffer[]; ended: Promise<unknown> }[] = []
  for (let count = 0; count < 3; count++) {
    const theirs = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [ours] = (await once(server, 'connection')) as [Socket]
    sockets.push(ours, theirs)
    const came: Buffer[] = []
    theirs.on('data', (chunk: Buffer) => came.push(chunk))
    pairs.push({
      outbox: new WriteBuffer(ours, memory.reserve('127.0.0.1')),
      sent: [],
      came,
      ended: once(theirs, 'end'),
    })
  }
  for (let turn = 0; turn < 150; turn++) {
    const { outbox, sent } = pairs[pick(3)]!
    outbox.begin()
    for (let count = pick(60); count >= 0; count--) {
      const bytes = noise(pick(pick(10) === 0 ? 20_000 : 9000))
      // Somebody else may have something to say in between.
      const other = pick(50) === 0 ? pairs[pick(3)]! : { outbox, sent }
      other.sent.push(bytes)
      other.outbox.add(bytes)
    }
    outbox.end()
    if (pick(3) === 0) await new Promise(setImmediate)
  }
  for (const { outbox } of pairs) outbox.close()
  for (const { ended, came, sent } of pairs) {
    await ended
    assert.equal(sha256(Buffer.concat(came)), sha256(Buffer.concat(sent)))
  }
})
