import pg from 'pg'
import { createQueries } from '../queries.ts'
import type { NodeReport, SharedSetting } from '../tables/nodes.ts'
import { type Cluster, parseConnectionUrl } from './connection-url.ts'
import { createKysely } from './kysely.ts'

export interface HostFacts {
  host: string
  state: 'primary' | 'standby' | 'unreachable'
  reason?: string
}

export interface PrimaryFacts {
  host: string
  /** `15.14` for example, and as a number: 150014. */
  version: string
  versionNumber: number
  encoding: string
  maxConnections: number
  /** `synchronous_standby_names`; empty without synchronous standbys. */
  synchronousStandbys: string
  isFlushing: boolean
  mayCreateTables: boolean
  /** Why a durable commit failed; undefined after a success. */
  commitFailure: string | undefined
  /** Time of the database less that of this machine. */
  clockOffsetMs: number
  /** Empty before the first node has started. */
  sharedSettings: SharedSetting[]
  nodes: NodeReport[]
}

export interface DatabaseFacts {
  hosts: HostFacts[]
  primary: PrimaryFacts | undefined
}

const CONNECT_TIMEOUT_MS = 3000
const QUERY_TIMEOUT_MS = 5000

export async function inspectDatabase(
  url: string,
  queryTimeoutMs = QUERY_TIMEOUT_MS,
): Promise<DatabaseFacts> {
  const { hosts, config } = parseConnectionUrl(url)
  const inspected = await Promise.all(
    hosts.map((host) => inspectHost({ ...config, ...host }, queryTimeoutMs)),
  )
  return {
    hosts: inspected.map(({ facts }) => facts),
    primary: inspected.find(({ primary }) => primary !== undefined)?.primary,
  }
}

async function inspectHost(
  config: Cluster['config'] & Cluster['hosts'][number],
  queryTimeoutMs: number,
): Promise<{ facts: HostFacts; primary?: PrimaryFacts }> {
  const host = `${config.host}:${config.port}`
  const client = new pg.Client({
    ...config,
    application_name: 'slipway check',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: queryTimeoutMs,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query('select pg_is_in_recovery() as standby')
    if (rows[0].standby) return { facts: { host, state: 'standby' } }
    return { facts: { host, state: 'primary' }, primary: await inspectPrimary(client, host) }
  } catch (error) {
    return { facts: { host, state: 'unreachable', reason: (error as Error).message } }
  } finally {
    void client.end().catch(() => undefined)
  }
}

interface FactsRow {
  version: string
  version_number: number
  encoding: string
  max_connections: number
  standbys: string
  flushing: boolean
  may_create: boolean
  has_tables: boolean
  now: number
}

async function inspectPrimary(client: pg.Client, host: string): Promise<PrimaryFacts> {
  const sentAt = Date.now()
  const { rows } = await client.query<FactsRow>(`
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int as version_number,
      current_setting('server_encoding') as encoding,
      current_setting('max_connections')::int as max_connections,
      current_setting('synchronous_standby_names') as standbys,
      current_setting('fsync')::bool and current_setting('full_page_writes')::bool as flushing,
      coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_create,
      to_regclass('shared_settings') is not null and to_regclass('nodes') is not null as has_tables,
      extract(epoch from clock_timestamp())::float8 * 1000 as now`)
  const row = rows[0]!
  const queries = createQueries(createKysely((query) => client.query(query.text, query.values)))
  return {
    host,
    version: row.version,
    versionNumber: row.version_number,
    encoding: row.encoding,
    maxConnections: row.max_connections,
    synchronousStandbys: row.standbys,
    isFlushing: row.flushing,
    mayCreateTables: row.may_create,
    clockOffsetMs: row.now - (sentAt + Date.now()) / 2,
    sharedSettings: row.has_tables ? await queries.sharedSettings.list() : [],
    nodes: row.has_tables ? await queries.nodes.list() : [],
    commitFailure: await commitDurably(client),
  }
}

/** Commits a transaction that waits for the disk and for synchronous standbys, as a publish does. Leaves nothing. */
async function commitDurably(client: pg.Client): Promise<string | undefined> {
  try {
    await client.query('begin')
    await client.query('set local synchronous_commit = on')
    await client.query('create temporary table slipway_check (number int) on commit drop')
    await client.query('commit')
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
