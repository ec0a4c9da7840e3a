import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { createKysely } from '../../server/store/postgres/kysely.ts'
import { createQueries, type Queries } from '../../server/store/queries.ts'
import { DELETED_BY } from '../../server/store/rows.ts'
import { requires } from '../tools/part.ts'
import { EMPTY, sharedPostgres } from '../tools/postgres.ts'
import { fillTables, GROWING_TABLES } from './large-tables.ts'
import { QUERY_ARGUMENTS } from './query-arguments.ts'
import { openStore } from './test-database.ts'

/** Queries that read a whole table, each with the reason. */
const SCANS: Record<string, string> = {
  'certificates.countByState': 'at most once a minute, for the metrics',
  'certificates.requested': 'the list of all certificates, for the operator',
  'certificates.restartOrders': 'once, after a change of the certificate authority',
}

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  Plans?: PlanNode[]
}

describe('queries of the store on large tables of PostgreSQL', requires('postgres'), () => {
  const stack = new AsyncDisposableStack()
  let client: pg.Client

  before(async () => {
    // Migrated here, so that the test notices an index that this code no longer creates.
    const { url } = stack.use(await (await sharedPostgres()).createDatabase(EMPTY))
    await (await openStore(url))[Symbol.asyncDispose]()
    client = new pg.Client({ connectionString: url })
    await client.connect()
    stack.defer(() => client.end())
    await fillTables(client)
  })

  after(() => stack.disposeAsync())

  test('no query scans a table that grows', async () => {
    const scans: Record<string, string[]> = {}
    for (const [group, methods] of Object.entries(QUERY_ARGUMENTS))
      for (const [method, given] of Object.entries(methods)) {
        const found = await findScans(client, (queries) => call(queries, group, method, given))
        if (found.length > 0) scans[`${group}.${method}`] = found
      }
    for (const name of Object.keys(DELETED_BY) as (keyof typeof DELETED_BY)[]) {
      const found = await findScans(client, ({ rows }) => rows.removeBefore(name, 5, 10))
      if (found.length > 0) scans[`rows.removeBefore ${name}`] = found
    }
    assert.deepEqual(Object.keys(scans).sort(), Object.keys(SCANS).sort(), JSON.stringify(scans, null, 2))
  })
})

function call(queries: Queries, group: string, method: string, given: readonly unknown[]): Promise<unknown> {
  const methods = queries[group as keyof Queries] as unknown as Record<
    string,
    (...given: unknown[]) => unknown
  >
  return Promise.resolve(methods[method]!(...given))
}

/** The statements of a call that scan a table that grows. What the call writes is rolled back. */
async function findScans(client: pg.Client, run: (queries: Queries) => Promise<unknown>): Promise<string[]> {
  const found: string[] = []
  const db = createKysely(async ({ text, values = [] }) => {
    const { rows } = await client.query(`explain (format json) ${text}`, values)
    const scanned = listScans(rows[0]['QUERY PLAN'][0].Plan)
    if (scanned.length > 0) found.push(`${scanned}: ${text}`)
    return client.query(text, values)
  })
  await client.query('begin')
  try {
    await run(createQueries(db))
  } finally {
    await client.query('rollback')
  }
  return found
}

function listScans(node: PlanNode): string[] {
  const table = node['Relation Name']
  const own = node['Node Type'] === 'Seq Scan' && table && GROWING_TABLES.includes(table) ? [table] : []
  return [...own, ...(node.Plans ?? []).flatMap(listScans)]
}
