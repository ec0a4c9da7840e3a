import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { besidePublishers } from './beside-publishers.ts'
import { comparing } from './compare.ts'
import { dashboard } from './dashboard/dashboard.ts'
import { review } from './dashboard/review.ts'
import { earlier } from './earlier.ts'
import { type Figure, type Report, table } from './figures.ts'
import { costs } from './fleet/costs.ts'
import { engines } from './fleet/engines.ts'
import { large } from './fleet/large.ts'
import { quotas } from './fleet/quotas.ts'
import { s3 } from './fleet/s3.ts'
import { shared } from './fleet/shared.ts'
import { spread } from './fleet/spread.ts'
import { wal } from './fleet/wal.ts'
import { flood } from './flood.ts'
import { growth } from './growth.ts'
import { largeEmbedded } from './large-embedded.ts'
import { memory } from './memory.ts'
import { oneFile } from './one-file.ts'
import { overloadAccount } from './overload-account.ts'
import { overloadPublishes } from './overload-publishes.ts'
import { markersOf, PERFORMANCE_PAGE, replaceBlock, summary } from './page.ts'
import { programs } from './programs.ts'
import { publishing } from './publish.ts'
import { reports } from './reports.ts'
import { scannedPublishes } from './scanned-publishes.ts'
import { secrets } from './secrets.ts'
import { ROOT } from './server-process.ts'
import { overload } from './serving/overload.ts'
import { serving } from './serving/serving.ts'
import { metrics, visits } from './serving/visits.ts'
import { slowFlush } from './slow-flush.ts'
import { soak } from './soak.ts'
import { tls } from './tls/tls.ts'
import { watching } from './watch.ts'

const MEASUREMENTS = [
  publishing,
  oneFile,
  comparing,
  earlier,
  secrets,
  scannedPublishes,
  watching,
  programs,
  memory,
  growth,
  flood,
  reports,
  slowFlush,
  besidePublishers,
  overloadPublishes,
  overloadAccount,
  soak,
  serving,
  overload,
  tls,
  visits,
  metrics,
  dashboard,
  review,
  s3,
  engines,
  large,
  largeEmbedded,
  costs,
  wal,
  shared,
  quotas,
  spread,
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string' },
    write: { type: 'boolean' },
    quick: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  },
})

const chosen =
  positionals.length === 0
    ? MEASUREMENTS.filter(({ onRequest }) => !onRequest)
    : MEASUREMENTS.filter(({ name }) => positionals.includes(name))
if (chosen.length === 0) {
  const names = MEASUREMENTS.map((one) => one.name).join('|')
  console.error(`npm run bench -- [${names}] [--quick] [--profile] [--json FILE] [--write]`)
  process.exit(2)
}
const missing = [
  ...chosen.flatMap((one) => one.missing?.() ?? []),
  ...(values.write ? chosen.flatMap(findMissingMarkers) : []),
]
if (missing.length > 0) {
  console.error(missing.join('\n'))
  process.exit(2)
}

const results: { name: string; means: string; report: Report }[] = []
for (const { name, means, run } of chosen) {
  console.log(`\n${name}: ${means}\n`)
  const { quick, profile } = values
  const found = await run({ quick, profile })
  const report = Array.isArray(found) ? inTable(found) : found
  console.log(report.markdown)
  results.push({ name, means, report })
}
if (values.json) {
  const all = results.map(({ name, means, report }) => ({ name, means, ...report.data }))
  writeFileSync(values.json, `${JSON.stringify(all, null, 2)}\n`)
}
if (values.write && !values.profile) writePages(results)

function inTable(figures: Figure[]): Report {
  return { markdown: table(figures), data: { figures }, pages: {} }
}

function findMissingMarkers({ name }: { name: string }): string[] {
  const text = readFileSync(PERFORMANCE_PAGE, 'utf8')
  const missing = markersOf(name).filter((marker) => !text.includes(marker))
  return missing.map((marker) => `docs/performance.md has no ${marker} for the report of ${name}`)
}

/** Inserts each report between its markers in docs/performance.md, and writes additional files. */
function writePages(all: typeof results): void {
  let text = readFileSync(PERFORMANCE_PAGE, 'utf8')
  for (const { name, report } of all) {
    text = replaceBlock(text, name, `${machine()}\n\n${report.markdown}`)
    for (const [path, content] of Object.entries(report.pages)) writeFileSync(join(ROOT, path), content)
  }
  writeFileSync(PERFORMANCE_PAGE, replaceBlock(text, 'summary', summary(text)))
}

function machine(): string {
  const [cpu] = cpus()
  const day = new Date().toISOString().slice(0, 10)
  return `\`npm run bench\`${values.quick ? ' with `--quick`' : ''} on ${day}: ${cpus().length} cores (${cpu!.model.trim()}), Node ${process.versions.node}.`
}
