import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { ConnectionOptions } from 'node:tls'
import { TicketKeys } from '../../server/certificates/ticket-keys.ts'
import { makeLog } from '../../server/lib/log.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import { PATIENT } from '../support/patient.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { handshake, issuer, SecureService, untilClosed } from './secure-service.ts'

const NAME = 'www.example.test'
const OTHER = 'other.test'
const SECRET = 'a secret of two services, that is long enough'
const HALF_A_DAY = 12 * HOUR_MS

describe('a TLS session', () => {
  let service: SecureService
  /** A process on the same store, and a service with another secret. */
  let sibling: SecureService
  let stranger: SecureService
  before(async () => {
    service = await SecureService.start({ SECRET })
    const { slug } = await service.publish({ 'index.html': 'home' })
    for (const name of [NAME, OTHER]) await service.addSecureDomain(name, slug)
    sibling = await SecureService.start({ SECRET, DATA: service.running.data })
    stranger = await SecureService.start({ SECRET: `${SECRET}, almost` })
    const published = await stranger.publish({ 'index.html': 'home' })
    await stranger.addSecureDomain(NAME, published.slug)
  })
  after(async () => {
    for (const one of [sibling, service, stranger]) await one[Symbol.asyncDispose]()
  })

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    describe(`of ${version}`, () => {
      /** Connects and reads the site; returns the session and whether it was resumed. */
      async function connectAndRead(at: SecureService, options: ConnectionOptions = {}) {
        const socket = await handshake(at.port, { servername: NAME, ...only(version), ...options })
        const resumed = socket.isSessionReused()
        let session = socket.getSession()
        socket.on('session', (given) => {
          session = given
        })
        socket.write(`GET / HTTP/1.1\r\nHost: ${socket.servername}\r\nConnection: close\r\n\r\n`)
        assert.match((await untilClosed(socket)).toString(), /\r\n\r\nhome$/)
        return { session, resumed }
      }

      test('is resumed by every process with the same store and secret, and by no other', async () => {
        const { session, resumed } = await connectAndRead(service)
        assert.equal(resumed, false)
        const again = await connectAndRead(service, { session })
        assert.equal(again.resumed, true)
        assert.equal((await connectAndRead(service, { session: again.session })).resumed, true)
        sibling.running.clock.now = service.running.clock.now
        assert.equal((await connectAndRead(sibling, { session })).resumed, true)
        stranger.running.clock.now = service.running.clock.now
        assert.equal((await connectAndRead(stranger, { session })).resumed, false)
      })

      test('is resumed after an invalidation of the name, and after a renewal', async () => {
        const { session } = await connectAndRead(service)
        await service.running.service.invalidate([NAME])
        assert.equal((await connectAndRead(service, { session })).resumed, true)
        await service.renew(NAME)
        assert.equal((await connectAndRead(service, { session })).resumed, true)
      })

      test('is not resumed for another name', async () => {
        const { session } = await connectAndRead(service)
        // `checkServerIdentity` is disabled, because Node would not offer the session otherwise.
        assert.equal((await connectAndRead(service, { session, servername: OTHER })).resumed, false)
      })

      test('is resumed until the ticket keys change', async () => {
        const now = service.running.clock.now
        service.running.clock.now = Math.ceil(now / HALF_A_DAY) * HALF_A_DAY - 1
        const { session } = await connectAndRead(service)
        assert.equal((await connectAndRead(service, { session })).resumed, true)
        service.running.clock.now++
        const next = await connectAndRead(service, { session })
        assert.equal(next.resumed, false)
        assert.equal((await connectAndRead(service, { session: next.session })).resumed, true)
      })
    })
  }
})

test('ticket keys are random, shared over one store, encrypted in it, and deleted after two periods', async () => {
  let now = 10 * HALF_A_DAY
  const open = async (secret = SECRET) => {
    const keys = new TicketKeys({ store, secretBox: new SecretBox(secret), clock: () => now, log })
    await keys.refresh()
    return keys
  }
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  await using folder = await memoryFolder()
  const store = await sqliteStore({
    file: join(folder.path, 'slipway.db'),
    clock: () => now,
    deadlines: PATIENT,
  })
  const [one, other] = await Promise.all([open(), open()])
  const first = one.current
  assert.equal(first.key.length, 48)
  assert.deepEqual(other.current.key, first.key)
  const row = await store.read.ticketKeys.find(10)
  assert.ok(row && !row.key.includes(first.key.toString('base64')))
  now += HALF_A_DAY - 1
  assert.deepEqual(one.current, first)
  now++
  const second = one.current
  assert.notDeepEqual(second.key, first.key)
  assert.notEqual(second.generation, first.generation)
  assert.deepEqual(other.current.key, second.key)
  now += HALF_A_DAY
  await open()
  assert.equal(await store.read.ticketKeys.find(10), undefined)
  assert.notDeepEqual((await open(`${SECRET}!`)).current.key, (await open()).current.key)
  const shared = (await open()).current.key
  await store[Symbol.asyncDispose]()
  const alone = new TicketKeys({ store, secretBox: new SecretBox(SECRET), clock: () => now, log })
  await alone.refresh()
  assert.equal(alone.current.key.length, 48)
  assert.deepEqual(alone.current, alone.current)
  const next = await sqliteStore({
    file: join(folder.path, 'other.db'),
    clock: () => now,
    deadlines: PATIENT,
  })
  const unrelated = new TicketKeys({ store: next, secretBox: new SecretBox(SECRET), clock: () => now, log })
  await unrelated.refresh()
  assert.notDeepEqual(unrelated.current.key, shared)
  await next[Symbol.asyncDispose]()
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
