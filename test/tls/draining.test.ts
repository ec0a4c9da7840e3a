import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { noise } from '../edge/fixture.ts'
import { issuer, SecureService, untilClosed } from './secure-service.ts'

const NAME = 'www.example.test'
/** More than the socket buffers hold for a client that does not read. */
const BIG = noise(16 * 2 ** 20)

async function start(settings: Record<string, string>): Promise<SecureService> {
  const service = await SecureService.start(settings)
  const { slug } = await service.publish({ 'index.html': 'home', 'big.bin': BIG })
  await service.addSecureDomain(NAME, slug)
  return service
}

const connect1 = (service: SecureService) => service.handshake(NAME, { ALPNProtocols: ['http/1.1'] })

async function connect2({ port }: SecureService): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { servername: NAME, ca: issuer.root })
  await once(
    session.on('error', () => undefined),
    'remoteSettings',
  )
  return session
}

for (const fastPath of ['on', 'off'])
  test(`responses over HTTP/1.1 and HTTP/2 are completed when the service stops, SLIPWAY_FAST_PATH=${fastPath}`, async () => {
    const service = await start({ FAST_PATH: fastPath, DRAIN_SECONDS: '60' })
    const [idle, used, busy] = [await connect1(service), await connect1(service), await connect1(service)]
    const [idle2, busy2] = [await connect2(service), await connect2(service)]
    used.write(`GET / HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`)
    await once(used, 'data')
    busy.write(`GET /big.bin HTTP/1.1\r\nHost: ${NAME}\r\nConnection: close\r\n\r\n`)
    await once(busy, 'readable')
    const stream = busy2.request({ ':path': '/big.bin', ':authority': NAME })
    await once(stream, 'response')
    const closed = [once(idle2, 'close'), once(busy2, 'close')]
    const ended = service[Symbol.asyncDispose]()
    await Promise.all([untilClosed(idle), untilClosed(used), closed[0]])
    const bytes = await untilClosed(busy)
    assert.ok(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4).equals(BIG))
    assert.ok((await buffer(stream)).equals(BIG))
    await Promise.all([...closed, ended])
  })

test('connections are closed when the drain time has passed', async () => {
  const service = await start({ DRAIN_SECONDS: '0' })
  const silent = await service.raw()
  const first = await connect1(service)
  first.write(`GET /big.bin HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`)
  await once(first, 'readable')
  const session = await connect2(service)
  const stream = session.request({ ':path': '/big.bin', ':authority': NAME }).on('error', () => undefined)
  await once(stream, 'response')
  const closed = once(session, 'close')
  await service[Symbol.asyncDispose]()
  stream.resume()
  await Promise.all([untilClosed(silent), untilClosed(first), closed])
})
