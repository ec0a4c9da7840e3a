import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openForOperator } from '../../server/app.ts'
import { readConfig } from '../../server/config/settings.ts'
import { JobLease } from '../../server/jobs/job-lease.ts'
import { type Sweep, type SweepOptions, sweeps } from '../../server/jobs/jobs.ts'
import { makeLog } from '../../server/lib/log.ts'
import { hashToken } from '../../server/lib/tokens.ts'
import { postgresServer } from '../store/postgres-server.ts'
import { accountRow } from '../store/rows.ts'
import { recordStatements } from '../store/statements.ts'
import { openStore } from '../store/test-database.ts'
import { startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'

/** The change feed polls every 250 ms. */
const POLLS_PER_SECOND = 4

describe('statements that a node sends to PostgreSQL', requires('postgres'), () => {
  async function settings(): Promise<Record<string, string>> {
    return {
      DATABASE_URL: await (await postgresServer()).createDatabase(),
      SECRET: 'a secret that all of the nodes have in common',
      SMTP_URL: 'smtp://127.0.0.1:1',
      BASE_URL: 'http://localhost',
    }
  }

  test('an idle node sends at most six statements a second', async (t) => {
    await using folder = await memoryFolder()
    const environment = Object.entries({ ...(await settings()), DATA: folder.path })
    const config = readConfig(
      Object.fromEntries(environment.map(([name, value]) => [`SLIPWAY_${name}`, value])),
    )
    const log = makeLog({ level: 'error', text: false, write: (line) => assert.fail(line) })
    await using operator = await openForOperator(config, { log, version: 'test' })
    const statements = recordStatements(t)
    let perSecond = POLLS_PER_SECOND
    for (const sweep of sweeps) {
      statements.length = 0
      await runOnNode(sweep, operator.sweepOptions)
      perSecond += statements.length / sweep.intervalSeconds
    }
    t.diagnostic(`${perSecond.toFixed(2)} statements a second`)
    assert.ok(perSecond <= 6, `${perSecond} statements a second`)
  })

  test('a request to the API costs two statements: the lookup of its key, and the charge', async (t) => {
    const given = await settings()
    await using service = await startTestService(given)
    const key = `sl_live_${'0'.repeat(32)}`
    await using store = await openStore(given.DATABASE_URL!)
    await store.write('durable', {}, (tx) =>
      tx.accounts.insert(accountRow('ann', { keyHash: hashToken(key) })),
    )
    const statements = recordStatements(t)
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`http://localhost:${service.port}/api/v1/domains`, { headers })
    assert.equal(response.status, 200)
    assert.deepEqual(statements.map(describeStatement), [
      'select accounts',
      'insert counters',
      'select domains',
    ])
  })
})

/** Runs a sweep as the scheduler does. */
async function runOnNode(sweep: Sweep, options: SweepOptions): Promise<void> {
  const scope = { since: 0 }
  if (sweep.runsOnAllNodes) return void (await sweep.run(options, scope))
  const lease = await JobLease.acquire({
    ...options,
    name: sweep.name,
    holder: 'a node',
    intervalMs: sweep.intervalSeconds * 1000,
  })
  assert.ok(lease instanceof JobLease)
  await using held = lease
  await sweep.run({ ...options, store: held.store }, scope)
}

/** The verb of a statement and its first table. */
function describeStatement(text: string): string {
  const [, verb, table] = /^(\w+)\b.*?\b(?:from|into|update) "(\w+)"/s.exec(text) ?? [text, text, '']
  return `${verb} ${table}`
}
