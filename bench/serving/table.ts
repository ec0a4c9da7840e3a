import { median } from '../figures.ts'
import { type Line, markdown, shown, yes } from './figures.ts'
import type { Result } from './rounds.ts'
import { SERVERS, type ServerName } from './server.ts'

/** Thousand responses a second of every server, and how near ours comes to nginx. */
export function worksTable(results: readonly Result[]): string {
  const head = ['work', ...SERVERS, 'ours to nginx', 'wanted', 'met']
  return markdown(
    head,
    results.map((result) => [
      result.work.name,
      ...SERVERS.map((name) => cell(result, name)),
      ...comparison(result),
    ]),
  )
}

/** In the same rounds, round by round: what slows the machine down slows both. */
export function ratios({ runs }: Result, one: ServerName, other: ServerName): number[] {
  const others = runs.get(other)
  const ours = runs.get(one)
  if (!ours || !others) return []
  return ours.map(({ perSecond }, round) => perSecond / others[round]!.perSecond)
}

/** What the works tell beside the table. */
export function workLines(results: readonly Result[]): Line[] {
  const of = (id: string) => results.find(({ work }) => work.id === id)!
  const caddy = results.flatMap((result) => {
    const least = result.work.reach?.caddy
    return least === undefined
      ? []
      : [{ what: `${result.work.name}: ours to Caddy`, rounds: ratios(result, 'ours', 'Caddy'), least }]
  })
  const spread = (name: ServerName) => {
    const [one, many] = [of('one-site').runs.get(name), of('zipf').runs.get(name)]
    return one && many ? many.map(({ perSecond }, round) => perSecond / one[round]!.perSecond) : []
  }
  const lines: Omit<Line, 'unit'>[] = [
    ...caddy,
    { what: 'many sites to one site: ours', rounds: spread('ours'), least: 0.85 },
    { what: 'many sites to one site: nginx', rounds: spread('nginx') },
  ]
  return lines.filter(({ rounds }) => rounds.length > 0).map((line) => ({ ...line, unit: 'times' as const }))
}

/** Why cells are empty that should not be. */
export function failures(results: readonly Result[]): string[] {
  return results.flatMap(({ work, failed }) =>
    [...failed].map(([name, reason]) => `- ${work.name}, ${name}: not measured, since ${reason}.`),
  )
}

export function thousands({ runs }: Result, name: ServerName): number[] | undefined {
  return runs.get(name)?.map(({ perSecond }) => perSecond / 1000)
}

function cell(result: Result, name: ServerName): string {
  const values = thousands(result, name)
  if (values) {
    const middle = shown(median(values))
    return values.length === 1
      ? middle
      : `${middle} (${shown(Math.min(...values))}–${shown(Math.max(...values))})`
  }
  return result.failed.has(name) ? 'failed' : ''
}

function comparison(result: Result): string[] {
  const wanted = result.work.reach?.nginx
  const found = ratios(result, 'ours', 'nginx')
  const middle = found.length > 0 ? median(found) : undefined
  return [
    middle === undefined ? '' : shown(middle),
    wanted === undefined ? '' : shown(wanted),
    wanted === undefined ? '' : yes(middle !== undefined && middle >= wanted),
  ]
}
