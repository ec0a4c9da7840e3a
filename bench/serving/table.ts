import { median } from '../figures.ts'
import { formatFigures, type Line, markdown } from './figures.ts'
import type { Result } from './rounds.ts'
import { SERVERS, type ServerName } from './server.ts'
import type { Run } from './wrk.ts'

/** Of a core; below it the server was not the bottleneck. */
const FULL = 0.9

/** Thousands of responses per second of every server, and the ratio to nginx. */
export function worksTable(results: readonly Result[], servers: readonly ServerName[] = SERVERS): string {
  const head = ['work', ...servers, 'ours to nginx', 'by CPU time']
  return markdown(
    head,
    results.map((result) => [
      result.work.name,
      ...servers.map((name) => cell(result, name)),
      ...comparison(result),
    ]),
  )
}

/** Round by round: interference slows both. */
export function ratios(
  { runs }: Result,
  one: ServerName,
  other: ServerName,
  speed: (run: Run) => number = ({ perSecond }) => perSecond,
): number[] {
  const others = runs.get(other)
  const ours = runs.get(one)
  if (!ours || !others) return []
  return ours.map((run, round) => speed(run) / speed(others[round]!))
}

/** Responses per CPU second: nearly the same on a busy machine as on an idle one. */
export function perCpuSecond({ perSecond, cores }: Run): number {
  return perSecond / cores
}

/** Figures beside the table. */
export function workLines(results: readonly Result[]): Line[] {
  const of = (id: string) => results.find(({ work }) => work.id === id)!
  const spread = (name: ServerName) => {
    const [one, many] = [of('one-site').runs.get(name), of('zipf').runs.get(name)]
    return one && many ? many.map(({ perSecond }, round) => perSecond / one[round]!.perSecond) : []
  }
  const lines: Omit<Line, 'unit'>[] = [
    { what: 'many sites to one site: ours', rounds: spread('ours'), min: 0.85 },
    { what: 'many sites to one site: nginx', rounds: spread('nginx') },
  ]
  const measured = lines.filter(({ rounds }) => rounds.length > 0)
  return [...peerLines(results), ...measured.map((line) => ({ ...line, unit: 'times' as const }))]
}

/** The ratios to nginx and Caddy with a target, by the clock, where it shows the capacity, and by CPU time. */
export function peerLines(results: readonly Result[]): Line[] {
  return results.flatMap((result) => [
    ...(result.work.byCpuTime ? [] : peerLine(result, 'nginx', 'clock')),
    ...peerLine(result, 'nginx', 'CPU time'),
    ...peerLine(result, 'Caddy', result.work.byCpuTime ? 'CPU time' : 'clock'),
  ])
}

function peerLine(result: Result, peer: 'nginx' | 'Caddy', by: 'clock' | 'CPU time'): Line[] {
  const { name, reach } = result.work
  const min = peer === 'nginx' ? reach?.nginx : reach?.caddy
  const rounds = ratios(result, 'ours', peer, by === 'clock' ? ({ perSecond }) => perSecond : perCpuSecond)
  if (min === undefined || rounds.length === 0) return []
  return [
    { what: `${name}: ours to ${peer}, by ${by === 'clock' ? 'the clock' : by}`, unit: 'times', rounds, min },
  ]
}

/** How reliable the figures are: a busy machine or a saturated wrk distorts them. */
export function circumstances(results: readonly Result[]): string[] {
  return [...quietness(results), ...notBusy(results)]
}

/** The server was not saturated there: wrk was, or other work took the core. */
function notBusy(results: readonly Result[]): string[] {
  const byClock = results.filter(({ work }) => !work.byCpuTime)
  const cells = byClock.flatMap(({ work, runs }) =>
    [...runs].flatMap(([name, rounds]) => {
      const cores = median(rounds.map((run) => run.cores))
      return cores < FULL ? [`${work.name}, ${name} (${formatFigures(cores)})`] : []
    }),
  )
  if (cells.length === 0) return []
  return [
    `Less than ${FULL} of the core was used, so that the throughput does not show the capacity, in: ${cells.join('; ')}.`,
  ]
}

function quietness(results: readonly Result[]): string[] {
  const runs = results.flatMap((result) => [...result.runs.values()].flat())
  const shares = runs.flatMap(({ waiting }) => waiting ?? []).map((share) => share * 100)
  if (shares.length === 0) return []
  return [
    `In the median run, a program waited for a core for ${formatFigures(median(shares))} % of the time (${formatFigures(Math.min(...shares))} to ${formatFigures(Math.max(...shares))} % in all runs). Higher values mean that the machine was busier with other work.`,
  ]
}

/** Why cells are empty. */
export function failures(results: readonly Result[]): string[] {
  return results.flatMap(({ work, failed }) =>
    [...failed].map(([name, reason]) => `- ${work.name}, ${name}: not measured: ${reason}.`),
  )
}

function thousands({ runs }: Result, name: ServerName): number[] | undefined {
  return runs.get(name)?.map(({ perSecond }) => perSecond / 1000)
}

function cell(result: Result, name: ServerName): string {
  const values = thousands(result, name)
  if (values) {
    const middle = formatFigures(median(values))
    return values.length === 1
      ? middle
      : `${middle} (${formatFigures(Math.min(...values))}–${formatFigures(Math.max(...values))})`
  }
  return result.failed.has(name) ? 'failed' : ''
}

function comparison(result: Result): string[] {
  return [ratios(result, 'ours', 'nginx'), ratios(result, 'ours', 'nginx', perCpuSecond)].map((found) =>
    found.length > 0 ? formatFigures(median(found)) : '',
  )
}

/** By wall clock or by the server's CPU time, as the workload is judged. */
export function judgedSpeed({ work }: Result): (run: Run) => number {
  return work.byCpuTime ? perCpuSecond : ({ perSecond }) => perSecond
}
