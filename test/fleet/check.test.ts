import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { checkService } from '../../server/backends.ts'
import { readConfig } from '../../server/config/settings.ts'
import type { CheckResult } from '../../server/operations/check/check-result.ts'
import { findDifferentSettings } from '../../server/operations/fleet/fleet-settings.ts'
import { inspectDatabase } from '../../server/store/postgres/inspect.ts'
import { run, type Settings } from '../operator/program.ts'
import { openStore } from '../store/test-database.ts'
import { PATIENT } from '../support/patient.ts'
import { silentLog } from '../support/silent-log.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Knot, startKnot } from '../tools/knot.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { freePort } from '../tools/port.ts'
import { EMPTY, type Postgres, startPostgres } from '../tools/postgres.ts'
import { startSmtp } from '../tools/smtp.ts'

const MACHINES = 3

/** The service, the sites, and the proxy host, which the wildcard does not include. */
const HOSTS = ['slipway.test', '*.sites.test', 'domains.other.test']

describe('slipway-server check', requires('postgres', 'smtp', 'knot'), () => {
  const started = new AsyncDisposableStack()
  let knot: Knot
  let postgres: Postgres
  let right: Settings
  before(async () => {
    const { path } = started.use(await memoryFolder())
    const smtp = started.use(await startSmtp())
    knot = started.use(await startKnot())
    for (const host of HOSTS) await knot.set(host, 'A', '192.0.2.1')
    postgres = started.use(await startPostgres({ isDurable: true }))
    const url = await postgres.createDatabase()
    right = {
      HOST: '0.0.0.0',
      PORT: '0',
      DATABASE_URL: url.replace('slipway@', 'slipway:hush@'),
      SECRET: 'a secret that no line of a check contains',
      BASE_URL: 'https://slipway.test',
      SITE_DOMAIN: 'sites.test',
      PROXY_HOST: 'domains.other.test',
      SMTP_URL: smtp.url,
      REPORT_EMAIL: 'abuse@slipway.test',
      DNS_SERVERS: knot.address,
      DATA: join(path, 'data'),
    }
  })
  after(() => started.disposeAsync())

  async function check(settings: Settings, machines = MACHINES): Promise<CheckResult[]> {
    const environment = Object.entries(settings).map(([name, value]) => [`SLIPWAY_${name}`, value])
    const checks = await checkService(readConfig(Object.fromEntries(environment)), {
      log: silentLog,
      machines,
      version: '1.2.3',
      deadlines: PATIENT,
    })
    assert.doesNotMatch(JSON.stringify(checks), /hush|a secret that no line/)
    return checks
  }

  /** The checks that failed, with their messages. */
  async function findFailures(settings: Settings, machines?: number): Promise<[string, string][]> {
    const checks = await check(settings, machines)
    return checks.filter(({ status }) => status === 'failed').map(({ name, message }) => [name, message])
  }

  test('has a line for each thing that a configuration needs, and finds nothing wrong with a right one', async () => {
    const checks = await check(right)
    assert.deepEqual(
      checks.map(({ name, status }) => `${name}: ${status}`),
      [
        'settings: ok',
        'database: ok',
        'database rights: ok',
        'database durability: warning',
        'database connections: ok',
        'clock: ok',
        'shared settings: ok',
        'fleet settings: ok',
        'nodes: ok',
        'port: ok',
        'data folder: ok',
        'disk flush: ok',
        'disk space: ok',
        'disk inodes: ok',
        'secret: ok',
        'mail: ok',
        'DNS: ok',
        'DNS: ok',
        'DNS: ok',
        'proxies: warning',
      ],
    )
    const { code, lines } = await run(['check', '--json', '--nodes', '3'], right)
    const answer = JSON.parse(lines[0]!)
    assert.deepEqual([code, answer.ok, answer.checks.length], [0, true, checks.length])
  })

  test('exits with 1 and names the setting when a part cannot be reached', async () => {
    const { code, lines, stderr } = await run(['check'], { ...right, SMTP_URL: 'smtp://127.0.0.1:1' })
    assert.deepEqual([code, stderr], [1, ''])
    assert.ok(lines.some((line) => /^FAILED {2}mail: SLIPWAY_SMTP_URL: .*ECONNREFUSED/.test(line)))
  })

  test('finds a database without a primary', async () => {
    const [port, other] = [await freePort(), await freePort()]
    const DATABASE_URL = `postgres://slipway:hush@127.0.0.1:${port},127.0.0.1:${other}/slipway`
    const [[name, message] = ['', ''], ...more] = await findFailures({ ...right, DATABASE_URL })
    assert.deepEqual([name, more], ['database', []])
    assert.match(message, new RegExp(`127.0.0.1:${port} is unreachable \\(connect ECONNREFUSED`))
    assert.match(message, new RegExp(`127.0.0.1:${other} is unreachable`))
  })

  test('finds a user that cannot create tables', async () => {
    const url = await postgres.createDatabase(EMPTY)
    await postgres.run(
      url,
      'drop role if exists visitor; create role visitor login; revoke create on schema public from public',
    )
    const failures = await findFailures({ ...right, DATABASE_URL: url.replace('slipway@', 'visitor@') })
    assert.deepEqual(failures, [
      ['database rights', 'the user cannot create tables: grant create on schema public to it'],
    ])
  })

  test('finds too few connections for the number of nodes', async () => {
    const [[name, message] = ['', '']] = await findFailures({ ...right, WORKERS: '10' }, 5)
    assert.equal(name, 'database connections')
    assert.match(message, /50 processes can need 500: raise it, or use PgBouncer/)
  })

  test('finds a commit that waits for a standby that is not connected', async () => {
    const url = await postgres.createDatabase(EMPTY)
    await postgres.run(url, "alter system set synchronous_standby_names = 'missing'")
    await postgres.run(url, 'select pg_reload_conf()')
    const inspect = async () => (await inspectDatabase(url, 200)).primary!
    try {
      await waitFor(async () => (await inspect()).synchronousStandbys !== '')
      assert.match((await inspect()).commitFailure ?? 'none', /timeout/)
    } finally {
      // Every later commit would wait.
      await postgres.run(url, 'alter system reset synchronous_standby_names')
      await postgres.run(url, 'select pg_reload_conf()')
      await waitFor(async () => (await inspect()).synchronousStandbys === '')
    }
  })

  test('finds settings that are not those of the other nodes', async () => {
    const url = await postgres.createDatabase()
    const settings = { ...right, DATABASE_URL: url }
    {
      await using store = await openStore(url)
      await findDifferentSettings(store, {
        secret: 'the secret of the other nodes',
        baseUrl: 'https://slipway.test',
        blobsUrl: '',
        siteDomain: 'others.test',
        proxyHost: 'domains.other.test',
      })
    }
    assert.deepEqual(await findFailures(settings), [
      ['shared settings', 'not those of the other nodes: SLIPWAY_SECRET, SLIPWAY_SITE_DOMAIN'],
    ])
  })

  test('finds names without an address, and asks for any name below the site domain', async () => {
    for (const [host, setting] of [
      [HOSTS[0], /^SLIPWAY_BASE_URL: slipway\.test cannot be resolved/],
      [HOSTS[1], /^the wildcard of SLIPWAY_SITE_DOMAIN: check-[0-9a-f]+\.sites\.test cannot be resolved/],
      [HOSTS[2], /^SLIPWAY_PROXY_HOST: domains\.other\.test cannot be resolved/],
    ] as const) {
      await knot.remove(host!)
      const failures = await findFailures(right)
      assert.equal(failures.length, 1)
      const [[name, message] = ['', '']] = failures
      assert.equal(name, 'DNS')
      assert.match(message, setting)
      await knot.set(host!, 'A', '192.0.2.1')
    }
  })

  test('warns of a full disk on a node whose files are in a bucket', async () => {
    const bucket = { BLOBS_URL: 's3://bucket?endpoint=http://127.0.0.1:1', DISK_RESERVE: '900GB' }
    const found = (await check({ ...right, ...bucket })).find(({ name }) => name === 'disk space')
    assert.equal(found?.status, 'warning')
    assert.match(found.message, /less than SLIPWAY_DISK_RESERVE .*: zip archives above 1 MiB are refused/)
  })

  test('finds a data folder that cannot be used', async () => {
    await using folder = await memoryFolder()
    await writeFile(join(folder.path, 'file'), '')
    const failures = await findFailures({ ...right, DATA: join(folder.path, 'file', 'data') })
    const names = failures.map(([name]) => name)
    assert.deepEqual(names, ['data folder'])
  })
})
