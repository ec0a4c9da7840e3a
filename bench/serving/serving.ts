import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../../scripts/program.mjs'
import type { Measurement, Report, RunOptions } from '../figures.ts'
import { scratchFolder } from '../server-process.ts'
import { manySitesMemory, twoWorkers } from './capacity.ts'
import { chart } from './chart.ts'
import { canDropCaches, coldFirstBytes } from './cold.ts'
import { type Line, lineTable } from './figures.ts'
import { MemoryWatch } from './processes.ts'
import { profile } from './profile.ts'
import { byWrk, type Result, type RunLengths, runRounds } from './rounds.ts'
import { WRK_CORE } from './server.ts'
import { type Scale, type Stage, setStage } from './stage.ts'
import { circumstances, failures, workLines, worksTable } from './table.ts'
import { manySitesWorks, siteWorks } from './works.ts'

const CHART = 'docs/serving.svg'
/** The chart of README.md: these workloads only. */
const SHORT_CHART = 'docs/speed.svg'
const SHORT_CHART_WORKS = ['browser', 'photo', '304']

interface Plan {
  lengths: RunLengths
  scale: Scale
}

const WHOLE: Plan = {
  lengths: { rounds: 5, seconds: 2, warmUp: 1 },
  scale: { sites: 100_000, requested: 10_000, coldFiles: 200 },
}

/** For trial runs: one round is no measurement. */
const QUICK: Plan = {
  lengths: { rounds: 1, seconds: 2, warmUp: 1 },
  scale: { sites: 10_000, requested: 1000, coldFiles: 20 },
}

/** Serving speed, beside other servers on the same core in the same rounds. */
export const serving: Measurement = {
  name: 'serving',
  means: 'responses a second on one core beside nginx, Caddy, sirv and serve-handler; cold files; memory',
  missing: whatIsMissing,
  async run(options: RunOptions) {
    await using scratch = await scratchFolder()
    if (options.profile) return await profile(scratch.path)
    const { lengths, scale } = options.quick ? QUICK : WHOLE
    await using stage = await setStage(scratch.path, scale)
    const scripts = join(scratch.path, 'scripts')
    mkdirSync(scripts)
    const added: number[] = []
    const results = await runRounds({
      works: [...siteWorks(stage.files), ...manySitesWorks(stage.sites)].map((work) =>
        byWrk(work, { folder: scripts, core: WRK_CORE }),
      ),
      servers: stage.servers,
      lengths,
      watch: (work, { name }) =>
        work.id === 'video' && name === 'ours'
          ? new MemoryWatch(stage.service.pid, (megabytes) => added.push(megabytes))
          : undefined,
    })
    const capacity = { data: stage.data, sites: stage.sites, folder: scripts, lengths }
    return report(lengths, results, [
      ...workLines(results),
      ...memoryLine(added),
      ...(await coldLines(stage)),
      ...(await manySitesMemory(capacity)),
      ...(await twoWorkers(capacity)),
    ])
  },
}

export function whatIsMissing(): string | undefined {
  const missing = ['nginx', 'caddy', 'wrk', 'taskset'].filter((name) => !program(name))
  if (missing.length === 0) return undefined
  return `the comparison with other servers needs ${missing.join(', ')}: sudo apt-get install --no-install-recommends nginx-light caddy wrk util-linux`
}

function memoryLine(rounds: readonly number[]): Line[] {
  const what = 'memory added while 64 connections fetch 10 MB files'
  return rounds.length === 0 ? [] : [{ what, unit: 'MB', rounds, max: 60 }]
}

async function coldLines({ servers, coldPaths }: Stage): Promise<Line[]> {
  if (!canDropCaches()) {
    console.error('Cold files are left out: only root can take files out of the memory of the system.')
    return []
  }
  const [ours, nginx] = await coldFirstBytes([servers.get('ours')!, servers.get('nginx')!], coldPaths)
  const later = ours!.map((milliseconds, index) => milliseconds - nginx![index]!)
  return [
    { what: 'first byte of a file never read before', unit: 'ms', rounds: ours! },
    { what: 'the same from nginx', unit: 'ms', rounds: nginx! },
    { what: 'delay of ours compared with nginx', unit: 'ms', rounds: later, max: 0.2 },
  ]
}

function report({ rounds, seconds }: RunLengths, results: readonly Result[], lines: readonly Line[]): Report {
  const why = failures(results)
  const parts = [
    `Thousands of responses per second, median of ${rounds} round${rounds === 1 ? '' : 's'} of ${seconds} s (slowest–fastest):`,
    worksTable(results),
    ...(why.length > 0 ? [why.join('\n')] : []),
    ...circumstances(results),
    `![Bars: speed of each server relative to nginx, by workload](${CHART.replace('docs/', '')})`,
    lineTable(lines),
  ]
  const works = results.map(({ work: { id, name, reach }, runs, failed }) => ({
    id,
    name,
    reach,
    runs: Object.fromEntries(runs),
    failed: Object.fromEntries(failed),
  }))
  const pages = {
    [CHART]: chart(results),
    [SHORT_CHART]: chart(results.filter(({ work }) => SHORT_CHART_WORKS.includes(work.id))),
  }
  return { markdown: parts.join('\n\n'), data: { works, lines }, pages }
}
