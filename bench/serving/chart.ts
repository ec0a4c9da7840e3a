import { median } from '../figures.ts'
import { formatFigures } from './figures.ts'
import type { Result } from './rounds.ts'
import { SERVERS, type ServerName } from './server.ts'
import { judgedSpeed } from './table.ts'

const WIDTH = 860
const LEFT = 120
const BARS = 560
const BAR = 15
const TITLE = 26
const TOP = 44
const GAP = 12

/** A bar per server and workload relative to nginx's speed; thin lines span the slowest and fastest round. */
export function chart(results: readonly Result[], what = 'Responses per second on one core'): string {
  const drawn = results.filter(({ runs }) => runs.has('nginx'))
  const longest = Math.max(1.1, ...drawn.flatMap((result) => SERVERS.flatMap((name) => ends(result, name))))
  const groups: string[] = []
  let y = TOP
  for (const result of drawn) {
    groups.push(...group(result, y, BARS / longest))
    y += toHeight(result)
  }
  const one = LEFT + BARS / longest
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img" aria-labelledby="title">
<title id="title">${what}, relative to nginx</title>
<style>${STYLE}</style>
<text x="0" y="18" class="head">${what}, relative to nginx (1.0) in the same rounds</text>
<line x1="${at(one)}" x2="${at(one)}" y1="${TOP - 12}" y2="${y - GAP}" class="one"/>
${groups.join('\n')}
</svg>
`
}

/** Colors for light and dark pages; an image follows the reader's preference, not the page. */
const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #1f2733; }
.head { font-size: 15px; font-weight: 600; }
.work { font-weight: 600; }
.name, .value { fill: #556070; }
.bar { fill: #a9b4c2; }
.nginx { fill: #6b7889; }
.ours { fill: #0b7285; }
.spread { stroke: #1f2733; stroke-width: 1.5; }
.one { stroke: #6b7889; stroke-dasharray: 3 4; stroke-opacity: 0.6; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6eaf0; }
  .name, .value { fill: #9aa7b8; }
  .bar { fill: #4a5666; }
  .nginx { fill: #7f8da0; }
  .ours { fill: #3bc9db; }
  .spread { stroke: #e6eaf0; }
  .one { stroke: #7f8da0; }
}`

function group(result: Result, top: number, scale: number): string[] {
  const lines = [`<text x="0" y="${top + 14}" class="work">${escaped(result.work.name)}</text>`]
  for (const [index, name] of toLabel(result).entries()) {
    const [slowest, fastest] = ends(result, name) as [number, number]
    const values = speeds(result, name)!
    const y = top + TITLE + index * (BAR + 4)
    const end = LEFT + relative(result, median(values)) * scale
    const [from, to] = [LEFT + slowest * scale, LEFT + fastest * scale]
    const middle = y + BAR / 2
    lines.push(
      `<text x="${LEFT - 8}" y="${y + 12}" text-anchor="end" class="name">${name === 'ours' ? 'Slipway' : name}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${at(end - LEFT)}" height="${BAR}" rx="2" class="bar ${name}"/>`,
      `<line x1="${at(from)}" x2="${at(to)}" y1="${middle}" y2="${middle}" class="spread"/>`,
      `<text x="${at(Math.max(end, to) + 8)}" y="${y + 12}" class="value">${formatFigures(median(values))} ${result.work.byCpuTime ? 'thousand in a second of CPU time' : 'thousand/s'}</text>`,
    )
  }
  return lines
}

function toHeight(result: Result): number {
  return TITLE + toLabel(result).length * (BAR + 4) + GAP
}

function toLabel({ runs }: Result): ServerName[] {
  return SERVERS.filter((name) => runs.has(name))
}

function ends(result: Result, name: ServerName): number[] {
  const values = speeds(result, name)
  return values ? [relative(result, Math.min(...values)), relative(result, Math.max(...values))] : []
}

function relative(result: Result, value: number): number {
  return value / median(speeds(result, 'nginx')!)
}

/** Thousands, by the unit in which the workload is judged. */
function speeds(result: Result, name: ServerName): number[] | undefined {
  const speed = judgedSpeed(result)
  return result.runs.get(name)?.map((run) => speed(run) / 1000)
}

function at(position: number): string {
  return position.toFixed(1)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('`', '')
}
