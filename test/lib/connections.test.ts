import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ClientMemory } from '../../packages/http-server/clients/client-memory.ts'
import { Connections } from '../../packages/http-server/clients/connections.ts'
import { CONNECTION_DEADLINES } from '../../packages/http-server/deadlines.ts'
import { Listener } from '../../packages/http-server/listener.ts'
import { getPort } from '../../packages/http-server/ports.ts'
import { PATIENT } from '../support/patient.ts'
import { pluck } from '../support/pluck.ts'
import { startTestService } from '../support/service.ts'
import { silentLog } from '../support/silent-log.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { KIB, MIB } from '../support/units.ts'
import { waitFor } from '../support/wait-for.ts'
import { SecureService } from '../tls/secure-service.ts'

const HEALTH = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** Sends a request from this address; returns the beginning of the response, or '' when the connection is closed. */
async function visit(port: number, localAddress: string): Promise<{ socket: Socket; answer: string }> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => undefined)
  socket.write(HEALTH)
  const answer = await Promise.race([
    once(socket, 'data').then(([bytes]) => String(bytes).slice(0, 12)),
    once(socket, 'close').then(() => ''),
  ])
  return { socket, answer }
}

describe('an address has a limited number of connections', () => {
  const service = startForAllTests(() => SecureService.start({ CONNECTIONS_PER_ADDRESS: '3' }))

  test('further ones are closed immediately and logged in one line, and other addresses are served', async () => {
    const { port, log } = service.running
    const first = []
    for (let count = 0; count < 3; count++) first.push(await visit(port, '127.0.0.2'))
    for (const { answer } of first) assert.equal(answer, 'HTTP/1.1 200')
    for (let count = 0; count < 3; count++) assert.equal((await visit(port, '127.0.0.2')).answer, '')
    const other = await visit(port, '127.0.0.3')
    assert.equal(other.answer, 'HTTP/1.1 200')
    const lines = log.filter(({ message }) => String(message).startsWith('connections refused'))
    assert.deepEqual(pluck(lines, 'limit'), [3])
    first[0]!.socket.destroy()
    let again = await visit(port, '127.0.0.2')
    // Until the service has noticed that the first one is closed.
    while (again.answer === '') again = await visit(port, '127.0.0.2')
    for (const { socket } of [...first, other, again]) socket.destroy()
  })

  test('counted over HTTP and HTTPS together', async () => {
    const { port } = service.running
    const open = [(await visit(port, '127.0.0.4')).socket, (await visit(port, '127.0.0.4')).socket]
    open.push(connect({ port: service.port, host: '127.0.0.1', localAddress: '127.0.0.4' }))
    await once(open.at(-1)!, 'connect')
    assert.equal((await visit(service.port, '127.0.0.4')).answer, '')
    for (const socket of open) socket.destroy()
  })

  test('also after one was reset behind CONNECT, which does not end the service', async () => {
    const { port } = service.running
    const { socket } = await visit(port, '127.0.0.5')
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', () => socket.resetAndDestroy())
    await once(socket, 'close')
    assert.equal((await visit(port, '127.0.0.5')).answer, 'HTTP/1.1 200')
  })

  test('unless the peers are trusted proxies', async () => {
    await using running = await startTestService({ CONNECTIONS_PER_ADDRESS: '1', TRUSTED_PROXIES: '1' })
    const visits = []
    for (let count = 0; count < 3; count++) visits.push(await visit(running.port, '127.0.0.2'))
    for (const { answer, socket } of visits) {
      assert.equal(answer, 'HTTP/1.1 200')
      socket.destroy()
    }
  })
})

/** A request of 12 kB that takes 100 kB of heap while pending. */
const LINES = Array.from({ length: 700 }, (_, number) => `h${number}: ${'v'.repeat(10)}\r\n`).join('')
const REQUEST = `GET / HTTP/1.1\r\nHost: a\r\n${LINES}\r\n`

test('pending requests use the memory share of their address, and no other client is disconnected', async () => {
  await using disposal = new AsyncDisposableStack()
  const memory = new ClientMemory({ totalBytes: 16 * MIB, perNetworkBytes: 4 * MIB })
  const connections = disposal.use(new Connections({ memory, perNetwork: 1000, log: silentLog }))
  const listener = await Listener.open('127.0.0.1', 0, { connections, deadlines: PATIENT })
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
  await waitFor(() => memory.heldBytes !== 0)
  const ofOther = memory.heldBytes
  assert.ok(ofOther > 90 * KIB && ofOther < 150 * KIB, `one request counts ${ofOther} bytes`)
  for (let count = 0; count < 6; count++) await send('127.0.0.3', REQUEST.repeat(20))
  await waitFor(() => memory.evicted !== 0)
  assert.ok(memory.heldBytes <= 4 * MIB + ofOther)
  assert.equal(other.destroyed, false)

  for (const socket of sockets) socket.destroy()
  await waitFor(() => waiting === 0 && memory.heldBytes === 0)
})

test('a connection is idle while its client is awaited, not while its request is handled', async () => {
  const listener = await Listener.open('127.0.0.1', 0, { deadlines: PATIENT })
  const handled: string[] = []
  const idle = ({ socket }: IncomingMessage) => {
    socket.emit('timeout')
    return socket.destroyed
  }
  listener.serve({
    async request(request, response) {
      // Node notices the end of a request after its head.
      await turn()
      handled.push(`${request.method} ${idle(request)}`)
      response.end('late', () => handled.push(`answered ${idle(request)}`))
    },
  })
  const send = async (text: string) => {
    const socket = connect({ port: listener.port, host: '127.0.0.1' })
    socket.on('error', () => undefined)
    socket.write(text)
    await once(socket.resume(), 'close')
  }
  await send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc')
  assert.deepEqual(handled.slice(0, 3), ['GET false', 'answered true', 'POST true'])
  await listener.drain(0)
})

test('a drain closes what requests in progress leave behind, and the response to a later one says that it is the last', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const listener = await Listener.open('127.0.0.1', 0, { deadlines: CONNECTION_DEADLINES })
  const begun: ServerResponse[] = []
  listener.serve({ request: (_request, response) => void begun.push(response) })
  // As the listener of HTTPS, whose connections no socket of this one has accepted.
  const outer = createServer((socket) => listener.accept(socket)).listen(0, '127.0.0.1')
  await once(outer, 'listening')
  const [one, other] = [getPort(outer), listener.port].map((port) => connect(port, '127.0.0.1')) as [
    Socket,
    Socket,
  ]
  const send = async (socket: Socket, answers: number) => {
    socket.write(REQUEST)
    await waitFor(() => begun.length >= answers)
  }
  await send(one, 1)
  await send(other, 2)
  const { socket } = begun[0]!
  const drained = listener.drain(3600, new Promise((resolve) => outer.close(() => resolve())))
  await stopAccepting(t)
  await send(other, 3)
  let received = ''
  other.on('data', (bytes) => {
    received += bytes
  })
  t.mock.timers.tick(CONNECTION_DEADLINES.connection.lastRequest)
  for (const response of begun) response.end('answer')
  assert.match(String(await once(one, 'data')), /Connection: keep-alive\r\n/)
  await waitFor(() => received.split('answer').length >= 3)
  assert.match(received, /Connection: keep-alive\r\n.*Connection: close\r\n/s)
  await once(other, 'close')
  t.mock.timers.tick(CONNECTION_DEADLINES.connection.lastRequest)
  assert.equal(socket!.destroyed, true)
  await drained
})

test('a drain lets a slow client read its response to the end', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const listener = await Listener.open('127.0.0.1', 0, { deadlines: CONNECTION_DEADLINES })
  const answer = Buffer.alloc(32 * MIB)
  listener.serve({ request: (_request, response) => void response.end(answer) })
  const socket = connect(listener.port, '127.0.0.1')
  socket.write(REQUEST)
  await once(socket, 'readable')
  const drained = listener.drain(3600)
  await stopAccepting(t)
  t.mock.timers.tick(CONNECTION_DEADLINES.connection.lastRequest)
  let received = 0
  for await (const bytes of socket) {
    received += bytes.length
    if (received > answer.length) t.mock.timers.tick(CONNECTION_DEADLINES.connection.lastRequest)
  }
  assert.ok(received > answer.length, `${received} bytes`)
  await drained
})

/** Before it closes its sockets, and after that, a listener waits for connections of which it did not know. */
async function stopAccepting({ mock }: TestContext): Promise<void> {
  for (let waits = 0; waits < 3; waits++) {
    mock.timers.tick(CONNECTION_DEADLINES.connection.lastRequest)
    await turn()
  }
}
