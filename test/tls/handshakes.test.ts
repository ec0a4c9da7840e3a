import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, mock, test } from 'node:test'
import { createSecureContext, type TLSSocket } from 'node:tls'
import { readIntoSharedBuffer } from '../../packages/http-server/shared-buffer-read.ts'
import type { ClientHello } from '../../packages/http-server/tls/client-hello.ts'
import { type SelectedCertificate, TlsAcceptor } from '../../packages/http-server/tls/tls-acceptor.ts'
import { makeLog } from '../../server/lib/log.ts'
import { overloaded } from '../../server/lib/semaphore.ts'
import { selfSigned } from '../http2/self-signed.ts'
import { listen } from '../support/listen.ts'
import { waitFor } from '../support/wait-for.ts'
import { hello, helloMessage, records } from './build-client-hello.ts'
import { handshake, untilClosed } from './secure-service.ts'

const NAME = 'www.example.test'
const MAX_HANDSHAKES_PER_ADDRESS = 250
const MAX_HANDSHAKES = 1000

const certificate = await selfSigned(NAME)
const choice: SelectedCertificate = { context: createSecureContext(certificate), protocols: ['http/1.1'] }

describe('TLS handshakes', () => {
  let handshakes: TlsAcceptor
  let server: Server
  let port: number
  let choose: (
    hello: ClientHello,
  ) => SelectedCertificate | undefined | Promise<SelectedCertificate | undefined>
  let secured: TLSSocket[]
  let logged: string[]
  /** Remote addresses of the next connections; by default the real ones. */
  let addresses: string[]
  const open = new Set<Socket>()

  beforeEach(async () => {
    mock.timers.enable({ apis: ['setInterval'] })
    secured = []
    logged = []
    addresses = []
    choose = () => choice
    handshakes = new TlsAcceptor({
      select: (hello) => choose(hello),
      read: readIntoSharedBuffer,
      onSecure: (socket) => void secured.push(socket.on('error', () => undefined)),
      log: makeLog({ level: 'debug', text: true, write: (line) => void logged.push(line) }),
    })
    server = createServer({ allowHalfOpen: true }, (raw) => {
      raw.on('error', () => raw.destroy())
      const address = addresses.shift()
      if (address !== undefined) Object.defineProperty(raw, 'remoteAddress', { value: address })
      handshakes.accept(raw)
    })
    port = await listen(server)
  })
  afterEach(async () => {
    for (const socket of open) socket.destroy()
    for (const socket of secured) socket.destroy()
    open.clear()
    handshakes.destroy()
    server.close()
    await once(server, 'close')
    mock.timers.reset()
  })

  async function client(bytes?: Buffer | string): Promise<Socket> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    open.add(socket)
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    if (bytes !== undefined) socket.write(bytes)
    return socket
  }

  async function completeHandshake(): Promise<void> {
    const socket = await handshake(port, { servername: NAME, ca: certificate.cert })
    socket.destroy()
  }

  test('HTTP on the HTTPS port gets a response that names HTTPS', async () => {
    const socket = await client(`GET / HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`)
    const response = (await untilClosed(socket)).toString()
    assert.match(response, /^HTTP\/1\.1 400 Bad Request\r\n/)
    const [head = '', body = ''] = response.split('\r\n\r\n')
    assert.match(head, /^Date: .* GMT$/m)
    assert.equal(body, 'This port speaks HTTPS: use https://\n')
    assert.equal(Number(/Content-Length: (\d+)/.exec(head)?.[1]), body.length)
  })

  test('a client that begins with another message, or a hello that is too long or cut short, gets the matching alert', async () => {
    const short = records(
      Buffer.concat([Buffer.of(1, 0, 0, 40), helloMessage({ serverName: NAME }).subarray(4, 44)]),
    )
    for (const [alert, bytes] of [
      ['0a', Buffer.of(20, 3, 3, 0, 1, 1)],
      ['2f', records(Buffer.concat([Buffer.of(1, 0, 0x80, 0), Buffer.alloc(2 ** 15)]))],
      ['32', short],
    ] as const)
      assert.equal((await untilClosed(await client(bytes))).toString('hex'), `150303000202${alert}`)
    await waitFor(() => handshakes.count === 0)
    assert.equal(handshakes.refused.broken, 3)
  })

  test('a handshake without a certificate ends with an alert', async () => {
    const alert = async () => (await untilClosed(await client(hello({ serverName: NAME })))).toString('hex')
    choose = () => undefined
    assert.equal(await alert(), '15030300020270')
    choose = async () => undefined
    assert.equal(await alert(), '15030300020270')
    choose = () => Promise.reject(overloaded())
    assert.equal(await alert(), '15030300020250')
    assert.deepEqual(logged, [])
    choose = () => {
      throw new Error('selection failed')
    }
    assert.equal(await alert(), '15030300020250')
    choose = () => Promise.reject(new Error('lookup failed'))
    assert.equal(await alert(), '15030300020250')
    assert.equal(logged.length, 2)
    assert.match(logged.join(), /selection failed.*lookup failed/s)
    for (const line of logged) assert.match(line, new RegExp(NAME))
    await waitFor(() => handshakes.count === 0)
  })

  test('unfinished handshakes are closed after ten seconds, at whatever step', async () => {
    const held = Promise.withResolvers<SelectedCertificate>()
    choose = ({ serverName }) => (serverName === 'held.test' ? held.promise : choice)
    const whole = hello({ serverName: NAME })
    const unfinished = [
      await client(),
      await client(whole.subarray(0, 3)),
      await client(whole.subarray(0, 40)),
      await client(hello({ serverName: 'held.test' })),
      await client(whole),
    ]
    const ends = unfinished.map((socket) => untilClosed(socket))
    await waitFor(() => handshakes.count === unfinished.length)
    mock.timers.tick(10_000)
    await completeHandshake()
    await waitFor(() => handshakes.count === unfinished.length)
    mock.timers.tick(1000)
    await Promise.all(ends)
    await waitFor(() => handshakes.count === 0)
    assert.equal(handshakes.refused.slow, unfinished.length)
    held.resolve(choice)
    await completeHandshake()
  })

  test('the timeout does not apply after the handshake', async () => {
    const socket = await handshake(port, { servername: NAME, ca: certificate.cert })
    await waitFor(() => secured.length === 1)
    mock.timers.tick(60_000)
    secured[0]!.write('still here')
    const [chunk] = await once(socket, 'data')
    assert.equal(String(chunk), 'still here')
    socket.destroy()
  })

  test('one address has a limit of concurrent handshakes, independent of other addresses', async () => {
    for (let index = 0; index < MAX_HANDSHAKES_PER_ADDRESS; index++) await client(Buffer.of(22))
    await waitFor(() => handshakes.count === MAX_HANDSHAKES_PER_ADDRESS)
    await untilClosed(await client())
    assert.equal(handshakes.refused.busy, 1)
    addresses = ['192.0.2.9']
    await completeHandshake()
    for (const socket of open) socket.destroy()
    await waitFor(() => handshakes.count === 0)
    await completeHandshake()
    assert.equal(handshakes.refused.busy, 1)
  })

  test('the addresses of one IPv6 network together have that limit', async () => {
    addresses = Array.from(
      { length: MAX_HANDSHAKES_PER_ADDRESS + 1 },
      (_, n) => `2001:db8:0:1::${n.toString(16)}`,
    )
    for (let index = 0; index <= MAX_HANDSHAKES_PER_ADDRESS; index++) await client()
    await waitFor(() => handshakes.refused.busy === 1)
    assert.equal(handshakes.count, MAX_HANDSHAKES_PER_ADDRESS)
  })

  test('addresses that hold all handshakes lose some to other addresses', async () => {
    const few = MAX_HANDSHAKES / MAX_HANDSHAKES_PER_ADDRESS
    addresses = Array.from({ length: MAX_HANDSHAKES }, (_, index) => `192.0.2.${index % few}`)
    for (let index = 0; index < MAX_HANDSHAKES; index++) await client(Buffer.of(22))
    await waitFor(() => handshakes.count === MAX_HANDSHAKES)
    for (let index = 0; index < 5; index++) {
      addresses = ['198.51.100.1']
      open.add(await handshake(port, { servername: NAME, ca: certificate.cert }))
      await waitFor(() => secured.length === index + 1)
      addresses = ['192.0.2.0']
      await client(Buffer.of(22))
      await waitFor(() => handshakes.count === MAX_HANDSHAKES)
    }
    assert.equal(handshakes.refused.busy, 5)
  })

  test('handshakes of many networks that take all places give them up after two seconds at most', async () => {
    const networks = MAX_HANDSHAKES / 2
    addresses = Array.from(
      { length: MAX_HANDSHAKES },
      (_, index) => `2001:db8:0:${(index % networks).toString(16)}::1`,
    )
    for (let index = 0; index < MAX_HANDSHAKES; index++) await client(Buffer.of(22))
    await waitFor(() => handshakes.count === MAX_HANDSHAKES)
    mock.timers.tick(1000)
    addresses = ['198.51.100.1']
    await untilClosed(await client())
    mock.timers.tick(1000)
    for (let index = 0; index < 5; index++) {
      addresses = ['198.51.100.1']
      open.add(await handshake(port, { servername: NAME, ca: certificate.cert }))
      await waitFor(() => secured.length === index + 1)
      await client(Buffer.of(22))
      await waitFor(() => handshakes.count === MAX_HANDSHAKES)
    }
    assert.equal(handshakes.refused.busy, 6)
  })

  test('clients that disconnect during a handshake leave no state behind', async () => {
    const held = Promise.withResolvers<SelectedCertificate>()
    choose = ({ serverName }) => (serverName === 'held.test' ? held.promise : choice)
    const whole = hello({ serverName: NAME })
    const waiting = hello({ serverName: 'held.test' })
    const disconnects: ((socket: Socket) => unknown)[] = [
      (socket) => socket.destroy(),
      (socket) => socket.resetAndDestroy(),
      (socket) => socket.end(),
    ]
    for (const bytes of [undefined, whole.subarray(0, 60), whole, waiting]) {
      for (const disconnect of disconnects) {
        const socket = await client(bytes)
        await waitFor(() => handshakes.count === 1)
        if (bytes === whole) await once(socket, 'data')
        disconnect(socket)
        // The socket has no listeners before a certificate is selected; the timeout ends it.
        if (bytes === waiting) mock.timers.tick(11_000)
        await waitFor(() => handshakes.count === 0)
      }
    }
    held.resolve(choice)
    await completeHandshake()
    await waitFor(() => handshakes.count === 0)
  })
})
