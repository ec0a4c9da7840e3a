import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { noise } from '../edge/fixture.ts'
import { issuer, SecureService, untilClosed } from './secure-service.ts'

const NAME = 'www.example.test'
/** More than the socket buffers hold for a client that does not read. */
const BIG = noise(16 * 2 ** 20)

async function start(fastPath: string): Promise<SecureService> {
  const service = await SecureService.start({ FAST_PATH: fastPath, DRAIN_SECONDS: '60' })
  const { slug } = await service.publish({ 'index.html': 'home', 'big.bin': BIG })
  await service.addSecureDomain(NAME, slug)
  return service
}

for (const fastPath of ['on', 'off']) {
  test(`HTTP/1.1 over TLS completes responses when the service stops, fast path ${fastPath}`, async () => {
    const service = await start(fastPath)
    const [idle, used, busy] = [await client(), await client(), await client()]
    used.write(`GET / HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`)
    await once(used, 'data')
    busy.write(`GET /big.bin HTTP/1.1\r\nHost: ${NAME}\r\nConnection: close\r\n\r\n`)
    await once(busy, 'readable')
    const ended = service[Symbol.asyncDispose]()
    await Promise.all([untilClosed(idle), untilClosed(used)])
    const bytes = await untilClosed(busy)
    assert.ok(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4).equals(BIG))
    await ended

    function client(): Promise<TLSSocket> {
      return service.handshake(NAME, { ALPNProtocols: ['http/1.1'] })
    }
  })
}

test('HTTP/2 completes responses when the service stops', async () => {
  const service = await start('on')
  const [idle, busy] = [client(), client()]
  await Promise.all([once(idle, 'remoteSettings'), once(busy, 'remoteSettings')])
  const stream = busy.request({ ':path': '/big.bin', ':authority': NAME })
  await once(stream, 'response')
  const closed = [once(idle, 'close'), once(busy, 'close')]
  const ended = service[Symbol.asyncDispose]()
  await closed[0]
  assert.ok((await buffer(stream)).equals(BIG))
  await Promise.all([...closed, ended])

  function client() {
    const session = connectHttp2(`https://127.0.0.1:${service.port}`, { servername: NAME, ca: issuer.root })
    return session.on('error', () => undefined)
  }
})

test('connections are closed when the drain time has passed', async () => {
  const service = await SecureService.start({ DRAIN_SECONDS: '0' })
  const { slug } = await service.publish({ 'index.html': 'home', 'big.bin': BIG })
  await service.addSecureDomain(NAME, slug)
  const silent = await service.raw()
  const first = await service.handshake(NAME, { ALPNProtocols: ['http/1.1'] })
  first.write(`GET /big.bin HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`)
  await once(first, 'readable')
  const session = connectHttp2(`https://127.0.0.1:${service.port}`, { servername: NAME, ca: issuer.root })
  session.on('error', () => undefined)
  const stream = session.request({ ':path': '/big.bin', ':authority': NAME }).on('error', () => undefined)
  await once(stream, 'response')
  const closed = once(session, 'close')
  await service[Symbol.asyncDispose]()
  stream.resume()
  await Promise.all([untilClosed(silent), untilClosed(first), closed])
})
