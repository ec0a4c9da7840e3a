import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { HeaderRules } from '../../server/site-rules/match/header-rules.ts'
import { MAX_HEADER_BYTES } from '../../server/site-rules/parse/header-rule.ts'
import { parseHeaders } from '../support/parse-rules.ts'

interface Case {
  title: string
  host?: string
  kept?: string[]
  rules: string[]
  lines?: string[]
  asked: [asked: string | [host: string, path: string], got: string[] | null][]
}

const { cases } = JSON.parse(
  readFileSync(new URL('../cases/header-lines.json', import.meta.url), 'utf8'),
) as { cases: Case[] }

for (const { title, host = 'site.example', kept = [], rules, lines = [], asked } of cases) {
  test(`headers ${title}`, () => {
    const parsed = parseHeaders(rules.join('\n'))
    assert.deepEqual(parsed.warnings, [])
    const headers = new HeaderRules(parsed.rules)
    const before = lines.flatMap((line) => line.split(/: (.*)/, 2))
    const unchanged = [...before]
    for (const [from, got] of asked) {
      const [name, path] = typeof from === 'string' ? [host, from] : from
      const after = headers.apply(path, name, before, { kept: new Set(kept) })
      assert.deepEqual(before, unchanged)
      if (got === null) assert.equal(after, before, name + path)
      else assert.deepEqual(pairs(after), got, name + path)
    }
  })
}

function pairs(lines: readonly string[]): string[] {
  return lines.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${lines[at + 1]}`] : []))
}

test('values from the URL use only the remaining header space, and displace no other header', () => {
  const text = `/*\n${'  X: :splat\n  Y: :splat\n'.repeat(300)}/a*\n  Z: ${'last '.repeat(100)}`
  const { rules, warnings } = parseHeaders(text)
  assert.deepEqual(warnings, [])
  const headers = new HeaderRules(rules)
  for (let length = 1; length <= 20_000; length += 50) {
    const lines = headers.apply(`/a${'b'.repeat(length)}`, '', [], { kept: new Set() })
    assert.ok(lines.join('').length <= MAX_HEADER_BYTES, `${length}`)
    assert.ok(lines.includes('Z'), `${length}`)
  }
})

test('stored headers that are no longer allowed, for proxies or for cookies of other sites, are dropped', () => {
  const set: [string, string][] = [
    ['X-Accel-Redirect', '/secret'],
    ['Alt-Svc', 'h2="elsewhere.example:443"'],
    ['Clear-Site-Data', '"cookies"'],
    ['Clear-Site-Data', '"cache"'],
    ['X-A', 'b'],
  ]
  const headers = new HeaderRules([{ line: 1, path: '/a', set, remove: [] }])
  const lines = headers.apply('/a', '', [], { kept: new Set() })
  assert.deepEqual(lines, ['Clear-Site-Data', '"cache"', 'X-A', 'b'])
})
