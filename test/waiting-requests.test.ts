import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ClientMemory } from '../server/lib/client-memory.ts'
import { Connections } from '../server/lib/connections.ts'
import { makeLog } from '../server/lib/log.ts'
import { Listener } from '../server/net/listener.ts'

const KIB = 1024
const MIB = 2 ** 20

/** A request of 12 KB that takes 100 KB of heap while pending. */
const LINES = Array.from({ length: 700 }, (_, number) => `h${number}: ${'v'.repeat(10)}\r\n`).join('')
const REQUEST = `GET / HTTP/1.1\r\nHost: a\r\n${LINES}\r\n`

test('pending requests use the memory share of their address, and no other client is disconnected', async () => {
  await using disposal = new AsyncDisposableStack()
  const memory = new ClientMemory({ totalBytes: 16 * MIB, perNetworkBytes: 4 * MIB })
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const connections = disposal.use(new Connections({ memory, perNetwork: 1000, log }))
  const listener = await Listener.open('127.0.0.1', 0, { connections })
  disposal.defer(() => listener.drain(0))
  let waiting = 0
  listener.serve({
    request: (_request, response) => {
      waiting++
      response.once('close', () => waiting--)
    },
  })
  const sockets: Socket[] = []
  const send = async (localAddress: string, text: string): Promise<Socket> => {
    const socket = connect({ port: listener.port, host: '127.0.0.1', localAddress })
    socket.on('error', () => undefined)
    sockets.push(socket)
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }

  const other = await send('127.0.0.2', REQUEST)
  while (memory.heldBytes === 0) await turn()
  const ofOther = memory.heldBytes
  assert.ok(ofOther > 90 * KIB && ofOther < 150 * KIB, `one request counts ${ofOther} bytes`)
  for (let count = 0; count < 6; count++) await send('127.0.0.3', REQUEST.repeat(20))
  while (memory.evicted === 0) await turn()
  assert.ok(memory.heldBytes <= 4 * MIB + ofOther)
  assert.equal(other.destroyed, false)

  for (const socket of sockets) socket.destroy()
  while (waiting > 0 || memory.heldBytes > 0) await turn()
})
