import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { after, before, describe, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { ask, ENGINE_NAMES } from '../http2/http2-fixture.ts'
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

    const ROWS: Row[] = [
      { what: 'its own site', servername: () => site(0), host: () => site(0), statuses: [200, 405] },
      {
        what: 'another site of the wildcard',
        servername: () => site(0),
        host: () => site(1),
        statuses: [200, 405],
      },
      {
        what: 'a custom domain on the wildcard',
        servername: () => site(0),
        host: () => CUSTOM,
        statuses: [421, 421],
      },
      {
        what: 'a site on a custom domain',
        servername: () => CUSTOM,
        host: () => site(0),
        statuses: [421, 421],
      },
      { what: 'another custom domain', servername: () => CUSTOM, host: () => OTHER, statuses: [421, 421] },
      {
        what: 'a domain that is not there',
        servername: () => CUSTOM,
        host: () => 'not.there.test',
        statuses: [421, 421],
      },
      {
        what: 'the service on a custom domain',
        servername: () => CUSTOM,
        host: () => BASE,
        statuses: [421, 421],
      },
      {
        what: 'its own domain, in capitals',
        servername: () => CUSTOM,
        host: () => 'WWW.Custom.Test.',
        statuses: [200, 405],
      },
    ]

    describe('a request for a host that the certificate of its connection is not for is answered 421:', () => {
      for (const { what, servername, host, statuses } of ROWS) {
        test(`${what}, over HTTP/1.1: ${statuses}`, async () => {
          const found = []
          // The second one is for Node's parser, the third is no visit.
          for (const [method, more] of [
            ['GET', ''],
            ['GET', 'TE: trailers\r\n'],
            ['POST', 'Content-Length: 0\r\n'],
          ] as const) {
            const socket = await service.shake(servername(), { ALPNProtocols: ['http/1.1'] })
            socket.write(`${method} / HTTP/1.1\r\nHost: ${host()}\r\n${more}\r\n`)
            found.push(await statusOf(socket))
          }
          assert.deepEqual(found, [statuses[0], statuses[0], statuses[1]])
        })

        test(`${what}, over HTTP/2: ${statuses}`, async () => {
          const session = connect(`https://127.0.0.1:${service.port}`, {
            servername: servername(),
            ca: issuer.root,
          })
          session.on('error', () => undefined)
          const found = []
          for (const method of ['GET', 'HEAD', 'POST']) {
            const { status } = await ask(session, { ':method': method, ':path': '/', ':authority': host() })
            found.push(status)
          }
          assert.deepEqual(found, [statuses[0], statuses[0], statuses[1]])
          const own = await ask(session, { ':path': '/', ':authority': servername() })
          assert.equal(own.status, 200)
          session.destroy()
        })
      }
    })

    test('a connection of HTTP/1.1 that served its own host is not used for another', async () => {
      const socket = await service.shake(CUSTOM, { ALPNProtocols: ['http/1.1'] })
      socket.write(`GET / HTTP/1.1\r\nHost: ${CUSTOM}\r\n\r\n`)
      assert.equal(await statusOf(socket, false), 200)
      socket.write(`GET / HTTP/1.1\r\nHost: ${OTHER}\r\n\r\n`)
      assert.equal(await statusOf(socket), 421)
    })

    test('a proxy of the operator may send requests for any host over one connection', async () => {
      await using behind = await SecureService.start({ TRUSTED_PROXIES: '1' })
      const { slug } = await behind.publish({ 'index.html': 'home' })
      for (const domain of [CUSTOM, OTHER]) await behind.addSecureDomain(domain, slug)
      const socket = await behind.shake(CUSTOM, { ALPNProtocols: ['http/1.1'] })
      socket.write(`GET / HTTP/1.1\r\nHost: ${OTHER}\r\n\r\n`)
      assert.equal(await statusOf(socket), 200)
    })

    async function statusOf(socket: TLSSocket, isLast = true): Promise<number> {
      const [bytes] = await once(socket, 'data')
      if (isLast) socket.destroy()
      return Number(String(bytes).slice(9, 12))
    }
  })
