import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { DEFAULT_BRANDING } from '../../protocol/branding.ts'
import { Accounts } from '../../server/accounts/account.ts'
import { Sessions } from '../../server/accounts/session.ts'
import type { DnsRecords } from '../../server/domains/dns/dns.ts'
import { DomainService } from '../../server/domains/domain.ts'
import { DAY_MS } from '../../server/lib/time.ts'
import { Signer } from '../../server/lib/tokens.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import { DEFAULT_PLANS } from '../support/plans.ts'
import { silentLog } from '../support/silent-log.ts'
import { accountRow, blob } from './rows.ts'
import { freshSqlite } from './test-database.ts'

const WRITTEN = await readFile(new URL('./release-before-domains.sql', import.meta.url), 'utf8')

test('domains pending before the upgrade get the check schedule of new ones, and can be removed', async () => {
  await using database = await freshSqlite()
  {
    using old = new DatabaseSync(database.file)
    old.exec(WRITTEN)
  }
  const clock = { now: Date.now() }
  await using store = await sqliteStore({ file: database.file, clock: () => clock.now })
  const account = accountRow('acc', { plan: 'hobby' })
  let answer: DnsRecords = { values: [], error: 'unreachable' }
  const domains = new DomainService({
    store,
    dns: {
      cname: async () => answer,
      addresses: async () => answer,
      txt: async () => ({ values: [...answer.values, ...proofs] }),
    },
    clock: () => clock.now,
    log: silentLog,
    proxyHost: 'edge.slipway.test',
    siteDomain: 'pages.slipway.test',
    baseUrl: 'http://localhost',
    plans: DEFAULT_PLANS,
  })
  const records = async () => (await domains.list(account)).domains
  const proofs = (await records()).map((record) => record.records[1]!.value)
  assert.equal(proofs.length, 4)

  await domains.verifyDue()
  for (const { status, nextCheckAt } of await records()) {
    assert.equal(status, 'pending')
    assert.ok(nextCheckAt !== null && Date.parse(nextCheckAt) < clock.now + DAY_MS, `${nextCheckAt}`)
  }
  answer = { values: ['edge.slipway.test'] }
  for (let check = 0; check < 2; check++) {
    clock.now += DAY_MS
    await domains.verifyDue()
  }
  assert.deepEqual(new Set((await records()).map(({ status }) => status)), new Set(['active']))
  for (const { domain } of await records()) await domains.remove(account, domain)
  assert.deepEqual(await records(), [])
})

test('files keep the sizes of published versions, and those without a version are kept for 30 days', async () => {
  await using database = await freshSqlite()
  const [published, pending, unused] = ['published', 'pending', 'unused'].map((name) => blob(name))
  const insert = (old: DatabaseSync, state: string, files: readonly { hash: string; size: number }[]) =>
    old
      .prepare(
        `INSERT INTO versions (id, slug, state, file_count, total_bytes, created_at, viewer, files)
         VALUES (?, 'a-site', ?, 1, 5, 1, '{}', ?)`,
      )
      .run(state, state, JSON.stringify(files.map((file) => ({ path: 'a', contentType: 'a/b', ...file }))))
  {
    using old = new DatabaseSync(database.file)
    old.exec(WRITTEN)
    insert(old, 'ready', [{ hash: published!, size: 5 }])
    insert(old, 'pending', [
      { hash: published!, size: 50 },
      { hash: pending!, size: 7 },
    ])
    old.prepare(`INSERT INTO blob_names VALUES ('a-site', ?), ('a-site', ?)`).run(published!, pending!)
    old.prepare('INSERT INTO condemned_blobs VALUES (?, 1000)').run(unused!)
    old.prepare('INSERT INTO encodings VALUES (?, 3, NULL, NULL)').run(unused!)
  }
  await using store = await sqliteStore({ file: database.file, clock: () => 0 })
  assert.equal((await store.read.blobs.find(published!))?.size, 5)
  assert.equal(await store.read.blobs.find(pending!), undefined)
  const due = 1000 + 30 * DAY_MS
  assert.deepEqual(await store.read.blobs.listDiscarded(due - 1, 10), [])
  assert.deepEqual((await store.read.blobs.listDiscarded(due, 10)).sort(), [unused, `${unused}.br`])
})

test('a code sent before the upgrade still signs in, and a lock remains', async () => {
  await using database = await freshSqlite()
  const clock = { now: Date.now() }
  const secret = 'a secret of thirty-two characters'
  const code_hash = new Signer(secret, 'verification codes').sign(['waiting@example.test', 'ABCD-EFGH'])
  {
    using old = new DatabaseSync(database.file)
    old.exec(WRITTEN)
    old
      .prepare('INSERT INTO codes VALUES (?, ?, 1, ?)')
      .run('waiting@example.test', code_hash, clock.now + 60_000)
    old
      .prepare('INSERT INTO sign_in_failures VALUES (?, 0, ?)')
      .run('locked@example.test', clock.now + DAY_MS / 2)
  }
  await using store = await sqliteStore({ file: database.file, clock: () => clock.now })
  const letters: string[] = []
  const accounts = new Accounts({
    branding: DEFAULT_BRANDING,
    store,
    mail: { delivery: 'email', send: async ({ to }) => void letters.push(to) },
    signUp: { kind: 'open' },
    sessions: new Sessions({ store, clock: () => clock.now }),
    baseUrl: 'http://localhost',
    secret,
    clock: () => clock.now,
  })
  const client = { address: '192.0.2.1', browserTokens: [] }
  await accounts.requestCode('locked@example.test', client)
  assert.deepEqual(letters, [])
  const { isNewUser } = await accounts.verifyCode({ email: 'waiting@example.test', code: 'abcdefgh' }, client)
  assert.equal(isNewUser, true)
})
