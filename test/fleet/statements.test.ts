import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import type { CreateResponse } from '../../protocol/api/publish.schema.ts'
import { openForOperator } from '../../server/app.ts'
import { readConfig } from '../../server/config/settings.ts'
import { JobLease } from '../../server/jobs/job-lease.ts'
import { type Sweep, type SweepParts, sweeps } from '../../server/jobs/jobs.ts'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { makeLog } from '../../server/lib/log.ts'
import { hashToken } from '../../server/lib/tokens.ts'
import { accountRow } from '../store/rows.ts'
import { recordStatements } from '../store/statements.ts'
import { openStore } from '../store/test-database.ts'
import { PATIENT } from '../support/patient.ts'
import { startTestService } from '../support/service.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'

/** The change feed polls every 250 ms. */
const POLLS_PER_SECOND = 4

describe('statements that a node sends to PostgreSQL', requires('postgres'), () => {
  const database = startForAllTests(async () => (await sharedPostgres()).borrowDatabase())

  async function settings(): Promise<Record<string, string>> {
    await database.clear()
    return {
      DATABASE_URL: database.url,
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
    await using operator = await openForOperator(config, { log, version: 'test', deadlines: PATIENT })
    const statements = recordStatements(t)
    let perSecond = POLLS_PER_SECOND
    for (const sweep of sweeps) {
      statements.length = 0
      await runOnNode(sweep, operator)
      perSecond += statements.length / sweep.intervalSeconds
    }
    t.diagnostic(`${perSecond.toFixed(2)} statements a second`)
    assert.ok(perSecond <= 6, `${perSecond} statements a second`)
  })

  test('a request to the API costs two statements: the lookup of its key, and the charge', async (t) => {
    const given = await settings()
    await using service = await startTestService(given, Date.now(), { scheduledSweeps: [] })
    const key = `sl_live_${'0'.repeat(32)}`
    await using store = await openStore(given.DATABASE_URL!)
    await store.write('durable', {}, (tx) =>
      tx.rows.insert('accounts', accountRow('ann', { keyHash: hashToken(key) })),
    )
    const takeStatements = recordForegroundStatements(t)
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`http://localhost:${service.port}/api/v1/domains`, { headers })
    assert.equal(response.status, 200)
    assert.deepEqual(takeStatements(), ['select accounts', 'insert counters', 'select domains'])
  })

  test('an anonymous publish of 200 files costs five statements to create it, one for each of its quotas, and eleven to finalize it', async (t) => {
    await using service = await startTestService(await settings(), Date.now(), { scheduledSweeps: [] })
    const { create, upload, finalize } = anonymousPublisher(service.port)
    const takeStatements = recordForegroundStatements(t)
    const site = await create(200)
    const created = takeStatements()
    // Those of its network, and of all sites without an account.
    assert.deepEqual(created.splice(4, 2), ['insert usage', 'insert usage'])
    // `select versions` counts the manifest.
    assert.deepEqual(created, [
      'insert counters',
      'begin',
      'insert sites and versions',
      'select versions',
      'commit',
    ])
    await upload(site)
    takeStatements()
    await finalize(site)
    const finalized = takeStatements()
    // What follows the response is not counted.
    assert.equal(finalized.indexOf('commit'), 10, finalized.join('\n'))
  })
})

/**
 * Statements of sweeps without a lease, of the list of nodes, which compares settings, of a counter for headers, read
 * once a second, and of the blocks of the operator, read once.
 */
const BACKGROUND = [
  ...['update domains', 'insert nodes', 'select nodes', 'select shared_settings', 'select counters'],
  'select blocks',
]

/** Returns the statements of requests since the last call, in short form. */
function recordForegroundStatements(t: TestContext): () => string[] {
  const statements = recordStatements(t)
  return () => {
    const taken = statements.splice(0).filter((text) => !LEFTOVER_ENCODINGS.test(text))
    return taken.map(describeStatement).filter((statement) => !BACKGROUND.includes(statement))
  }
}

/** Publishes text files to a service whose base URL is another one. */
function anonymousPublisher(port: number) {
  const request = async (method: string, path: string, body: string, type = 'application/json') => {
    const headers = { 'content-type': type }
    const response = await fetch(`http://localhost:${port}${path}`, { method, headers, body })
    assert.ok(response.ok, `${method} ${path}: ${response.status}`)
    return response.json() as Promise<CreateResponse>
  }
  const contentOf = (number: number) => `file ${number}`
  return {
    create(count: number) {
      const files = Array.from({ length: count }, (_, number) => {
        const content = contentOf(number)
        const hash = createHash('sha256').update(content).digest('hex')
        return { path: `${number}.txt`, size: content.length, contentType: 'text/plain', hash }
      })
      return request('POST', '/api/v1/publish', JSON.stringify({ files }))
    },
    async upload({ upload: { uploads } }: CreateResponse) {
      await forEachConcurrent(8, [...uploads.keys()], async (number) => {
        const { method, url, headers } = uploads[number]!
        const { pathname, search } = new URL(url)
        await request(method, `${pathname}${search}`, contentOf(number), headers['Content-Type'])
      })
    },
    finalize({ slug, claimToken, upload: { versionId } }: CreateResponse) {
      const body = JSON.stringify({ versionId, claimToken })
      return request('POST', `/api/v1/publish/${slug}/finalize`, body)
    },
  }
}

/** In the query of the sweep `encodings`. */
const LEFTOVER_ENCODINGS = /encoded = 0/

/** Runs a sweep as the scheduler does. */
async function runOnNode(sweep: Sweep, options: SweepParts): Promise<void> {
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

/** The verb of a statement and its tables, or of a message with several statements the first or the commit. */
function describeStatement(text: string): string {
  if (/\bcommit$/.test(text)) return 'commit'
  const [, both, another] = /^with "\w+" as \(insert into "(\w+)".*insert into "(\w+)"/.exec(text) ?? []
  if (both !== undefined) return `insert ${both} and ${another}`
  const [, verb, table] =
    /^(insert|select|update|delete)\b.*?\b(?:from|into|update) "(\w+)"/s.exec(text) ?? []
  return verb === undefined ? (/^\w+/.exec(text)?.[0] ?? text) : `${verb} ${table}`
}
