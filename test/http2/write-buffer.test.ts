import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { ClientMemory } from '../../server/lib/client-memory.ts'
import { WriteBuffer } from '../../server/net/http2/write-buffer.ts'
import { sha256 } from '../api/content.ts'
import { noise } from '../edge/fixture.ts'
import { numbers } from '../support/random.ts'

test('bytes sent concurrently over several connections arrive complete and in order on each', async (t) => {
  const pick = numbers(t)
  const memory = new ClientMemory({ totalBytes: 2 ** 26, perNetworkBytes: 2 ** 26 })
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const pairs: { writeBuffer: WriteBuffer; sent: Buffer[]; received: Buffer[]; ended: Promise<unknown> }[] =
    []
  for (let count = 0; count < 3; count++) {
    const clientSocket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [serverSocket] = (await once(server, 'connection')) as [Socket]
    sockets.push(serverSocket, clientSocket)
    const received: Buffer[] = []
    clientSocket.on('data', (chunk: Buffer) => received.push(chunk))
    pairs.push({
      writeBuffer: new WriteBuffer(serverSocket, memory.reserve('127.0.0.1')),
      sent: [],
      received,
      ended: once(clientSocket, 'end'),
    })
  }
  for (let turn = 0; turn < 150; turn++) {
    const { writeBuffer, sent } = pairs[pick(3)]!
    writeBuffer.begin()
    for (let count = pick(60); count >= 0; count--) {
      const bytes = noise(pick(pick(10) === 0 ? 20_000 : 9000))
      // Another connection may write in between.
      const other = pick(50) === 0 ? pairs[pick(3)]! : { writeBuffer, sent }
      other.sent.push(bytes)
      other.writeBuffer.add(bytes)
    }
    writeBuffer.end()
    if (pick(3) === 0) await new Promise(setImmediate)
  }
  for (const { writeBuffer } of pairs) writeBuffer.close()
  for (const { ended, received, sent } of pairs) {
    await ended
    assert.equal(sha256(Buffer.concat(received)), sha256(Buffer.concat(sent)))
  }
})
