import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { RedirectMatcher } from '../../server/site-rules/match/redirect-matcher.ts'
import { parseRedirects } from '../support/parse-rules.ts'

interface Case {
  title: string
  host?: string
  rules: string[]
  asked: [asked: string | [host: string, target: string], got: string | null][]
}

const { cases } = JSON.parse(
  readFileSync(new URL('../cases/redirects-match.json', import.meta.url), 'utf8'),
) as { cases: Case[] }

for (const { title, host = 'site.example', rules, asked } of cases) {
  test(`redirects ${title}`, () => {
    const parsed = parseRedirects(rules.join('\n'))
    assert.deepEqual(parsed.warnings, [])
    const redirects = new RedirectMatcher(parsed.rules)
    for (const [from, got] of asked) {
      const [name, target] = typeof from === 'string' ? [host, from] : from
      assert.equal(answer(redirects, name, target), got, name + target)
    }
  })
}

function answer(redirects: RedirectMatcher, host: string, target: string): string | null {
  const at = target.indexOf('?')
  const [path, query] = at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at)]
  const redirected = redirects.match({ path, query, host })
  if (!redirected) return null
  assert.equal(redirected.external, /^https?:/.test(redirected.to))
  return `${redirected.status} ${redirected.to}`
}

test('a long path is decoded once, however many rules lead back to it in other spellings', ({ mock }) => {
  const decoded = (rules: number): number => {
    const lines = Array.from({ length: rules }, (_, n) => {
      const name = [...'aaaaaaa'].map((letter, bit) => ((n >> bit) & 1 ? '%61' : letter)).join('')
      return `/aaaaaaa/* /${name}/:splat?q=1`
    })
    const redirects = new RedirectMatcher(parseRedirects(lines.join('\n')).rules)
    const { mock: counted } = mock.method(globalThis, 'decodeURIComponent')
    assert.equal(answer(redirects, 'site.example', `/aaaaaaa/${'/%2f'.repeat(1900)}?q=1`), null)
    counted.restore()
    return counted.callCount()
  }
  assert.equal(decoded(100), decoded(1))
})

test('the order of the file decides among 2,100 rules', () => {
  const lines = Array.from({ length: 100 }, (_, index) => [
    ...Array.from({ length: 20 }, (_, other) => `/${index}/${other} /fixed/${index}`),
    `/${index}/* /varying/${index}`,
    `/${index}/late /never`,
  ])
  const { rules } = parseRedirects(
    lines
      .flat()
      .filter((line) => !line.endsWith('never'))
      .join('\n'),
  )
  assert.equal(rules.length, 2100)
  const redirects = new RedirectMatcher(rules)
  for (let index = 0; index < 100; index++) {
    assert.equal(answer(redirects, '', `/${index}/7`), `301 /fixed/${index}`)
    assert.equal(answer(redirects, '', `/${index}/late`), `301 /varying/${index}`)
  }
})

test('of a query, the first hundred parameters count, and of a name the first', () => {
  const redirects = new RedirectMatcher(parseRedirects('/a id=:id /b/:id').rules)
  const others = (count: number) => 'x=%FF&'.repeat(count)
  assert.equal(answer(redirects, '', `/a?${others(98)}id=1&id=2`), '301 /b/1')
  assert.equal(answer(redirects, '', `/a?${others(100)}id=1`), null)
})

test('a rule does not match when its target would be longer than 8,192 characters', () => {
  const { rules } = parseRedirects(`/* /x${'/:splat'.repeat(20)} 302`)
  const redirects = new RedirectMatcher(rules)
  const location = (length: number) => answer(redirects, '', `/${'a'.repeat(length)}`)
  assert.equal(location(400)!.length, '302 /x'.length + 20 * 401)
  assert.equal(location(410), null)
})
