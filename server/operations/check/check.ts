import { settings } from '../../config/setting-table.ts'
import type { Config } from '../../config/settings.ts'
import type { Dns } from '../../domains/dns/dns.ts'
import type { Secrets } from '../../lib/tokens.ts'
import { MIN_SERVER_VERSION, OLD_SERVER } from '../../store/postgres/errors.ts'
import type { DatabaseFacts, PrimaryFacts } from '../../store/postgres/inspect.ts'
import type { SharedSetting } from '../../store/tables/nodes.ts'
import { compareSharedSettings, FleetSettings } from '../fleet/fleet-settings.ts'
import { SILENT_MS } from '../fleet/nodes.ts'
import { findReason } from '../fleet/wait-for-database.ts'
import { checkClock } from './check-engines.ts'
import { type CheckResult, failed, ok, warning } from './check-result.ts'

interface CheckOptions {
  config: Config
  secret: Secrets
  dns: Dns
  machines: number
  /** Undefined on one machine. */
  inspectDatabase?: (() => Promise<DatabaseFacts>) | undefined
  checkMachine(): Promise<readonly CheckResult[]>
  checkMail?: (() => Promise<void>) | undefined
  /** Sends an email; undefined unless it is wanted. */
  sendMail?: (() => Promise<string>) | undefined
  checkSurroundings(): Promise<readonly CheckResult[]>
  /** A label that no site has. */
  label: string
}

/** Connections of the pool, of the change feed, and some of an upgrade. */
const CONNECTIONS_PER_PROCESS = 10

export async function checkConfiguration(options: CheckOptions): Promise<CheckResult[]> {
  const { config, inspectDatabase } = options
  const warnings = config.warnings.map((message) => warning('settings', message))
  const groups = await Promise.all([
    warnings.length > 0 ? warnings : [ok('settings', 'all values are allowed')],
    inspectDatabase ? inspectDatabase().then((facts) => checkDatabase(facts, options)) : [],
    options.checkMachine(),
    checkMail(options),
    checkNames(options),
    options.checkSurroundings(),
  ])
  return groups.flat()
}

function checkDatabase({ hosts, primary }: DatabaseFacts, options: CheckOptions): CheckResult[] {
  const others = hosts.map(({ host, state, reason }) => `${host} is ${state}${reason ? ` (${reason})` : ''}`)
  if (!primary) return [failed('database', `no primary was found: ${others.join('; ')}`)]
  const unreachable = hosts.some(({ state }) => state === 'unreachable')
  const found = `primary at ${primary.host}, PostgreSQL ${primary.version}`
  return [
    primary.versionNumber < MIN_SERVER_VERSION
      ? failed('database', `${found}: ${OLD_SERVER}`)
      : unreachable
        ? warning('database', `${found}, but not all hosts can be reached: ${others.join('; ')}`)
        : ok('database', found),
    ...checkRights(primary),
    ...checkDurability(primary),
    checkConnections(primary, options),
    checkClock('the database', primary.clockOffsetMs),
    ...checkFleet(primary, options),
  ]
}

function checkRights({ encoding, mayCreateTables, nodes }: PrimaryFacts): CheckResult[] {
  if (encoding !== 'UTF8')
    return [failed('database rights', `the encoding is ${encoding}: create the database with UTF8`)]
  if (mayCreateTables || nodes.length > 0) return [ok('database rights', 'tables can be created')]
  return [failed('database rights', 'the user cannot create tables: grant create on schema public to it')]
}

function checkDurability({ synchronousStandbys, isFlushing, commitFailure }: PrimaryFacts): CheckResult[] {
  if (commitFailure !== undefined) {
    const advice = synchronousStandbys
      ? `is a standby of synchronous_standby_names = '${synchronousStandbys}' connected?`
      : 'see the log of the server'
    return [failed('database durability', `a commit was not acknowledged (${commitFailure}): ${advice}`)]
  }
  if (!isFlushing)
    return [
      failed('database durability', 'a crash can damage the data: set fsync and full_page_writes to on'),
    ]
  if (synchronousStandbys === '') {
    const advice = "set synchronous_standby_names, to 'ANY 1 (*)' for example"
    return [warning('database durability', `a failover can lose acknowledged publishes: ${advice}`)]
  }
  return [ok('database durability', `commits wait for ${synchronousStandbys}`)]
}

function checkConnections(
  { maxConnections, nodes }: PrimaryFacts,
  { config, machines }: CheckOptions,
): CheckResult {
  const processes = Math.max(nodes.length, machines * config.workers)
  const needed = processes * CONNECTIONS_PER_PROCESS
  const found = `max_connections is ${maxConnections}; ${processes} processes can need ${needed}`
  return maxConnections < needed
    ? failed('database connections', `${found}: raise it, or use PgBouncer in transaction mode`)
    : ok('database connections', found)
}

function checkFleet({ sharedSettings, nodes }: PrimaryFacts, options: CheckOptions): CheckResult[] {
  const { config, secret } = options
  const different = compareSharedSettings(sharedSettings, { ...config, secret })
  const releases = [...new Set(nodes.map(({ release }) => release))]
  const now = Math.max(0, ...nodes.map(({ seenAt }) => seenAt))
  const silent = nodes.filter(({ seenAt }) => now - seenAt > SILENT_MS)
  const found =
    nodes.length === 0 ? 'no node runs yet' : `${nodes.length - silent.length} run, ${releases.join(' and ')}`
  return [
    different.length > 0
      ? failed('shared settings', `not those of the other nodes: ${different.join(', ')}`)
      : ok(
          'shared settings',
          sharedSettings.length > 0 ? 'those of the other nodes' : 'this node is the first',
        ),
    // They are signed with the secret.
    ...(different.includes(settings.secret.name) ? [] : [checkFleetSettings(sharedSettings, options)]),
    silent.length > 0
      ? warning('nodes', `${found}; ${silent.map(({ host }) => host).join(', ')} sent no report for 30 s`)
      : ok('nodes', found),
  ]
}

function checkFleetSettings(stored: readonly SharedSetting[], { config, secret }: CheckOptions): CheckResult {
  const name = 'fleet settings'
  const different = new FleetSettings(config, secret).findDifferent(stored)
  if (different.length === 0) return ok(name, 'plans, limits, branding and so on are equal')
  return warning(name, `not those of the node that started last: ${different.join(', ')}`)
}

async function checkMail({ checkMail: check, sendMail, config }: CheckOptions): Promise<CheckResult[]> {
  if (!check) return [(sendMail ? failed : warning)('mail', 'SLIPWAY_SMTP_URL is not set: no email is sent')]
  try {
    await check()
    const accepted = ok('mail', `the server accepts the login; the sender is ${config.mailFrom}`)
    return sendMail ? [accepted, ok('mail', await sendMail())] : [accepted]
  } catch (error) {
    return [failed('mail', `SLIPWAY_SMTP_URL: ${findReason(error)}; check the host, the port and the login`)]
  }
}

const DNS_ADVICE = 'create A and AAAA records with the public addresses of this machine'

async function checkNames({ config, dns, label }: CheckOptions): Promise<CheckResult[]> {
  const { baseUrl, siteDomain, proxyHost } = config
  const names: [name: string, setting: string][] = [
    [baseUrl === '' ? 'localhost' : new URL(baseUrl).hostname, 'SLIPWAY_BASE_URL'],
    [`${label}.${siteDomain}`, 'the wildcard of SLIPWAY_SITE_DOMAIN'],
    [proxyHost, 'SLIPWAY_PROXY_HOST'],
  ]
  return Promise.all(
    names.map(async ([name, setting]) => {
      if (/(^|\.)localhost$|^\[|^\d+(\.\d+){3}$/.test(name))
        return ok('DNS', `${setting}: ${name} needs no record`)
      const { values, error } = await dns.addresses(name)
      if (values.length > 0) return ok('DNS', `${setting}: ${name} has ${values.join(', ')}`)
      const found = error ?? 'it has no A or AAAA record'
      return failed('DNS', `${setting}: ${name} cannot be resolved: ${found}; ${DNS_ADVICE}`)
    }),
  )
}
