import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { after, before, describe, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { ENGINE_NAMES, sendRequest } from '../http2/http2-fixture.ts'
import { BASE, issuer, SecureService, SITES } from './secure-service.ts'

const CUSTOM = 'www.custom.test'
const OTHER = 'www.other.test'

for (const engine of ENGINE_NAMES)
  describe(`with the engine ${engine}`, () => {
    let service: SecureService
    let slugs: string[]
    before(async () => {
      service = await SecureService.start({ DNS_HOOK: '/bin/false', HTTP2: engine })
      slugs = []
      for (const text of ['one', 'two']) slugs.push((await service.publish({ 'index.html': text })).slug)
      await service.certify(`*.${SITES}`)
      await service.certify(BASE)
      for (const domain of [CUSTOM, OTHER]) await service.addSecureDomain(domain, slugs[0]!)
    })
    after(() => service[Symbol.asyncDispose]())

    interface Row {
      what: string
      servername: () => string
      host: () => string
      statuses: [site: number, service: number]
    }

    const site = (index: number) => `${slugs[index]}.${SITES}`

    // biome-ignore format: one row per case
    const ROWS: Row[] = [
      { what: 'its own site', servername: () => site(0), host: () => site(0), statuses: [200, 405] },
      { what: 'another site of the wildcard', servername: () => site(0), host: () => site(1), statuses: [200, 405] },
      { what: 'a custom domain on the wildcard', servername: () => site(0), host: () => CUSTOM, statuses: [421, 421] },
      { what: 'a site on a custom domain', servername: () => CUSTOM, host: () => site(0), statuses: [421, 421] },
      { what: 'another custom domain', servername: () => CUSTOM, host: () => OTHER, statuses: [421, 421] },
      { what: 'an unknown domain', servername: () => CUSTOM, host: () => 'not.there.test', statuses: [421, 421] },
      { what: 'the service on a custom domain', servername: () => CUSTOM, host: () => BASE, statuses: [421, 421] },
      { what: 'its own domain, in capitals', servername: () => CUSTOM, host: () => 'WWW.Custom.Test.', statuses: [200, 405] },
    ]

    describe('a request for a host that the certificate of its connection does not cover gets 421:', () => {
      for (const { what, servername, host, statuses } of ROWS) {
        test(`${what}, over HTTP/1.1: ${statuses}`, async () => {
          const received = []
          // The second goes to Node's parser, the third is not a visit.
          for (const [method, more] of [
            ['GET', ''],
            ['GET', 'TE: trailers\r\n'],
            ['POST', 'Content-Length: 0\r\n'],
          ] as const) {
            const socket = await service.handshake(servername(), { ALPNProtocols: ['http/1.1'] })
            socket.write(`${method} / HTTP/1.1\r\nHost: ${host()}\r\n${more}\r\n`)
            received.push(await readStatus(socket))
          }
          assert.deepEqual(received, [statuses[0], statuses[0], statuses[1]])
        })

        test(`${what}, over HTTP/2: ${statuses}`, async () => {
          const session = connect(`https://127.0.0.1:${service.port}`, {
            servername: servername(),
            ca: issuer.root,
          })
          session.on('error', () => undefined)
          const received = []
          for (const method of ['GET', 'HEAD', 'POST']) {
            const { status } = await sendRequest(session, {
              ':method': method,
              ':path': '/',
              ':authority': host(),
            })
            received.push(status)
          }
          assert.deepEqual(received, [statuses[0], statuses[0], statuses[1]])
          const own = await sendRequest(session, { ':path': '/', ':authority': servername() })
          assert.equal(own.status, 200)
          session.destroy()
        })
      }
    })

    test('an HTTP/1.1 connection that served its own host refuses another host', async () => {
      const socket = await service.handshake(CUSTOM, { ALPNProtocols: ['http/1.1'] })
      socket.write(`GET / HTTP/1.1\r\nHost: ${CUSTOM}\r\n\r\n`)
      assert.equal(await readStatus(socket, false), 200)
      socket.write(`GET / HTTP/1.1\r\nHost: ${OTHER}\r\n\r\n`)
      assert.equal(await readStatus(socket), 421)
    })

    test('a trusted proxy may send requests for any host over one connection', async () => {
      await using proxied = await SecureService.start({ TRUSTED_PROXIES: '1' })
      const { slug } = await proxied.publish({ 'index.html': 'home' })
      for (const domain of [CUSTOM, OTHER]) await proxied.addSecureDomain(domain, slug)
      const socket = await proxied.handshake(CUSTOM, { ALPNProtocols: ['http/1.1'] })
      socket.write(`GET / HTTP/1.1\r\nHost: ${OTHER}\r\n\r\n`)
      assert.equal(await readStatus(socket), 200)
    })

    async function readStatus(socket: TLSSocket, isLast = true): Promise<number> {
      const [bytes] = await once(socket, 'data')
      if (isLast) socket.destroy()
      return Number(String(bytes).slice(9, 12))
    }
  })
