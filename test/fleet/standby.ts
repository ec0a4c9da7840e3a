import { setTimeout as pause } from 'node:timers/promises'
import { sendRequest } from '../support/http-client.ts'
import { insertAccount } from '../support/insert-account.ts'
import { Fleet } from './fleet.ts'
import { publishAt } from './publishing-probe.ts'
import { Report } from './report.ts'

interface StandbyOptions {
  /** For which the standby is away. */
  seconds: number
  nodes: number
  log?: (line: string) => void
}

const PUBLISHERS = 34
const PUBLISH_PAUSE_MS = 500
const READ_PAUSE_MS = 20
const RETRY_MS = 200
const CALM_SECONDS = 10

/** The promise for requests of other accounts. */
const MAX_READ_MS = 1000

const SETTINGS = { RATE_ANONYMOUS: '1000000', RATE_FREE: '1000000' }

/** Accounts publish while the standby does not confirm commits; another account reads. */
export async function runStandby({ seconds, nodes, log }: StandbyOptions): Promise<Report> {
  const report = new Report(log)
  await using fleet = await Fleet.open({ nodes, storage: 's3', settings: SETTINGS })
  await fleet.startNodes()
  const keys: string[] = []
  for (let number = 0; number <= PUBLISHERS; number++)
    keys.push(
      await insertAccount(fleet.databaseUrl, `account-${number}`, { email: `${number}@example.test` }),
    )
  const accounts: { key: string; slug: string }[] = []
  for (const key of keys)
    accounts.push({ key, slug: (await fleet.client(key).publishContents(createPage(0))).slug })
  const [reader, ...publishers] = accounts
  report.event(`${nodes} nodes are ready, and ${publishers.length} accounts publish`)
  const stop = new AbortController()
  const state = { name: 'calm' }
  const loads = [
    ...publishers.map((account) => publishUntil(stop.signal, { fleet, report, state, ...account })),
    readUntil(stop.signal, { fleet, report, state, ...reader! }),
  ]
  await pause(CALM_SECONDS * 1000)
  await fleet.stopStandby()
  state.name = 'without the standby'
  report.event('the standby has ended')
  await pause(seconds * 1000)
  state.name = 'recovery'
  const restarting = fleet.restartStandby()
  stop.abort()
  await restarting
  report.event('the standby is back')
  for (const node of fleet.nodes) while (!(await publishAt(node))) await pause(RETRY_MS)
  report.event('every node publishes')
  await Promise.all(loads)
  return report
}

const createPage = (number: number) => ({
  files: [{ path: 'index.html', content: `<p>version ${number}` }],
})

interface Load {
  fleet: Fleet
  report: Report
  /** What the counts are of. */
  state: { name: string }
  key: string
  slug: string
}

/** One request after the other, without the pauses of our clients after a refusal. */
async function publishUntil(signal: AbortSignal, { fleet, report, state, key, slug }: Load): Promise<void> {
  for (let number = 1; !signal.aborted; number++) {
    const { name } = state
    const { status, reason } = await send(fleet, key, {
      ...{ method: 'PUT', path: `/api/v1/publish/${slug}` },
      body: JSON.stringify(createPage(number)),
    })
    report.count(`${name}: publishes with ${status}${reason}`)
    await pause(PUBLISH_PAUSE_MS)
  }
}

async function readUntil(signal: AbortSignal, { fleet, report, state, key, slug }: Load): Promise<void> {
  while (!signal.aborted) {
    const { name } = state
    const startedAt = performance.now()
    const { status, reason } = await send(fleet, key, { method: 'GET', path: `/api/v1/publish/${slug}` })
    const milliseconds = performance.now() - startedAt
    report.count(`${name}: reads of another account with ${status}${reason}`)
    report.max(`${name}: slowest read of another account, ms`, milliseconds)
    if (status !== 200) report.violation(`${status} for a read of another account:${reason}`)
    if (milliseconds > MAX_READ_MS)
      report.violation(`a read of another account took ${Math.round(milliseconds)} ms`)
    await pause(READ_PAUSE_MS)
  }
}

/** The status, and the reason of a refusal; 0 without a response. */
async function send(
  fleet: Fleet,
  key: string,
  spec: { method: string; path: string; body?: string },
): Promise<{ status: number; reason: string }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return sendRequest(fleet.port, { ...spec, headers }).then(
    ({ status, json }) => ({ status, reason: status < 300 ? '' : ` ${json?.error}` }),
    (error) => ({ status: 0, reason: ` ${error}` }),
  )
}
