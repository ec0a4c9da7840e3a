import { join } from 'node:path'
import { ROOT } from './server-process.ts'

export const PERFORMANCE_PAGE = join(ROOT, 'docs/performance.md')

/** Between which a page has the report of a measurement. */
export function markersOf(name: string): [from: string, to: string] {
  return [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
}

export function replaceBlock(page: string, name: string, content: string): string {
  const [start, end] = blockOf(page, name)
  return `${page.slice(0, start)}\n\n${content}\n\n${page.slice(end)}`
}

function blockOf(page: string, name: string): [start: number, end: number] {
  const [from, to] = markersOf(name)
  return [page.indexOf(from) + from.length, page.indexOf(to)]
}

/** A row of a table, as text. */
interface Cells {
  median: string
  target: string
  met: string
  rounds: string
}

const NOT_MEASURED: Cells = { median: 'not measured', target: '', met: '', rounds: '' }

/** The figures in the report of a measurement. */
function readFigures(page: string, name: string): Map<string, Cells> {
  const figures = new Map<string, Cells>()
  for (const line of page.slice(...blockOf(page, name)).split('\n')) {
    const [what, median, target, met, rounds] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim())
    if (rounds !== undefined) figures.set(what!, { median: median!, target: target!, met: met!, rounds })
  }
  return figures
}

type Row = [work: string, ...{ of: string; figures: readonly string[] }[]]

const oneFile = (...figures: string[]) => ({
  of: 'one-file',
  figures: [16, 64].flatMap((callers) => figures.map((name) => `${callers} callers: ${name}`)),
})

const toNginx = (of: string, ...works: string[]) => ({
  of,
  figures: works.map((work) => `${work}: ours to nginx, by CPU time`),
})

const relative = (of: string, base: string, other: string, ...figures: string[]) => ({
  of,
  figures: figures.map((what) => `${what}: ${other}, relative to ${base}`),
})

/** What the project wants to reach, by the figures of the measurements. */
const ROWS: readonly Row[] = [
  ['one-file publish, 16 and 64 callers: CPU, of the bare server', oneFile('CPU, of bare')],
  [
    'for 16, then 64 callers: one-file publishes a second, of the bare server; with two workers, of one, by the clock and by CPU time, times two',
    oneFile(
      'publishes, of bare',
      'publishes, two workers of one',
      'publishes per second of CPU time, times two, two workers of one',
    ),
  ],
  [
    'publish of 1,000 files of 10 kB, of writing and flushing each, and of appending them to one file that is flushed once',
    {
      of: 'publish',
      figures: ['the same, relative to the baseline', 'publish through the API, relative to that'],
    },
  ],
  [
    'CPU of the finalize of 1,000 new files and of an update of one in 1,000, of commit 4ed3342; the same by the clock',
    relative(
      'earlier',
      '4ed3342',
      'this tree',
      'CPU of the finalize of 1,000 new files',
      'CPU of an update of one file in 1,000',
      'finalize of 1,000 new files',
      'update of one file in 1,000',
    ),
  ],
  [
    'the command: CPU of an update of one in 1,000, of `node -e 0`; publish of 1,000, of the API',
    {
      of: 'publish',
      figures: ['update with the command, CPU, relative to `node -e 0`', 'the same, relative to the API'],
    },
  ],
  [
    '4 kB bare, browser, 100 kB, 304, 404: of nginx, by CPU time',
    toNginx(
      'serving',
      '4 kB, bare request',
      '4 kB, browser',
      '100 kB, bare request',
      '304, browser',
      '404, browser',
    ),
  ],
  ["10,000 sites by Zipf's law, of one site", { of: 'serving', figures: ['many sites to one site: ours'] }],
  [
    '10 MB, ranges of 1 MB: of nginx, by CPU time',
    toNginx('serving', '10 MB, bare request', 'random ranges of 1 MB of it'),
  ],
  [
    'HTTP/1.1 and HTTP/2 over TLS, handshakes full, resumed, resumed with TLS 1.2: of nginx, by CPU time',
    toNginx(
      'tls',
      '4 kB over HTTP/1.1, browser',
      '4 kB over HTTP/2, browser, 16 connections of 32 streams',
      'full handshakes, TLS 1.3',
      'resumed handshakes, TLS 1.3',
      'resumed handshakes, TLS 1.2',
    ),
  ],
  [
    'start to first 200, CPU, of the bare server; idle memory',
    { of: 'memory', figures: ['CPU of the start, relative to the bare server', 'idle memory'] },
  ],
  [
    '99th percentile of a visit while 16 publish, of the same without publishing',
    { of: 'beside-publishers', figures: ['the second, relative to the first'] },
  ],
  [
    'cold file, later than from nginx; a cold visit is one statement (`npm test -- edge/cache`)',
    { of: 'serving', figures: ['delay of ours compared with nginx'] },
  ],
  [
    '100,000 sites: create, finalize, list, cold visit, of 100 sites',
    relative(
      'large-embedded',
      '100 sites',
      '100000 sites',
      'stage 10 files',
      'finalize 10 files',
      'list the sites of their owner',
      'cold visit of a site',
    ),
  ],
  [
    'publish over PostgreSQL and S3, of bare PUTs; WAL of a publish in bundles, in single uploads and of an update, of commit 8512fd17',
    { of: 's3', figures: ['published, with PostgreSQL, over the program'] },
    relative(
      'wal',
      '8512fd17',
      'this tree',
      'publish of 1,000 files in bundles: WAL',
      'publish of 1,000 files in single uploads: WAL',
      'update of one file: WAL',
    ),
  ],
]

/** The table of all targets, from the reports of a page. */
export function summary(page: string): string {
  const lines = ROWS.map(([work, ...sources]) => {
    const cells = sources.flatMap(({ of, figures }) => {
      const found = readFigures(page, of)
      return figures.map((name) => found.get(name) ?? NOT_MEASURED)
    })
    const joined = (text: (cell: Cells) => string) => cells.map(text).join('<br>')
    const measured = joined(({ median, rounds }) => (rounds === '' ? median : `${median} (${rounds})`))
    const commands = sources.map(({ of }) => `\`${of}\``).join('<br>')
    return [work, joined(({ target }) => target), measured, joined(({ met }) => met), commands]
  })
  const head = ['work', 'target', 'median (rounds)', 'met', '`npm run bench --` …']
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
