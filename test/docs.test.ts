import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { COMMANDS } from '../client/cli/command-line.ts'
import { describeSettings } from '../server/config/settings.ts'
import { sweeps } from '../server/jobs/jobs.ts'
import { parseRules } from '../server/site-rules/site-rules.ts'

const run = readFileSync(new URL('../docs/run.md', import.meta.url), 'utf8')
const domains = readFileSync(new URL('../docs/domains.md', import.meta.url), 'utf8')
const publish = readFileSync(new URL('../docs/publish.md', import.meta.url), 'utf8')

test('docs/run.md lists every setting with its default and description', () => {
  for (const { name, defaultValue, description } of describeSettings()) {
    const row = `| \`${name}\` | ${defaultValue ? `\`${defaultValue}\`` : '–'} | ${description} |`
    assert.ok(run.includes(row), `docs/run.md lacks the row: ${row}`)
  }
})

test('docs/run.md lists every sweep with its interval and description', () => {
  for (const { name, intervalSeconds, description } of sweeps) {
    const row = `| \`${name}\` | ${intervalSeconds} s | ${description} |`
    assert.ok(run.includes(row), `docs/run.md lacks the row: ${row}`)
  }
})

test('docs/domains.md names existing settings only', () => {
  const known = new Set(describeSettings().map(({ name }) => name))
  const named = new Set(domains.match(/SLIPWAY_[A-Z_]+[A-Z]/g))
  assert.ok(named.size > 10)
  for (const name of named) assert.ok(known.has(name), `${name} is no setting`)
})

test('docs/publish.md lists every command', () => {
  const rows = publish.split('\n').filter((line) => line.startsWith('| `slipway'))
  for (const name of Object.keys(COMMANDS)) {
    assert.ok(
      rows.some((row) => row.includes(`\`slipway ${name}`)),
      `docs/publish.md lacks slipway ${name}`,
    )
  }
})

test('the rules in docs/publish.md are valid', () => {
  const blocks = [...publish.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
  const [redirects, headers] = blocks.filter(([, language]) => language === '').map(([, , text]) => text)
  const { rules, warnings } = parseRules({ redirects, headers })
  assert.deepEqual(warnings, [])
  assert.deepEqual([rules?.redirects.length, rules?.headers.length], [7, 3])
})
