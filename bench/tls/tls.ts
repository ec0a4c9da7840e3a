import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../../scripts/program.mjs'
import type { Measurement, Report, RunOptions } from '../figures.ts'
import { scratchFolder } from '../server-process.ts'
import { chart } from '../serving/chart.ts'
import { type Line, lineTable } from '../serving/figures.ts'
import { type Result, type RunLengths, runRounds } from '../serving/rounds.ts'
import { WRK_CORE } from '../serving/server.ts'
import { circumstances, failures, peerLines, worksTable } from '../serving/table.ts'
import { manyNames } from './names.ts'
import { profile } from './profile.ts'
import { type Stage, setStage } from './stage.ts'
import { secureWorks } from './works.ts'

const CHART = 'docs/https.svg'

interface Plan {
  lengths: RunLengths
  /** Certificates in the store. */
  names: number
}

const WHOLE: Plan = { lengths: { rounds: 5, seconds: 3, warmUp: 1 }, names: 10_000 }

/** For trial runs: one round is no measurement. */
const QUICK: Plan = { lengths: { rounds: 1, seconds: 2, warmUp: 1 }, names: 1000 }

/** Serving speed over TLS, beside nginx and Caddy on the same core in the same rounds. */
export const tls: Measurement = {
  name: 'tls',
  means: 'responses and handshakes a second over TLS on one core beside nginx and Caddy; many certificates',
  missing: whatIsMissing,
  async run({ quick, profile: profiled }: RunOptions) {
    await using scratch = await scratchFolder()
    const { lengths, names } = quick ? QUICK : WHOLE
    await using stage = await setStage(scratch.path, names)
    const folder = join(scratch.path, 'scripts')
    mkdirSync(folder)
    const works = secureWorks({ page: stage.page, folder, core: WRK_CORE })
    if (profiled) return await profile(scratch.path, stage, works)
    const many = await namesLines(stage)
    const results = await runRounds({ works, servers: stage.servers, lengths })
    return report(lengths, results, [...peerLines(results), ...many])
  },
}

function whatIsMissing(): string | undefined {
  const missing = ['nginx', 'caddy', 'wrk', 'h2load', 'taskset'].filter((name) => !program(name))
  if (missing.length === 0) return undefined
  return `tls needs ${missing.join(', ')}: sudo apt-get install --no-install-recommends nginx-light caddy wrk nghttp2-client util-linux`
}

async function namesLines(stage: Stage): Promise<Line[]> {
  await using service = await stage.another()
  return await manyNames(service, stage.names)
}

function report({ rounds, seconds }: RunLengths, results: readonly Result[], lines: readonly Line[]): Report {
  const why = failures(results)
  const parts = [
    `Thousands of responses or handshakes per second, median of ${rounds} round${rounds === 1 ? '' : 's'} of ${seconds} s (slowest–fastest):`,
    worksTable(results, ['ours', 'nginx', 'Caddy']),
    ...(why.length > 0 ? [why.join('\n')] : []),
    ...circumstances(results),
    `![Bars: speed of each server relative to nginx, by workload](${CHART.replace('docs/', '')})`,
    lineTable(lines),
  ]
  const works = results.map(({ work: { id, name, reach, byCpuTime }, runs, failed }) => ({
    id,
    name,
    reach,
    byCpuTime,
    runs: Object.fromEntries(runs),
    failed: Object.fromEntries(failed),
  }))
  const drawn = chart(results, 'Responses or handshakes over TLS on one core')
  return { markdown: parts.join('\n\n'), data: { works, lines }, pages: { [CHART]: drawn } }
}
