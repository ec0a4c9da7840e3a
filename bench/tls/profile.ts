import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from '../figures.ts'
import { hottest } from '../serving/profile.ts'
import type { Driven } from '../serving/rounds.ts'
import type { SecureServer, Stage } from './stage.ts'

const SECONDS = 8

/** A CPU profile for each workload: the functions with the most self time. */
export async function profile(folder: string, stage: Stage, works: readonly Driven[]): Promise<Report> {
  const parts: string[] = []
  const data: Record<string, unknown> = {}
  for (const work of works) {
    const profiles = join(folder, `profile-${work.id}`)
    mkdirSync(profiles)
    const perSecond = await load(stage, work, profiles)
    const { rows, table } = hottest(profiles)
    parts.push(`${work.name}, ${SECONDS} s under the profiler: ${perSecond.toFixed(0)} a second.`, table)
    data[work.id] = { perSecond, rows }
  }
  return { markdown: parts.join('\n\n'), data, pages: {} }
}

/** Node writes the profile when the service has exited. */
async function load(stage: Stage, work: Driven, profiles: string): Promise<number> {
  const environment = { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles} --cpu-prof-interval=250` }
  await using service = await stage.another(environment)
  const { pid, securePort: port } = service
  const ours = stage.servers.get('ours')!
  const server: SecureServer = {
    ...ours,
    pid,
    port,
    sitesPort: port,
    resumingPort: port,
    host: `${ours.secureName}:${port}`,
  }
  const run = await (await work.ready(server))(SECONDS)
  return run?.perSecond ?? 0
}
