import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ConnectionOptions } from 'node:tls'
import { TicketKeys } from '../../server/tls/ticket-keys.ts'
import { issuer, SecureService, shake, untilClosed } from './secure-service.ts'

const NAME = 'www.example.test'
const OTHER = 'other.test'
const SECRET = 'a secret of two services, that is long enough'
const HALF_A_DAY = 12 * 3_600_000

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  describe(`a session of ${version}`, () => {
    let service: SecureService
    let slug: string
    before(async () => {
      service = await SecureService.start({ SECRET })
      ;({ slug } = await service.publish({ 'index.html': 'home' }))
      for (const name of [NAME, OTHER]) await service.addSecureDomain(name, slug)
    })
    after(() => service[Symbol.asyncDispose]())

    /** Whether a handshake was resumed, and the site that came over it. */
    async function visit(at: SecureService, options: ConnectionOptions = {}) {
      const socket = await shake(at.port, { servername: NAME, ...only(version), ...options })
      const resumed = socket.isSessionReused()
      let session = socket.getSession()
      socket.on('session', (given) => {
        session = given
      })
      socket.write(`GET / HTTP/1.1\r\nHost: ${socket.servername}\r\nConnection: close\r\n\r\n`)
      assert.match((await untilClosed(socket)).toString(), /\r\n\r\nhome$/)
      return { session, resumed }
    }

    test('is resumed by the same process', async () => {
      const { session, resumed } = await visit(service)
      assert.equal(resumed, false)
      const again = await visit(service, { session })
      assert.equal(again.resumed, true)
      assert.equal((await visit(service, { session: again.session })).resumed, true)
    })

    test('is resumed after what was known of the name was forgotten, and after a renewal', async () => {
      const { session } = await visit(service)
      service.running.service.forget([NAME])
      assert.equal((await visit(service, { session })).resumed, true)
      await service.renew(NAME)
      assert.equal((await visit(service, { session })).resumed, true)
    })

    test('is resumed by another process with the same secret', async () => {
      const { session } = await visit(service)
      await using other = await SecureService.start({ SECRET, DATA: service.running.data })
      assert.equal((await visit(other, { session })).resumed, true)
    })

    test('is not resumed where the secret is another one', async () => {
      const { session } = await visit(service)
      await using other = await SecureService.start({ SECRET: `${SECRET}, almost` })
      const published = await other.publish({ 'index.html': 'home' })
      await other.addSecureDomain(NAME, published.slug)
      assert.equal((await visit(other, { session })).resumed, false)
    })

    test('is not resumed for another name', async () => {
      const { session } = await visit(service)
      // Node's own check would keep it from offering the session.
      assert.equal((await visit(service, { session, servername: OTHER })).resumed, false)
    })

    test('is resumed until the keys of tickets change, and then is a full handshake', async () => {
      const now = service.running.clock.now
      service.running.clock.now = Math.ceil(now / HALF_A_DAY) * HALF_A_DAY - 1
      const { session } = await visit(service)
      assert.equal((await visit(service, { session })).resumed, true)
      service.running.clock.now++
      const next = await visit(service, { session })
      assert.equal(next.resumed, false)
      assert.equal((await visit(service, { session: next.session })).resumed, true)
    })
  })
}

test('ticket keys are the same wherever the secret is, change every half day, and tell nothing of it', () => {
  let now = 10 * HALF_A_DAY
  const keys = new TicketKeys(SECRET, () => now)
  const first = keys.keys
  assert.equal(first.length, 48)
  assert.deepEqual(new TicketKeys(SECRET, () => now).keys, first)
  assert.notDeepEqual(new TicketKeys(`${SECRET}!`, () => now).keys, first)
  now += HALF_A_DAY - 1
  assert.deepEqual(keys.keys, first)
  now++
  assert.notDeepEqual(keys.keys, first)
})

function only(version: 'TLSv1.2' | 'TLSv1.3'): ConnectionOptions {
  return {
    minVersion: version,
    maxVersion: version,
    ALPNProtocols: ['http/1.1'],
    ca: issuer.root,
    checkServerIdentity: () => undefined,
  }
}
