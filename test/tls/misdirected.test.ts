import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { after, before, describe, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { sendRequest } from '../http2/http2-fixture.ts'
import { BASE, issuer, SecureService, SITES } from './secure-service.ts'

const CUSTOM = 'www.custom.test'
const OTHER = 'www.other.test'

describe('a request for a host that the certificate of its connection does not cover gets 421:', () => {
  let service: SecureService
  const slugs = ['', '']
  before(async () => {
    service = await SecureService.start({ DNS_HOOK: '/bin/false' })
    for (const index of [0, 1]) slugs[index] = (await service.publish({ 'index.html': 'home' })).slug
    for (const name of [`*.${SITES}`, BASE]) await service.certify(name)
    for (const domain of [CUSTOM, OTHER]) await service.addSecureDomain(domain, slugs[0]!)
  })
  after(() => service[Symbol.asyncDispose]())

  const site = (index: number) => () => `${slugs[index]}.${SITES}`

  const ROWS: [what: string, servername: () => string, host: () => string, site: number, service: number][] =
    [
      ['its own site', site(0), site(0), 200, 405],
      ['another site of the wildcard', site(0), site(1), 200, 405],
      ['a custom domain on the wildcard', site(0), () => CUSTOM, 421, 421],
      ['a site on a custom domain', () => CUSTOM, site(0), 421, 421],
      ['another custom domain', () => CUSTOM, () => OTHER, 421, 421],
      ['the service on a custom domain', () => CUSTOM, () => BASE, 421, 421],
      ['its own domain, in capitals', () => CUSTOM, () => 'WWW.Custom.Test.', 200, 405],
    ]

  for (const [what, servername, host, ofSite, ofService] of ROWS) {
    test(`${what}, over HTTP/1.1: ${ofSite}, ${ofService}`, async () => {
      const received = []
      // The second goes to Node's parser, the third is not a visit.
      for (const [method, more] of [
        ['GET', ''],
        ['GET', 'TE: trailers\r\n'],
        ['POST', 'Content-Length: 0\r\n'],
      ] as const) {
        const socket = await service.handshake(servername(), { ALPNProtocols: ['http/1.1'] })
        received.push(await send(socket, `${method} / HTTP/1.1\r\nHost: ${host()}\r\n${more}\r\n`))
        socket.destroy()
      }
      assert.deepEqual(received, [ofSite, ofSite, ofService])
    })

    test(`${what}, over HTTP/2: ${ofSite}, ${ofService}`, async () => {
      const session = connect(`https://127.0.0.1:${service.port}`, {
        servername: servername(),
        ca: issuer.root,
      })
      session.on('error', () => undefined)
      const status = async (method: string, authority: string) =>
        (await sendRequest(session, { ':method': method, ':path': '/', ':authority': authority })).status
      assert.deepEqual(
        [await status('GET', host()), await status('HEAD', host()), await status('POST', host())],
        [ofSite, ofSite, ofService],
      )
      assert.equal(await status('GET', servername()), 200)
      session.destroy()
    })
  }

  test('an HTTP/1.1 connection that served its own host refuses another host', async () => {
    const socket = await service.handshake(CUSTOM, { ALPNProtocols: ['http/1.1'] })
    assert.equal(await send(socket, `GET / HTTP/1.1\r\nHost: ${CUSTOM}\r\n\r\n`), 200)
    assert.equal(await send(socket, `GET / HTTP/1.1\r\nHost: ${OTHER}\r\n\r\n`), 421)
    socket.destroy()
  })

  test('a trusted proxy may send requests for any host over one connection', async () => {
    const { data } = service.running
    await using proxied = await SecureService.start({ TRUSTED_PROXIES: '1', DATA: data })
    const socket = await proxied.handshake(CUSTOM, { ALPNProtocols: ['http/1.1'] })
    assert.equal(await send(socket, `GET / HTTP/1.1\r\nHost: ${OTHER}\r\n\r\n`), 200)
    socket.destroy()
  })
})

/** Sends a request and returns the status of the response. */
async function send(socket: TLSSocket, request: string): Promise<number> {
  socket.write(request)
  const [bytes] = await once(socket, 'data')
  return Number(String(bytes).slice(9, 12))
}
