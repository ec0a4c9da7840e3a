import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IgnoreRules } from '../../protocol/ignore/ignore-rules.ts'
import { numbers } from '../support/random.ts'

/** A pattern as a regular expression: correct for short texts, and exponential in the number of stars. */
const MEANINGS: [token: string, expression: string][] = [
  ['**/', '(?:.*/)?'],
  ['*', '[^/]*'],
  ['?', '[^/]'],
  ['[ab]', '[ab]'],
  ['[!a]', '[^a/]'],
  ['\\*', '\\*'],
  ['a', 'a'],
  ['b', 'b'],
  ['B', 'B'],
  ['/', '/'],
  ['é', 'é'],
]
const CHARACTERS = ['a', 'b', 'B', '/', '*', 'é']

test(`a pattern matches the same as its regular expression`, (context) => {
  const below = numbers(context)
  let matched = 0
  for (let round = 0; round < 5000; round++) {
    const ignoreCase = below(2) === 0
    const tokens = Array.from({ length: 1 + below(6) }, () => MEANINGS[below(MEANINGS.length)]!)
    // Adjacent stars, a slash at the end and '**/' within a name have special meanings.
    const pattern = `/${tokens.map(([token]) => token).join('')}`
    if (tokens.some(([token], at) => token === '*' && tokens[at + 1]?.[0].startsWith('*'))) continue
    if (/\*\*\*|(?<!\\\*|\*\*)\*\*(?!\/)|[^/\\]\*\*\/|\/$/.test(pattern.slice(1)) || pattern.startsWith('//'))
      continue
    const expression = new RegExp(`^${tokens.map(([, part]) => part).join('')}$`, ignoreCase ? 'iu' : 'u')
    const path = Array.from({ length: 1 + below(7) }, () => CHARACTERS[below(CHARACTERS.length)]!).join('')
    const expected = expression.test(path)
    if (expected) matched++
    const rules = IgnoreRules.parse(pattern, { ignoreCase })
    assert.equal(rules.ignores(path, false), expected, JSON.stringify({ pattern, path, ignoreCase }))
  }
  assert.ok(matched > 100, `only ${matched} matched`)
})

// With backtracking none of these would terminate.
const path = `${'a'.repeat(2000)}/${'a/'.repeat(1000)}a`
const patterns: [title: string, pattern: string][] = [
  ['stars', `${'*a'.repeat(50)}*b`],
  ['stars in an anchored pattern', `/${'*a'.repeat(50)}*b`],
  ['folders', `${'**/a/'.repeat(50)}b`],
  ['folders alone', `${'**/'.repeat(500)}b`],
  ['question marks and stars', `${'*?'.repeat(200)}b`],
  ['open brackets', '['.repeat(100_000)],
  ['spaces within', `a${' '.repeat(100_000)}b`],
]
for (const [title, pattern] of patterns) {
  test(`matching takes time in proportion to the lengths of pattern and path ${title}`, () =>
    assert.equal(IgnoreRules.parse(pattern).ignores(path, false), false))
}
