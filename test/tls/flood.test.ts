import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { CertificateFiles } from '../../packages/http-server/tls/certificate-files.ts'
import { CertificateSelector } from '../../server/certificates/certificate-selector.ts'
import { TicketKeys } from '../../server/certificates/ticket-keys.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { makeLog } from '../../server/lib/log.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import { FOREVER } from '../certificates/issuer.ts'
import { certificateRow, domainRow } from '../store/rows.ts'
import { makeLookupLimits } from '../support/lookup-limits.ts'
import { PATIENT } from '../support/patient.ts'
import { WatchedStore } from '../support/watched-store.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { issuer, LASTING } from './secure-service.ts'

const NAME = 'www.example.test'
const SECRET = 'a secret that only this test knows of'

const ADDRESS = '192.0.2.1'

async function withSelector(
  work: (selector: CertificateSelector, store: WatchedStore, clock: { now: number }) => Promise<void>,
  files?: CertificateFiles,
) {
  await using folder = await memoryFolder()
  const clock = { now: Date.UTC(2030) }
  await using real: Store = await sqliteStore({
    file: join(folder.path, 'slipway.db'),
    clock: () => clock.now,
    deadlines: PATIENT,
  })
  const secretBox = new SecretBox(SECRET)
  const { chain, key } = await issuer.issueWithKey({ ...FOREVER, names: [NAME] })
  await real.write('durable', {}, async (tx) => {
    await tx.domains.insert(domainRow(NAME, { status: 'active' }))
    const sealed = secretBox.encrypt(key, `certificate ${NAME}`)
    await tx.rows.insert('certificates', certificateRow(NAME, { ...LASTING, chain, key: sealed }))
  })
  const store = new WatchedStore(real)
  const log = makeLog({ level: 'error', text: true, write: () => undefined })
  const selector = new CertificateSelector({
    store: store.watched,
    ...makeLookupLimits({ clock: () => clock.now }),
    secretBox,
    clock: () => clock.now,
    tickets: new TicketKeys({ store: store.watched, secretBox, clock: () => clock.now, log }),
    protocols: ['http/1.1'],
    trustsProxies: false,
    siteDomain: 'sites.test',
    baseHost: 'slipway.test',
    own: [],
    perSite: false,
    files,
    log,
  })
  await work(selector, store, clock)
}
const helloFor = (serverName: string) => ({ serverName, protocols: [] })

test('a flood of unknown names and challenges does not delay the validation of a name', () =>
  withSelector(async (selector, store, clock) => {
    const protocols = ['acme-tls/1']
    const ask = async (number: number) =>
      selector.choose({ serverName: `no-${number}.test`, protocols: [] }, `192.0.2.${number % 5}`)
    const results = await Promise.allSettled(Array.from({ length: 500 }, (_, number) => ask(number)))
    assert.ok(results.some(({ status }) => status === 'rejected'))
    await store.real.write('durable', {}, (tx) =>
      tx.rows.put('acme_challenges', {
        type: 'tls-alpn-01',
        name: NAME,
        token: 'real',
        keyAuthorization: 'real.key',
        expiresAt: clock.now + 1,
      }),
    )
    const reads = store.reads
    const guesses = Array.from({ length: 500 }, async (_, number) =>
      selector.choose({ serverName: `no-${number}.test`, protocols }, ADDRESS),
    )
    const selected = await selector.choose({ serverName: NAME, protocols }, ADDRESS)
    assert.deepEqual(selected?.protocols, protocols)
    assert.deepEqual(new Set(await Promise.all(guesses)), new Set([undefined]))
    assert.ok(store.reads - reads <= 2, `${store.reads - reads} reads`)
  }))

describe('while the store is unavailable', () => {
  test('certificate files are used and replaced, without an effect on lookups in the store', async () => {
    await using folder = await memoryFolder()
    const [certFile, keyFile] = [join(folder.path, 'chain.pem'), join(folder.path, 'key.pem')]
    const { chain, key } = await issuer.issueWithKey({ ...FOREVER, names: ['*.sites.test'] })
    await Promise.all([writeFile(certFile, chain), writeFile(keyFile, key)])
    const log = makeLog({ level: 'error', text: true, write: () => undefined })
    const covering = { host: 'any.sites.test', name: '*.sites.test' }
    using files = new CertificateFiles({ certFile, keyFile, covering, log, onChange: () => undefined })
    await withSelector(async (selector, store) => {
      store.unavailable = true
      const lookUp = async (number: number) => selector.choose(helloFor(`no-${number}.test`), ADDRESS)
      for (let number = 0; number < 3; number++) await assert.rejects(lookUp(number))
      const contexts = new Set<unknown>()
      for (let round = 0; round < 2; round++) {
        const selected = await selector.choose(helloFor('any.sites.test'), ADDRESS)
        contexts.add(selected!.context)
        selector.invalidateFiles()
      }
      assert.equal(contexts.size, 2)
      const { reads } = store
      await assert.rejects(lookUp(3))
      assert.equal(store.reads, reads, 'the breaker is open')
    }, files)
  })

  test('cached names keep their certificates, also after invalidation and a change of ticket keys', () =>
    withSelector(async (selector, store, clock) => {
      assert.ok(await selector.choose(helloFor(NAME), ADDRESS))
      const reads = store.reads
      assert.equal(reads, 1, 'one statement')
      assert.ok(!(selector.choose(helloFor(NAME), ADDRESS) instanceof Promise))
      assert.equal(store.reads, reads)
      store.unavailable = true
      clock.now += 12 * 3_600_000
      assert.ok(await selector.choose(helloFor(NAME), ADDRESS))
      selector.invalidate(undefined)
      assert.ok(await selector.choose(helloFor(NAME), ADDRESS))
    }))

  test('a cached name keeps its certificate, although it has heard of another one', () =>
    withSelector(async (selector, store) => {
      assert.ok(await selector.choose(helloFor(NAME), ADDRESS))
      store.unavailable = true
      await selector.invalidate([NAME], new Map([[NAME, 'outdated']]))
      assert.ok(await selector.choose(helloFor(NAME), ADDRESS))
      await selector.invalidate([NAME])
      await assert.rejects(async () => selector.choose(helloFor(NAME), ADDRESS), 'it may be that of another')
    }))

  test('names that are not cached get UNAVAILABLE', () =>
    withSelector(async (selector, store) => {
      store.unavailable = true
      await assert.rejects(
        async () => selector.choose(helloFor(NAME), ADDRESS),
        (error) => error instanceof ApiError && error.code === 'UNAVAILABLE',
      )
      store.unavailable = false
      assert.ok(await selector.choose(helloFor(NAME), ADDRESS))
    }))

  test('an unknown name is looked up at most once a second', () =>
    withSelector(async (selector, store, clock) => {
      const reads = store.reads
      for (let time = 0; time < 100; time++)
        assert.equal(await selector.choose(helloFor('unknown.test'), ADDRESS), undefined)
      const each = store.reads - reads
      clock.now += 1000
      for (let time = 0; time < 100; time++)
        assert.equal(await selector.choose(helloFor('unknown.test'), ADDRESS), undefined)
      assert.equal(store.reads - reads, 2 * each)
    }))
})
