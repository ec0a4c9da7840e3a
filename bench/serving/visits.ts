import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { HttpRequest } from '../../packages/http-server/http-handler.ts'
import { program } from '../../scripts/program.mjs'
import { RequestMetrics } from '../../server/edge/request-metrics.ts'
import type { EdgeResult } from '../../server/edge/response.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { findMutation, mutationEnvironment } from '../../test/mutations/edit.ts'
import { type Measurement, median, type Report } from '../figures.ts'
import { type ServerProcess, scratchFolder, startServer } from '../server-process.ts'
import { publishSite, siteFiles } from './content.ts'
import { formatFigures, markdown, yes } from './figures.ts'
import { seedSites } from './many-sites.ts'
import { byWrk, type MeasuredServer, measuredRun, type RunLengths, type Runner } from './rounds.ts'
import { SERVER_CORE, WRK_CORE } from './server.ts'
import { manySitesWorks, siteWorks, type Work } from './works.ts'

interface Plan {
  lengths: RunLengths
  /** Sites of the workload with many sites. */
  sites: number
}

const WHOLE: Plan = { lengths: { rounds: 15, seconds: 4, warmUp: 1 }, sites: 10_000 }

/** For trial runs: three rounds do not show hundredths. */
const QUICK: Plan = { lengths: { rounds: 3, seconds: 2, warmUp: 1 }, sites: 1000 }

/** Maximum cost of counting, as a fraction of a response without it. */
const MAX_OVERHEAD = 0.03
const MAX_METRICS_OVERHEAD = 0.02

/** The mutation that removes the statement by which the edge counts a response. */
const UNCOUNTED = 'does not count the responses of sites in the metrics'

/** A service with and without counting. */
type Setting = 'on' | 'off'

interface Result {
  work: Work
  /** CPU microseconds per response, by round. */
  runs: Record<Setting, number[]>
}

type StartOptions = NonNullable<Parameters<typeof startServer>[1]>

/** How each service starts. */
type Settings = Record<Setting, Pick<StartOptions, 'settings' | 'environment'>>

/** The cost of counting visits. */
export const visits: Measurement = {
  name: 'visits',
  means: 'processor time of an answer with SLIPWAY_VISITS=on to that with off',
  missing: whatIsMissing,
  run: ({ quick }) =>
    compare(quick, { on: { settings: { VISITS: 'on' } }, off: { settings: { VISITS: 'off' } } }),
}

/** The cost of metrics, which have no setting: the other service runs without the statement that counts. */
export const metrics: Measurement = {
  name: 'metrics',
  means: 'processor time of an answer that is counted in the metrics to that of one that is not',
  missing: whatIsMissing,
  async run({ quick }) {
    const environment = mutationEnvironment(findMutation(UNCOUNTED))
    const compared = await compare(quick, { on: {}, off: { environment } }, MAX_METRICS_OVERHEAD)
    const alone = median(Array.from({ length: COUNTING_ROUNDS }, countingNanoseconds))
    const sentence = `The statement alone takes ${formatFigures(alone)} ns (median of ${COUNTING_ROUNDS} rounds of ${COUNTED_RESPONSES.toLocaleString('en')} calls in a process of its own).`
    return { ...compared, markdown: `${compared.markdown}\n\n${sentence}` }
  },
}

const COUNTING_ROUNDS = 15
const COUNTED_RESPONSES = 10_000_000

/** CPU time of counting one response from memory, with responses of different statuses and lengths in turns. */
function countingNanoseconds(): number {
  const requestMetrics = new RequestMetrics({ metrics: new Metrics() })
  const request = { isHead: false } as HttpRequest
  const results = Array.from({ length: 1024 }, (_, number): EdgeResult => {
    const status = [200, 200, 200, 304, 404][number % 5]!
    return { response: { status, headers: [], body: Buffer.alloc(number) }, visit: undefined }
  })
  const before = process.cpuUsage()
  for (let number = 0; number < COUNTED_RESPONSES; number++)
    requestMetrics.count(request, results[number & 1023]!)
  const { user, system } = process.cpuUsage(before)
  return ((user + system) * 1000) / COUNTED_RESPONSES
}

/**
 * Two services with the same sites, one of which counts, on the same core in turns. Compares CPU time per response, which
 * other work on the machine affects least.
 */
async function compare(quick: boolean, settings: Settings, maxOverhead = MAX_OVERHEAD): Promise<Report> {
  await using scratch = await scratchFolder()
  const { lengths, sites: count } = quick ? QUICK : WHOLE
  const seeded = join(scratch.path, 'seeded')
  console.error(`making ${count} sites`)
  const sites = await seedSites(seeded, { sites: count, distinct: count })
  const files = siteFiles()
  await using stack = new AsyncDisposableStack()
  const servers: Record<Setting, MeasuredServer> = {
    on: await open(stack, { start: settings.on, data: `${seeded}-on`, seeded, files }),
    off: await open(stack, { start: settings.off, data: `${seeded}-off`, seeded, files }),
  }
  const wanted = new Set(['bare', 'browser', 'zipf'])
  const works = [...siteWorks(files), ...manySitesWorks(sites)].filter(({ id }) => wanted.has(id))
  return report(lengths, await runRounds(works, servers, { lengths, folder: scratch.path }), maxOverhead)
}

function whatIsMissing(): string | undefined {
  const missing = ['wrk', 'taskset'].filter((name) => !program(name))
  if (missing.length === 0) return undefined
  return `this needs ${missing.join(', ')}: sudo apt-get install --no-install-recommends wrk util-linux`
}

async function open(
  stack: AsyncDisposableStack,
  {
    start,
    data,
    seeded,
    files,
  }: { start: Settings[Setting]; data: string; seeded: string; files: ReturnType<typeof siteFiles> },
): Promise<MeasuredServer> {
  cpSync(seeded, data, { recursive: true })
  const service: ServerProcess = stack.use(await startServer(data, { ...start, core: SERVER_CORE }))
  const port = Number(new URL(service.baseUrl).port)
  const slug = await publishSite(service.baseUrl, files)
  return { name: 'ours', host: `${slug}.localhost:${port}`, port, sitesPort: port, pid: service.pid }
}

/** Both once per round and workload, in alternating order. */
async function runRounds(
  works: readonly Work[],
  servers: Record<Setting, MeasuredServer>,
  { lengths, folder }: { lengths: RunLengths; folder: string },
): Promise<Result[]> {
  const results: (Result & { runners: Record<Setting, Runner> })[] = []
  for (const work of works) {
    const ready = (setting: Setting) => {
      const scripts = join(folder, setting)
      mkdirSync(scripts, { recursive: true })
      return byWrk(work, { folder: scripts, core: WRK_CORE }).ready(servers[setting])
    }
    const runners = { on: await ready('on'), off: await ready('off') }
    results.push({ work, runs: { on: [], off: [] }, runners })
  }
  for (let round = 0; round < lengths.rounds; round++) {
    for (const { work, runs, runners } of results) {
      for (const setting of round % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const)) {
        const { cores, perSecond } = await measuredRun(runners[setting], lengths)
        runs[setting].push((cores / perSecond) * 1e6)
        console.error(
          `${work.id.padEnd(10)} ${setting.padEnd(4)} ${runs[setting].at(-1)!.toFixed(3)} µs, ${perSecond.toFixed(0)}/s`,
        )
      }
    }
  }
  return results
}

function report({ rounds, seconds }: RunLengths, results: readonly Result[], maxOverhead: number): Report {
  const rows = results.map(({ work, runs: { on, off } }) => {
    const costs = on.map((time, round) => time / off[round]! - 1)
    const cost = median(costs)
    return [
      work.name,
      `${formatFigures(median(off))} µs`,
      `${formatFigures(median(on))} µs`,
      percent(cost),
      `${percent(Math.min(...costs))} to ${percent(Math.max(...costs))}`,
      percent(maxOverhead),
      yes(cost <= maxOverhead),
    ]
  })
  const head = ['work', 'not counted', 'counted', 'cost', 'rounds', 'at most', 'met']
  const summary = `CPU time per response (user and system), median of ${rounds} rounds of ${seconds} s; the cost is the median of the rounds.`
  const data = { works: results.map(({ work: { id, name }, runs }) => ({ id, name, runs })) }
  return { markdown: `${summary}\n\n${markdown(head, rows)}`, data, pages: {} }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
