import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ApiError } from '../../server/lib/errors.ts'
import { makeLog } from '../../server/lib/log.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { CertificateSelector } from '../../server/net/tls/certificate-selector.ts'
import { TicketKeys } from '../../server/net/tls/ticket-keys.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import { FOREVER } from '../acme/issuer.ts'
import { certificateRow, domainRow } from '../store/rows.ts'
import { anySeed, Random } from '../support/random.ts'
import { WatchedStore } from '../watched-store.ts'
import { hello } from './hello.ts'
import { issuer, LASTING, SecureService, untilClosed } from './secure-service.ts'

const NAME = 'www.example.test'
const SECRET = 'a secret that only this test knows of'

/** As many as the suite has time for; a hundred thousand were sent by hand. */
const MANY = Number(process.env.RANDOM_NAMES ?? 3000)
const AT_ONCE = 100

test(`${MANY} names that nobody has are refused, nothing is written, and visitors are served meanwhile`, async (t) => {
  const random = new Random(anySeed())
  t.diagnostic(`seed ${random.seed}`)
  await using service = await SecureService.start()
  const { slug } = await service.publish({ 'index.html': 'home' })
  await service.addSecureDomain(NAME, slug)
  await using onlooker = await sqliteStore({
    file: join(service.running.data, 'slipway.db'),
    clock: Date.now,
  })
  const written: unknown[] = []
  onlooker.onChange((names) => void written.push(names))
  let left = MANY
  let refused = 0
  const flood = async () => {
    while (left-- > 0) {
      const socket = await service.raw()
      socket.write(hello({ serverName: `${random.below(2 ** 31).toString(36)}.${random.below(1000)}.test` }))
      if ((await untilClosed(socket)).toString('hex') === '15030300020270') refused++
    }
  }
  let visits = 0
  const visitor = async () => {
    for (; left > 0; visits++) assert.equal((await service.secure(NAME)).status, 200)
  }
  await Promise.all([visitor(), ...Array.from({ length: AT_ONCE }, flood)])
  assert.equal(refused, MANY)
  assert.ok(visits > 0)
  await onlooker.pollChanges()
  assert.deepEqual(written, [])
  assert.deepEqual(
    service.running.log.filter(({ message }) => message === 'TLS handshake failed'),
    [],
  )
})

describe('while the store is away', () => {
  async function over(
    work: (contexts: CertificateSelector, store: WatchedStore, clock: { now: number }) => Promise<void>,
  ) {
    const folder = await mkdtemp(join(tmpdir(), 'slipway-contexts-'))
    const clock = { now: Date.UTC(2030) }
    await using real: Store = await sqliteStore({ file: join(folder, 'slipway.db'), clock: () => clock.now })
    const secretBox = new SecretBox(SECRET)
    const { chain, key } = await issuer.issueWithKey({ ...FOREVER, names: [NAME] })
    await real.write('durable', async (tx) => {
      await tx.domains.insert(domainRow(NAME, { status: 'active' }))
      const sealed = secretBox.encrypt(key, `certificate ${NAME}`)
      await tx.certificates.insert(certificateRow(NAME, { ...LASTING, chain, key: sealed }))
    })
    const store = new WatchedStore(real)
    const log = makeLog({ level: 'error', text: true, write: () => undefined })
    const contexts = new CertificateSelector({
      store: store.watched,
      secretBox,
      clock: () => clock.now,
      tickets: new TicketKeys({ store: store.watched, secretBox, clock: () => clock.now, log }),
      protocols: ['http/1.1'],
      trustsProxies: false,
      siteDomain: 'sites.test',
      baseHost: 'slipway.test',
      own: [],
      files: undefined,
      log,
    })
    await work(contexts, store, clock)
    await rm(folder, { recursive: true })
  }
  const asks = (serverName: string) => ({ serverName, protocols: [] })

  test('names that are warm go on, also when all is in doubt and when ticket keys change', () =>
    over(async (contexts, store, clock) => {
      assert.ok(await contexts.choose(asks(NAME)))
      const reads = store.reads
      assert.ok(!(contexts.choose(asks(NAME)) instanceof Promise))
      assert.equal(store.reads, reads)
      store.away = true
      clock.now += 12 * 3_600_000
      assert.ok(await contexts.choose(asks(NAME)))
      contexts.invalidate(undefined)
      assert.ok(await contexts.choose(asks(NAME)))
    }))

  test('names that are cold are told to come again', () =>
    over(async (contexts, store) => {
      store.away = true
      await assert.rejects(
        async () => contexts.choose(asks(NAME)),
        (error) => error instanceof ApiError && error.code === 'UNAVAILABLE',
      )
      store.away = false
      assert.ok(await contexts.choose(asks(NAME)))
    }))

  test('a name that nobody has is asked for once a second at most', () =>
    over(async (contexts, store, clock) => {
      const reads = store.reads
      for (let time = 0; time < 100; time++)
        assert.equal(await contexts.choose(asks('nobody.test')), undefined)
      const each = store.reads - reads
      clock.now += 1000
      for (let time = 0; time < 100; time++)
        assert.equal(await contexts.choose(asks('nobody.test')), undefined)
      assert.equal(store.reads - reads, 2 * each)
    }))
})
