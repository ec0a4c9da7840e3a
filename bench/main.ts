import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, table } from './figures.ts'
import { growth } from './growth.ts'
import { memory } from './memory.ts'
import { publishing } from './publish.ts'
import { ROOT } from './server-process.ts'

const MEASUREMENTS = [publishing, memory, growth]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, write: { type: 'boolean' } },
})

const chosen =
  positionals.length === 0 ? MEASUREMENTS : MEASUREMENTS.filter((one) => positionals.includes(one.name))
if (chosen.length === 0) {
  console.error(`npm run bench -- [${MEASUREMENTS.map((one) => one.name).join('|')}] [--json FILE] [--write]`)
  process.exit(2)
}

const results: { name: string; means: string; figures: Figure[] }[] = []
for (const { name, means, run } of chosen) {
  console.log(`\n${name}: ${means}\n`)
  const figures = await run()
  console.log(table(figures))
  results.push({ name, means, figures })
}
if (values.json) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`)
if (values.write) writePages(results)

/** Puts each table between its marks in docs/performance.md. */
function writePages(all: typeof results): void {
  const page = join(ROOT, 'docs/performance.md')
  let text = readFileSync(page, 'utf8')
  for (const { name, figures } of all) {
    const [from, to] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
    const before = text.slice(0, text.indexOf(from) + from.length)
    text = `${before}\n\n${machine()}\n\n${table(figures)}\n\n${text.slice(text.indexOf(to))}`
  }
  writeFileSync(page, text)
}

function machine(): string {
  const [cpu] = cpus()
  const day = new Date().toISOString().slice(0, 10)
  return `\`npm run bench\` on ${day}: ${cpus().length} cores (${cpu!.model.trim()}), Node ${process.versions.node}.`
}
