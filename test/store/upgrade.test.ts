import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { Answered } from '../../server/dns/dns.ts'
import { Domains } from '../../server/domain.ts'
import { makeLog } from '../../server/log.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import { freshSqlite } from './places.ts'
import { accountRow } from './rows.ts'

const WRITTEN = await readFile(new URL('./release-before-domains.sql', import.meta.url), 'utf8')
const DAY = 86_400_000

test('domains that waited for years while nobody looked are given the time that new ones get, and can be removed', async () => {
  await using place = await freshSqlite()
  {
    using old = new DatabaseSync(place.file)
    old.exec(WRITTEN)
  }
  const clock = { now: Date.now() }
  await using store = await sqliteStore({ file: place.file, clock: () => clock.now })
  const account = accountRow('acc', { plan: 'hobby' })
  let answer: Answered = { values: [], trouble: 'nobody is there' }
  const domains = new Domains({
    store,
    dns: {
      aliases: async () => answer,
      addresses: async () => answer,
      texts: async () => ({ values: [...answer.values, ...proofs] }),
    },
    clock: () => clock.now,
    log: makeLog({ level: 'silent', text: false, write: () => undefined }),
    proxyHost: 'edge.slipway.test',
    siteDomain: 'pages.slipway.test',
    baseUrl: 'http://localhost',
  })
  const records = async () => (await domains.list(account)).domains
  const proofs = (await records()).map((record) => record.records[1]!.value)
  assert.equal(proofs.length, 4)

  await domains.checkDue()
  for (const { status, nextCheckAt } of await records()) {
    assert.equal(status, 'pending')
    assert.ok(nextCheckAt !== null && Date.parse(nextCheckAt) < clock.now + DAY, `${nextCheckAt}`)
  }
  answer = { values: ['edge.slipway.test'] }
  for (let look = 0; look < 2; look++) {
    clock.now += DAY
    await domains.checkDue()
  }
  assert.deepEqual(new Set((await records()).map(({ status }) => status)), new Set(['active']))
  for (const { domain } of await records()) await domains.remove(account, domain)
  assert.deepEqual(await records(), [])
})
