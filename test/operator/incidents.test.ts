import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { type FileHandle, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { orderNow } from '../../server/certificates/maintenance.ts'
import { readConfig } from '../../server/config/settings.ts'
import { INCIDENTS, type IncidentName, Incidents } from '../../server/lib/incidents.ts'
import { makeLog } from '../../server/lib/log.ts'
import { METRICS } from '../../server/lib/metric-table.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { HOUR_MS, SECOND_MS } from '../../server/lib/time.ts'
import { FleetSettings } from '../../server/operations/fleet/fleet-settings.ts'
import { NodeReporter } from '../../server/operations/fleet/nodes.ts'
import { readDescriptors } from '../../server/operations/telemetry/process-metrics.ts'
import { nodeSettings } from '../database-faults/node-settings.ts'
import { databaseOnSmallDisk, LARGE_MANIFEST, MAX_PUBLISHES } from '../database-faults/small-disk-database.ts'
import { addProxyRecords, PROXY, startTestDns } from '../domains/domain-fixture.ts'
import { createStorage } from '../s3/storage.ts'
import { openTestStore } from '../support/engines.ts'
import { sendRequest } from '../support/http-client.ts'
import { PATIENT } from '../support/patient.ts'
import { openOperator, type RunningService, startTestService } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { startPebble } from '../tools/pebble.ts'
import { freePort } from '../tools/port.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'
import { promtool } from './promtool.ts'

const run = promisify(execFile)

/** What a service has logged. */
interface Watched {
  log: Record<string, unknown>[]
  metrics: Metrics
  /** Reads all states now. */
  check(): Promise<void>
}

interface Play {
  what: string
  /** Names of the incidents that begin, or happen, in any order. */
  incidents: readonly IncidentName[]
  needs?: Parameters<typeof requires>
  /** Fields of the line of an incident. */
  says?: Partial<Record<IncidentName, object>>
  play(stack: AsyncDisposableStack): Promise<Watched & { begin(): unknown; end(): unknown }>
}

const PLAYS: Play[] = [
  {
    what: 'the database is away',
    incidents: ['database-unreachable', 'changes-unheard', 'serving-stale'],
    needs: ['postgres'],
    says: { 'database-unreachable': { reason: /ECONN|terminated|closed/ } },
    async play(stack) {
      const server = await sharedPostgres()
      const proxy = stack.use(await TcpProxy.open(server.port))
      const { pathname } = new URL(stack.use(await server.borrowDatabase()).url)
      const settings = await nodeSettings(server.url(pathname.slice(1), proxy.port))
      const service = stack.use(await startTestService(settings))
      const { slug } = await publish(service)
      const visit = () =>
        sendRequest(service.port, { path: '/index.html', headers: { host: `${slug}.localhost` } })
      await visit()
      return {
        ...watch(service, async () => {
          // Until the entry of the site is no longer as good as new.
          service.clock.now += 1000
          await visit()
        }),
        begin() {
          proxy.upstreamPort = 1
          proxy.cut()
        },
        end() {
          proxy.upstreamPort = server.port
        },
      }
    },
  },
  {
    what: 'the primary is read-only by its setting',
    incidents: ['database-read-only'],
    needs: ['postgres'],
    says: { 'database-read-only': { reason: /cannot execute \w+ in a read-only transaction/ } },
    async play(stack) {
      const server = await sharedPostgres()
      const { url } = stack.use(await server.createDatabase())
      const name = new URL(url).pathname.slice(1)
      const service = stack.use(await startTestService(await nodeSettings(url)))
      // Only new sessions have it; the service loses its connections, as with each change that a read-only one refuses.
      const setReadOnly = async (value: 'on' | 'off') => {
        await server.run(server.url(), `alter database ${name} set default_transaction_read_only = ${value}`)
        await server.run(
          server.url(),
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
        )
      }
      return {
        ...watch(service, async () => void (await publish(service).catch(() => undefined))),
        begin: () => setReadOnly('on'),
        end: () => setReadOnly('off'),
      }
    },
  },
  {
    what: 'the disk of the database is full',
    incidents: ['database-full'],
    needs: ['postgres', 'small-disk'],
    says: { 'database-full': { reason: /No space left on device/ } },
    async play(stack) {
      const { disk, url } = await databaseOnSmallDisk(stack)
      const service = stack.use(
        await startTestService({ ...(await nodeSettings(url)), ANONYMOUS_FILES: `${LARGE_MANIFEST.length}` }),
      )
      const { client } = service
      return {
        ...watch(service),
        async begin() {
          await disk.fill()
          await assert.rejects(async () => {
            for (let count = 0; count < MAX_PUBLISHES; count++)
              await client().create({ files: LARGE_MANIFEST })
          })
        },
        end: () => disk.clear(),
      }
    },
  },
  {
    what: 'another host becomes the primary',
    incidents: ['primary-changed'],
    needs: ['postgres'],
    async play(stack) {
      const server = await sharedPostgres()
      const [one, other] = [stack.use(await TcpProxy.open(server.port)), stack.use(await TcpProxy.open(1))]
      const url = stack.use(await server.borrowDatabase()).url
      const hosts = `127.0.0.1:${one.port},127.0.0.1:${other.port}`
      const service = stack.use(
        await startTestService(await nodeSettings(url.replace(/@[^/]+/, `@${hosts}`))),
      )
      return {
        ...watch(service),
        begin() {
          other.upstreamPort = server.port
          one.upstreamPort = 1
          one.cut()
        },
        end: () => undefined,
      }
    },
  },
  {
    what: 'the database is too slow for all requests',
    incidents: ['database-busy'],
    needs: ['postgres'],
    async play(stack) {
      const database = stack.use(await (await sharedPostgres()).borrowDatabase())
      const client = new pg.Client(database.url)
      await client.connect()
      stack.defer(() => client.end())
      const deadlines = { database: { ...PATIENT.database, acquire: 3000 } }
      const settings = await nodeSettings(database.url)
      const service = stack.use(await startTestService(settings, Date.now(), { deadlines }))
      const use = (number: number) =>
        service
          .client(`sl_live_${number}`)
          .list()
          .catch(() => undefined)
      const requests: Promise<unknown>[] = []
      stack.defer(async () => void (await Promise.all(requests)))
      return {
        ...watch(service),
        async begin() {
          await client.query('begin')
          await client.query('lock table named_keys, accounts, sessions')
          for (let number = 0; number < 20; number++) requests.push(use(number))
        },
        end: () => client.query('rollback'),
      }
    },
  },
  {
    what: 'the bucket is away',
    incidents: ['bucket-unreachable'],
    needs: ['ceph'],
    says: { 'bucket-unreachable': { reason: /socket hang up|ECONNRESET/ } },
    play: (stack) => playBucket(stack, 'reset'),
  },
  {
    what: 'the bucket refuses all requests',
    incidents: ['bucket-unreachable'],
    needs: ['ceph'],
    says: { 'bucket-unreachable': { reason: /403 InvalidAccessKeyId/ } },
    play: (stack) => playBucket(stack, 'deny'),
  },
  {
    what: 'the bucket accepts requests and answers none',
    incidents: ['bucket-hangs'],
    needs: ['ceph'],
    async play(stack) {
      const { url, proxy } = stack.use(await createStorage())
      const deadlines = { blobs: { ...PATIENT.blobs, hang: 3000 } }
      const service = stack.use(await startTestService({ BLOBS_URL: url }, Date.now(), { deadlines }))
      const health = async () => void (await sendRequest(service.port, { path: '/health' }))
      return {
        ...watch(service, health),
        begin() {
          proxy.fault = () => 'silence'
        },
        end() {
          proxy.fault = () => undefined
        },
      }
    },
  },
  {
    what: 'the bucket asks for fewer requests',
    incidents: ['bucket-throttles'],
    needs: ['ceph'],
    play: (stack) => playBucket(stack, 'slow-down'),
  },
  {
    what: 'the folder of the files is lost',
    incidents: ['storage-fails'],
    says: { 'storage-fails': { reason: /ENOENT/ } },
    async play(stack) {
      const service = stack.use(await startTestService())
      const [folder, away] = [join(service.data, 'blobs'), join(service.data, 'away')]
      await publish(service)
      return {
        ...watch(service),
        begin: () => rename(folder, away),
        end: () => rename(away, folder),
      }
    },
  },
  {
    what: 'the disk of the files is not mounted any more',
    incidents: ['storage-fails'],
    says: { 'storage-fails': { reason: /mounted/ } },
    async play(stack) {
      const service = stack.use(await startTestService())
      const [folder, away] = [join(service.data, 'blobs'), join(service.data, 'away')]
      await publish(service)
      return {
        ...watch(service),
        async begin() {
          await rename(folder, away)
          await mkdir(folder)
        },
        async end() {
          await rm(folder, { recursive: true })
          await rename(away, folder)
        },
      }
    },
  },
  {
    what: 'the disk is almost full',
    incidents: ['disk-below-reserve'],
    needs: ['small-disk'],
    says: { 'disk-below-reserve': { reserveBytes: 8e6 } },
    async play(stack) {
      const disk = stack.use(await mountSmallDisk(32e6))
      const service = stack.use(await startTestService({ DATA: disk.folder, DISK_RESERVE: '8mb' }))
      return { ...watch(service), begin: () => disk.fill(4e6), end: () => disk.clear() }
    },
  },
  {
    what: 'the disk has few free inodes',
    incidents: ['disk-below-reserve'],
    needs: ['small-disk'],
    says: { 'disk-below-reserve': { freeBytes: 0 } },
    async play(stack) {
      const disk = stack.use(await mountSmallDisk(32e6, { inodes: 1000 }))
      const service = stack.use(await startTestService({ DATA: disk.folder, DISK_RESERVE: '8mb' }))
      return { ...watch(service), begin: () => disk.fillInodes(9), end: () => disk.clear() }
    },
  },
  {
    what: 'its own domain target has no addresses',
    incidents: ['lookups-fail'],
    needs: ['knot', 'unbound'],
    says: { 'lookups-fail': { proxyHost: PROXY, problem: /has no addresses/ } },
    async play(stack) {
      const { zone, servers } = stack.use(await startTestDns())
      const settings = { PROXY_HOST: PROXY, DNS_SERVERS: servers, SITE_DOMAIN: 'pages.slipway.test' }
      const service = stack.use(await startTestService(settings))
      const client = service.client(await service.signIn('anna@example.com'))
      const { slug } = await client.publishContents({ files: [{ path: 'index.html', content: 'page' }] })
      await client.addDomain('www.shop.test', slug)
      await zone.set('www.shop.test', 'A', '192.0.2.9')
      const check = async () => {
        service.clock.now += 4000
        await client.checkDomain('www.shop.test')
      }
      return {
        ...watch(service, check),
        async begin() {
          await zone.remove(PROXY)
        },
        end: () => addProxyRecords(zone),
      }
    },
  },
  {
    what: 'the certificate authority is away',
    incidents: ['ca-unreachable'],
    needs: ['pebble'],
    says: { 'ca-unreachable': { directory: /dir$/ } },
    async play(stack) {
      const [http, https, closed] = [await freePort(), await freePort(), await freePort()]
      const pebble = stack.use(await startPebble({ httpPort: http, tlsPort: https }))
      const directory = new URL(pebble.directory)
      const authority = Number(directory.port)
      const proxy = stack.use(await TcpProxy.open(authority))
      directory.port = `${proxy.port}`
      const settings = {
        ...{ PORT: `${http}`, HTTPS_PORT: `${https}`, BASE_URL: 'https://slipway.test' },
        ...{ ACME_URL: directory.href, ACME_CA_FILE: pebble.caFile, ACME_EMAIL: 'operator@example.com' },
      }
      const service = stack.use(await startTestService(settings))
      const operator = stack.use(await openOperator(service, settings))
      const order = () => orderNow(operator.store, ['slipway.test'], service.clock.now)
      const pass = async () => {
        service.clock.now += SECOND_MS
      }
      return {
        ...watch(service, pass),
        async begin() {
          proxy.upstreamPort = closed
          proxy.cut()
          await order()
        },
        end() {
          proxy.upstreamPort = authority
        },
      }
    },
  },
  {
    what: 'file descriptors run short',
    incidents: ['descriptors-short'],
    needs: ['descriptors'],
    async play(stack) {
      const service = stack.use(await startTestService())
      const { limit } = await readDescriptors()
      const setLimit = (soft: number) => run('prlimit', ['--pid', `${process.pid}`, `--nofile=${soft}:`])
      stack.defer(async () => {
        await setLimit(limit)
      })
      // So many that some are left for what ends the incident.
      for (let count = 0; count < 200; count++) stack.use(await open('/dev/null'))
      const used = (await readDescriptors()).open
      return { ...watch(service), begin: () => setLimit(used + 30), end: () => setLimit(limit) }
    },
  },
  {
    what: 'no file descriptor is left',
    incidents: ['descriptors-short'],
    needs: ['descriptors'],
    async play(stack) {
      const service = stack.use(await startTestService())
      const { open: used, limit } = await readDescriptors()
      const setLimit = (soft: number) => run('prlimit', ['--pid', `${process.pid}`, `--nofile=${soft}:`])
      const taken: FileHandle[] = []
      const end = async () => {
        await closeAll(taken)
        await setLimit(limit)
      }
      stack.defer(end)
      return {
        ...watch(service),
        async begin() {
          await setLimit(used + 200)
          for (let isFree = true; isFree; )
            isFree = await open('/dev/null').then(
              (handle) => taken.push(handle) > 0,
              () => false,
            )
        },
        end,
      }
    },
  },
  {
    what: 'a node ends without a word, and another one with other settings and another clock runs',
    incidents: ['node-silent', 'settings-differ', 'clock-differs'],
    says: {
      'node-silent': { nodes: 'other:8080' },
      'settings-differ': { settings: 'SLIPWAY_COLOR' },
      'clock-differs': { secondsAhead: -301 },
    },
    async play(stack) {
      const { path } = stack.use(await memoryFolder())
      const store = stack.use(await openTestStore({ folder: path, clock: Date.now }))
      const log: Watched['log'] = []
      const parts = {
        log: makeLog({ level: 'info', text: false, write: (line) => void log.push(JSON.parse(line)) }),
        metrics: new Metrics(),
      }
      const incidents = new Incidents(parts)
      const machine = { aheadMs: 0 }
      stack.use(
        new NodeReporter({
          ...{ ...parts, store, incidents, host: 'one:8080', release: '1', intervalMs: 1 },
          settings: new FleetSettings(readConfig({}), 'a secret'),
          machineClock: () => store.clock() + machine.aheadMs,
        }),
      )
      const report = (seenAt: number) =>
        store.execute('relaxed', ({ rows }) =>
          rows.put('nodes', {
            id: 'other',
            host: 'other:8080',
            release: '1',
            startedAt: 0,
            seenAt,
            numbers: {},
          }),
        )
      const later = store.clock() + HOUR_MS
      const odd = { id: 'odd', host: 'odd:8080', release: '1', startedAt: later, seenAt: later, numbers: {} }
      return {
        ...{ log, metrics: parts.metrics },
        check: () => incidents.check(),
        async begin() {
          machine.aheadMs = -301_000
          await report(store.clock() - 60_000)
          await store.execute('relaxed', ({ rows }) => rows.put('nodes', odd))
          await new FleetSettings(readConfig({ SLIPWAY_COLOR: '#0b5a75' }), 'a secret').store(store)
        },
        async end() {
          machine.aheadMs = -150_000
          await report(store.clock())
          await store.execute('relaxed', ({ rows }) => rows.remove('nodes', { id: odd.id }))
        },
      }
    },
  },
]

/** The bucket of a service whose requests have a fault. */
async function playBucket(stack: AsyncDisposableStack, fault: 'reset' | 'deny' | 'slow-down') {
  const { url, proxy } = stack.use(await createStorage())
  const service = stack.use(await startTestService({ BLOBS_URL: url }))
  // The outcome depends on the bucket.
  const attempt = () => publish(service).catch(() => undefined)
  return {
    ...watch(service, async () => void (await attempt())),
    begin() {
      proxy.fault = () => fault
    },
    end() {
      proxy.fault = () => undefined
    },
  }
}

/** The log of a service; each reading follows `use`, a request of a user. */
function watch({ service, log }: RunningService, use = async () => {}): Watched {
  return {
    ...{ log, metrics: service.metrics },
    async check() {
      await use()
      await service.incidents.check()
    },
  }
}

async function closeAll(handles: FileHandle[]): Promise<void> {
  for (const handle of handles.splice(0)) await handle.close()
}

async function publish({ client }: RunningService): Promise<{ slug: string }> {
  return client().publishContents({ files: [{ path: 'index.html', content: 'page' }] })
}

describe('the log states', () => {
  for (const { what, incidents, needs = [], says = {}, play } of PLAYS)
    test(`once that ${what}, and once that it is over`, requires(...needs), async () => {
      await using stack = new AsyncDisposableStack()
      const { log, metrics, check, begin, end } = await play(stack)
      const lines = () => log.filter(({ incident }) => incident !== undefined)
      const untilLogged = (count: number) =>
        waitFor(async () => {
          await check()
          return lines().length >= count
        })
      await check()
      assert.deepEqual(lines(), [])
      await begin()
      await untilLogged(incidents.length)
      await check()
      const began = lines().splice(0)
      assert.deepEqual(byIncident(began), toLines(incidents, 'began'))
      for (const [incident, fields] of Object.entries(says))
        for (const [name, value] of Object.entries(fields)) {
          const logged = began.find((line) => line.incident === incident)![name]
          if (value instanceof RegExp) assert.match(String(logged), value)
          else assert.equal(logged, value)
        }
      const states = incidents.filter((name) => 'ended' in INCIDENTS[name])
      const last = () => states.map((incident) => metrics.read()[`slipway_incident{incident="${incident}"}`])
      for (const incident of incidents)
        assert.equal(metrics.counter('slipway_incidents_total', { incident }).value, 1)
      assert.ok(last().every((value) => value === 1))
      await end()
      await untilLogged(incidents.length + states.length)
      assert.deepEqual(byIncident(lines().slice(incidents.length)), toLines(states, 'ended'))
      assert.ok(last().every((value) => value === 0))
      for (const { error } of log) assert.ok(!String(error).includes('\n    at '), String(error))
    })

  test('every incident of the table', () => {
    // test/database-faults/failover.test.ts has a standby.
    const played = [...PLAYS.flatMap(({ incidents }) => incidents), 'commits-hang']
    assert.deepEqual(new Set(played), new Set(Object.keys(INCIDENTS)))
  })
})

type Line = [incident: string, level: string, message: string]

function byIncident(lines: Record<string, unknown>[]): Line[] {
  return lines.map(({ incident, level, message }) => [incident, level, message] as Line).sort()
}

function toLines(names: readonly IncidentName[], which: 'began' | 'ended'): Line[] {
  return names
    .map((name): Line => {
      const { level, began, ended = '' } = INCIDENTS[name] as { level: string; began: string; ended?: string }
      return which === 'began' ? [name, level, began] : [name, 'info', ended]
    })
    .sort()
}

/** A row of the tables in docs/incidents.md and docs/alerts.md. */
interface Row {
  lines: string
  metric: string
  alert: string
  action: string
}

const ROOT = join(import.meta.dirname, '..', '..')

async function readTables(): Promise<Row[]> {
  const pages = ['incidents.md', 'alerts.md'].map((name) => readFile(join(ROOT, 'docs', name), 'utf8'))
  const text = (await Promise.all(pages)).join('\n')
  const rows = text.matchAll(/^\| ([^|]+)\. Alert: `(Slipway\w+)`(?: of `(\w+)`)? \| ([^|]+) \|$/gm)
  return [...rows].map(([, what = '', alert = '', metric = 'slipway_incidents_total', action = '']) => ({
    lines: what.split(' Log: ')[1] ?? '',
    ...{ alert, metric, action },
  }))
}

interface Alert {
  /** The whole rule as YAML. */
  rule: string
  description: string
}

async function readAlerts(): Promise<Map<string, Alert>> {
  const [, ...rules] = (await readFile(join(ROOT, 'deploy', 'alerts.yaml'), 'utf8')).split('- alert: ')
  return new Map(
    rules.map((rule) => {
      const [, description = ''] = /description: ["'](.*)["']$/m.exec(rule) ?? []
      return [/^\w+/.exec(rule)![0], { rule, description }]
    }),
  )
}

const toAlertName = (incident: string) =>
  `Slipway${incident.replaceAll(/(?:^|-)(.)/g, (_, first: string) => first.toUpperCase())}`

describe('the tables of incidents and alerts for operators', () => {
  test('have each alert with its metric, and say the same to do', async () => {
    const [rows, alerts] = [await readTables(), await readAlerts()]
    assert.deepEqual(rows.map(({ alert }) => alert).sort(), [...alerts.keys()].sort())
    for (const { alert, metric, action } of rows) {
      const { rule, description } = alerts.get(alert)!
      assert.ok(metric === 'up' || metric in METRICS, metric)
      assert.match(rule, new RegExp(`\\b${metric}(_count|_bucket)?\\b`), alert)
      const toArgument = (_: string, label: string) => label.toUpperCase()
      assert.equal(action, description.replace(/\{\{ \$labels\.(\w+) \}\}/g, toArgument), alert)
    }
  })

  test('have the lines of each incident, and lines that the service writes', async () => {
    const rows = new Map((await readTables()).map((row) => [row.alert, row]))
    for (const [incident, { began, ...state }] of Object.entries(INCIDENTS))
      assert.equal(
        rows.get(toAlertName(incident))!.lines,
        [began, ...('ended' in state ? [state.ended] : [])].map((line) => `\`${line}\``).join(', '),
      )
    const sources = globSync('server/**/*.ts', { cwd: ROOT }).map((file) =>
      readFileSync(join(ROOT, file), 'utf8'),
    )
    const source = sources.join('')
    for (const { lines } of rows.values())
      for (const [, line = ''] of lines.matchAll(/`([^`]+)`/g)) assert.ok(source.includes(`'${line}'`), line)
  })

  test('have incidents that fire alerts, even one of 30 seconds', requires('promtool'), async () => {
    const tests = Object.keys(INCIDENTS).map((incident) => {
      const series = (name: string, values: string) => ({
        series: `${name}{incident="${incident}", instance="a:1", worker="1"}`,
        values,
      })
      return {
        interval: '15s',
        input_series: [
          series('slipway_incidents_total', '0x3 1x20'),
          // Prometheus may miss it.
          series('slipway_incident', '0x24'),
        ],
        promql_expr_test: [
          {
            expr: `count(ALERTS{alertname="${toAlertName(incident)}"})`,
            eval_time: '30s',
            exp_samples: [],
          },
          {
            expr: `count(ALERTS{alertname="${toAlertName(incident)}", alertstate="firing"})`,
            eval_time: '2m',
            exp_samples: [{ labels: '{}', value: 1 }],
          },
        ],
      }
    })
    const down = {
      interval: '15s',
      input_series: [{ series: 'up{job="slipway", instance="a:1"}', values: '1x3 0x1 1x10' }],
      promql_expr_test: [
        {
          expr: 'count(ALERTS{alertname="SlipwayDown", alertstate="firing"})',
          eval_time: '75s',
          exp_samples: [{ labels: '{}', value: 1 }],
        },
      ],
    }
    await using folder = await memoryFolder()
    const file = join(folder.path, 'tests.yaml')
    const rule_files = [join(ROOT, 'deploy', 'alerts.yaml')]
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ rule_files, evaluation_interval: '15s', tests: [...tests, down] }))
    const { code, output } = await promtool(['test', 'rules', file])
    assert.equal(code, 0, output)
  })
})
