import { statSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { type OperatorContext, openForOperator } from '../server/app.ts'
import { readConfig } from '../server/config/settings.ts'
import { sweeps } from '../server/jobs/jobs.ts'
import { runOnce } from '../server/jobs/scheduler.ts'
import { makeLog } from '../server/lib/log.ts'
import { DAY_MS } from '../server/lib/time.ts'
import { hashToken, newApiKey } from '../server/lib/tokens.ts'
import { emptySite } from '../server/store/tables/sites.ts'
import { accountRow, keyRow } from '../test/store/rows.ts'
import { type Figure, figure, type Measurement } from './figures.ts'
import { scratchFolder, startServer } from './server-process.ts'

const REPORTS = 100_000
const CONCURRENT = 16
const SITES_PER_WRITE = 500
const TEXT = 'It asks for the number of my card. '.repeat(20)
const SETTINGS = { REPORT_EMAIL: 'abuse@example.com', TRUSTED_PROXIES: '1', RATE_FREE: '1000000000' }

/** What reports cost that are sent to fill the database and the list of an operator. */
export const reports: Measurement = {
  name: 'reports',
  means: '100,000 reports of one site, then one of each of 100,000 sites, each from a network of its own',
  async run({ quick }) {
    const count = quick ? 2000 : REPORTS
    await using scratch = await scratchFolder()
    const data = join(scratch.path, 'data')
    const key = newApiKey()
    {
      await using operator = await openOperator(data, Date.now)
      await seed(operator, count, key)
    }
    await using server = await startServer(data, { settings: SETTINGS })
    const target = { baseUrl: server.baseUrl, data, key, count }
    return [
      ...(await measure('one site', target, () => siteName(0))),
      ...(await measure('sites', target, siteName)),
      ...(await measureDeletion(data, count)),
    ]
  },
}

interface Target {
  baseUrl: string
  data: string
  /** Of an administrator. */
  key: string
  count: number
}

async function measure(
  of: string,
  { baseUrl, data, key, count }: Target,
  chooseSite: (number: number) => string,
): Promise<Figure[]> {
  const before = databaseBytes(data)
  const list = () => timeRequest(`${baseUrl}/api/admin/reports?limit=200`, { key })
  const others: number[] = []
  let isReporting = true
  const otherRequests = (async () => {
    while (isReporting) others.push(await timeRequest(`${baseUrl}/api/v1/me`, { key }))
  })()
  const times: number[] = []
  let next = 0
  const report = async () => {
    for (let number = next++; number < count; number = next++) {
      const json = { url: `http://${chooseSite(number)}.localhost/`, reason: 'phishing', text: TEXT }
      const address = `${number >> 16}.${(number >> 8) & 255}.${number & 255}.1`
      times[number] = await timeRequest(`${baseUrl}/api/reports`, { json, address: `1${address}` })
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: CONCURRENT }, report))
  const seconds = (performance.now() - startedAt) / 1000
  isReporting = false
  await otherRequests
  const lists: number[] = []
  for (let round = 0; round < 15; round++) lists.push(await list())
  await using operator = await openOperator(data, Date.now)
  const jobs: number[] = []
  for (let round = 0; round < 5; round++) jobs.push(await timeJob(operator))
  const edge = Math.ceil(count / 100)
  return [
    figure(`${of}: reports`, 'a second', [count / seconds]),
    figure(`${of}: a report, the first hundredth of them`, 'ms', times.slice(0, edge)),
    figure(`${of}: a report, the last hundredth`, 'ms', times.slice(-edge), 100),
    figure(`${of}: another request at the same time`, 'ms', others, 100),
    figure(`${of}: added to the database`, 'MB', [(databaseBytes(data) - before) / 1e6]),
    figure(`${of}: the list for administrators, 200 rows`, 'ms', lists, 200),
    figure(`${of}: the job that sends emails`, 'ms', jobs, 1000),
  ]
}

/** While the service runs, as the job does. */
async function measureDeletion(data: string, count: number): Promise<Figure[]> {
  await using operator = await openOperator(data, () => Date.now() + 181 * DAY_MS)
  const name = `the job that deletes the reports of ${count} sites`
  return [figure(name, 'ms', [await timeJob(operator)], 30_000)]
}

async function timeJob(operator: OperatorContext): Promise<number> {
  const startedAt = performance.now()
  await runOnce(sweeps.find(({ name }) => name === 'reports')!, operator)
  return performance.now() - startedAt
}

function openOperator(data: string, clock: () => number): ReturnType<typeof openForOperator> {
  const given = Object.entries({ ...SETTINGS, DATA: data })
  const config = readConfig(Object.fromEntries(given.map(([name, value]) => [`SLIPWAY_${name}`, value])))
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  return openForOperator(config, { log, version: 'bench', clock })
}

/** Inserts sites without content, and an administrator: publishing them would take an hour. */
async function seed({ store }: OperatorContext, sites: number, key: string): Promise<void> {
  const now = Date.now()
  await store.write('durable', {}, async (tx) => {
    await tx.rows.insert('accounts', accountRow('admin', { administratorSince: now, createdAt: now }))
    await tx.rows.insert(
      'named_keys',
      keyRow(hashToken(key), { accountId: 'admin', scope: 'admin', createdAt: now }),
    )
  })
  for (let at = 0; at < sites; at += SITES_PER_WRITE)
    await store.write('durable', {}, async (tx) => {
      for (let number = at; number < Math.min(sites, at + SITES_PER_WRITE); number++)
        await tx.sites.insert(emptySite(siteName(number), now))
    })
}

function siteName(number: number): string {
  return `reported-${number}`
}

/** Its main file and its log, which is a part of it until the next checkpoint. */
function databaseBytes(data: string): number {
  return ['slipway.db', 'slipway.db-wal']
    .map((name) => statSync(join(data, name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0)
}

const agent = new http.Agent({ keepAlive: true })

/** Milliseconds of a request; fails unless it succeeds. */
function timeRequest(
  url: string,
  { key, json, address }: { key?: string; json?: object; address?: string },
): Promise<number> {
  const startedAt = performance.now()
  const headers = {
    ...(key && { authorization: `Bearer ${key}` }),
    ...(json && { 'content-type': 'application/json' }),
    ...(address && { 'x-forwarded-for': address }),
  }
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent, method: json ? 'POST' : 'GET', headers }, (response) => {
      response.resume().on('end', () => {
        if (response.statusCode! < 300) resolve(performance.now() - startedAt)
        else reject(new Error(`${url}: ${response.statusCode}`))
      })
    })
    request.on('error', reject)
    request.end(json && JSON.stringify(json))
  })
}
