import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../../scripts/root.mjs'
import { CLIENTS } from './clients.ts'
import { GENERATED_CLIENTS } from './generated-client.ts'
import { installClient } from './install.ts'
import { type Outcome, runClient } from './run-client.ts'

// `npm run clients -- [name …]`: programs of others, from the registry, each from nothing to a site that an account owns.
// Installs them into a cache folder (`--cache FOLDER`), and writes the results of a whole run into docs/agents.md. Exits
// with 1 when one failed.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { cache: { type: 'string', default: join(process.env.HOME ?? '/tmp', '.cache/slipway-clients') } },
})

const TABLE_START = '`npm run clients`'

const rows: string[] = []
let hasFailed = false
for (const client of [...CLIENTS, ...GENERATED_CLIENTS]) {
  if (positionals.length > 0 && !positionals.some((part) => client.name.includes(part))) continue
  const outcome = await tryClient(client)
  hasFailed ||= outcome.failure !== undefined
  const result = outcome.failure === undefined ? 'passed' : `**failed**: ${outcome.failure}`
  const row = `| ${client.name} | ${client.packages[0]!.split('@').at(-1)} | ${client.signsIn} | ${client.calls} | ${result} |`
  process.stdout.write(`${row}\n`)
  rows.push(row)
}
if (positionals.length === 0) writeTable(rows)
process.exit(hasFailed ? 1 : 0)

async function tryClient(client: (typeof CLIENTS)[number]): Promise<Outcome> {
  try {
    return await runClient(client, await installClient(values.cache, client))
  } catch (error) {
    process.stderr.write(`${client.name}: ${(error as Error).stack}\n`)
    return { failure: (error as Error).message.split('\n')[0]!.slice(0, 120).replaceAll('|', '\\|') }
  }
}

/** Replaces the table in docs/agents.md, which ends its section. */
function writeTable(rows: readonly string[]): void {
  const page = join(root, 'docs/agents.md')
  const text = readFileSync(page, 'utf8')
  const start = text.indexOf(TABLE_START)
  if (start === -1) throw new Error(`${page} has no line that begins with ${TABLE_START}`)
  const next = text.indexOf('\n## ', start)
  const table = [
    `${TABLE_START} on ${new Date().toISOString().slice(0, 10)}:`,
    '',
    '| client | version | signs in | publishes | result |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ]
  writeFileSync(page, text.slice(0, start) + table.join('\n') + (next === -1 ? '' : text.slice(next)))
}
