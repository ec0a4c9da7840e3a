import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeaderRules } from '../../server/site-rules/match/header-rules.ts'
import { RedirectMatcher } from '../../server/site-rules/match/redirect-matcher.ts'
import type { SiteRules } from '../../server/site-rules/site-rules.ts'
import { parseRules } from '../support/parse-rules.ts'

test('a version without rules stores none', () => {
  const nothing = { rules: null, warnings: [] }
  assert.deepEqual(parseRules({ redirects: undefined, headers: undefined }), nothing)
  assert.deepEqual(parseRules({ redirects: '', headers: '# nothing yet\n' }), nothing)
})

test('rules survive serialization to JSON', () => {
  const redirects = '/a/* /b/:splat\nhttps://x.example/c id=:id /d/:id 302!\n/* /index.html 200'
  const headers = '/*\n  X: :splat\n  ! Server\nhttps://:name.example/a\n  Y: :name'
  const { rules } = parseRules({ redirects, headers })
  const read = JSON.parse(JSON.stringify(rules)) as SiteRules
  assert.deepEqual(read, rules)
  const asked = { path: '/c', query: '?id=5', host: 'x.example' }
  assert.equal(new RedirectMatcher(read.redirects).match(asked)?.to, '/d/5')
  const kept = { kept: new Set<string>() }
  assert.deepEqual(new HeaderRules(read.headers).apply('/a', 'x.example', ['server', 's'], kept), [
    'X',
    'a',
    'Y',
    'x',
  ])
})
