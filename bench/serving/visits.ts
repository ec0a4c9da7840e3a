import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../../scripts/program.mjs'
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

/** A service with and without counting. */
type Setting = 'on' | 'off'

interface Result {
  work: Work
  /** CPU microseconds per response, by round. */
  runs: Record<Setting, number[]>
}

/**
 * The cost of counting visits: two services with the same sites, one of which counts, on the same core in
 * turns. Compares CPU time per response, which other work on the machine affects least.
 */
export const visits: Measurement = {
  name: 'visits',
  means: 'processor time of an answer with SLIPWAY_VISITS=on to that with off',
  missing: whatIsMissing,
  async run({ quick }) {
    await using scratch = await scratchFolder()
    const { lengths, sites: count } = quick ? QUICK : WHOLE
    const seeded = join(scratch.path, 'seeded')
    console.error(`making ${count} sites`)
    const sites = await seedSites(seeded, { sites: count, distinct: count })
    const files = siteFiles()
    await using stack = new AsyncDisposableStack()
    const servers: Record<Setting, MeasuredServer> = {
      on: await open(stack, { visits: 'on', seeded, files }),
      off: await open(stack, { visits: 'off', seeded, files }),
    }
    const wanted = new Set(['bare', 'browser', 'zipf'])
    const works = [...siteWorks(files), ...manySitesWorks(sites)].filter(({ id }) => wanted.has(id))
    return report(lengths, await runRounds(works, servers, { lengths, folder: scratch.path }))
  },
}

function whatIsMissing(): string | undefined {
  const missing = ['wrk', 'taskset'].filter((name) => !program(name))
  if (missing.length === 0) return undefined
  return `visits needs ${missing.join(', ')}: sudo apt-get install --no-install-recommends wrk util-linux`
}

async function open(
  stack: AsyncDisposableStack,
  { visits, seeded, files }: { visits: Setting; seeded: string; files: ReturnType<typeof siteFiles> },
): Promise<MeasuredServer> {
  const data = `${seeded}-${visits}`
  cpSync(seeded, data, { recursive: true })
  const service: ServerProcess = stack.use(
    await startServer(data, { core: SERVER_CORE, settings: { VISITS: visits } }),
  )
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

function report({ rounds, seconds }: RunLengths, results: readonly Result[]): Report {
  const rows = results.map(({ work, runs: { on, off } }) => {
    const costs = on.map((time, round) => time / off[round]! - 1)
    const cost = median(costs)
    return [
      work.name,
      `${formatFigures(median(off))} µs`,
      `${formatFigures(median(on))} µs`,
      percent(cost),
      `${percent(Math.min(...costs))} to ${percent(Math.max(...costs))}`,
      percent(MAX_OVERHEAD),
      yes(cost <= MAX_OVERHEAD),
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
