import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { RedirectRule } from '../../server/site-rules/redirect-rule.ts'
import { parseRedirects } from '../support/parse-rules.ts'
import { pluck } from '../support/pluck.ts'

interface NetlifyRule {
  from: string
  path?: string
  host?: string
  to: string
  status?: number
  force?: boolean
  query?: Record<string, string>
}

interface NetlifyCase {
  id: string
  text: string
  invalid?: true
  rules?: NetlifyRule[]
}

const { cases } = JSON.parse(
  readFileSync(new URL('../cases/netlify-redirects-parse.json', import.meta.url), 'utf8'),
) as { cases: NetlifyCase[] }

test('a _redirects file is parsed as by Netlify', () => {
  for (const { id, text, invalid = false, rules: expected = [] } of cases) {
    const { rules, warnings } = parseRedirects(text)
    assert.equal(warnings.length > 0, invalid, id)
    assert.deepEqual(rules.map(asNetlify), expected.map(plain), id)
  }
})

function plain({ from, path = from, host, to, status = 301, force = false, query = {} }: NetlifyRule) {
  return { path, host, to, status, force, query }
}

function asNetlify({ from, host, to, status, force, query = [] }: RedirectRule) {
  return { path: from, host, to, status, force, query: Object.fromEntries(query) }
}

describe('a line of _redirects is a rule', () => {
  const rows: [line: string, rule: Partial<RedirectRule>][] = [
    ['/a /b', { from: '/a', to: '/b', status: 301, force: false }],
    ['/a\t/b\t302', { from: '/a', to: '/b', status: 302 }],
    ['  /a   /b   303  ', { status: 303 }],
    ['/a /b 307', { status: 307 }],
    ['/a /b 308!', { status: 308, force: true }],
    ['/a /b 200', { status: 200 }],
    ['/a /b 404', { status: 404 }],
    ['/a /b 301 # why', { to: '/b', status: 301 }],
    ['/a /b #why', { to: '/b' }],
    ['/a /b#part', { to: '/b#part' }],
    ['/a /b?x=1#part', { to: '/b?x=1#part' }],
    ['/a/* /b/:splat', { from: '/a/*', to: '/b/:splat' }],
    ['/a* /b:splat', { from: '/a*', to: '/b:splat' }],
    ['/* /index.html 200', { from: '/*', to: '/index.html', status: 200 }],
    ['/* / 200', { to: '/' }],
    ['/* /404.html 404', { status: 404 }],
    ['/* /:splat 200', { to: '/:splat' }],
    ['/admin/* 200!', { from: '/admin/*', to: '/admin/:splat', status: 200, force: true }],
    ['/:year/:month/* /archive/:month/:year/:splat', { from: '/:year/:month/*' }],
    ['/by/:name /people/:name.html', { to: '/people/:name.html' }],
    ['/a id=1 /b', { from: '/a', query: [['id', '1']], to: '/b' }],
    ['/a id=:id /b/:id', { query: [['id', ':id']], to: '/b/:id' }],
    [
      '/a id=:id tag=:tag /b/:tag/:id',
      {
        query: [
          ['id', ':id'],
          ['tag', ':tag'],
        ],
      },
    ],
    ['/a id= /b', { query: [['id', '']] }],
    ['/a q=a%20b /b', { query: [['q', 'a b']] }],
    ['/a q=a+b /b', { query: [['q', 'a b']] }],
    ['/a id=1 /a', { from: '/a', to: '/a' }],
    ['/a https://example.com/', { to: 'https://example.com/' }],
    ['/a HTTPS://EXAMPLE.com/Path', { to: 'https://example.com/Path' }],
    ['/a https://example.com:8443/x 302', { to: 'https://example.com:8443/x' }],
    ['/a https://example.com', { to: 'https://example.com/' }],
    ['/a https://bücher.example/', { to: 'https://xn--bcher-kva.example/' }],
    ['/a/* https://example.com/:splat?from=:splat', { to: 'https://example.com/:splat?from=:splat' }],
    ['https://Example.com/a /b', { host: 'example.com', from: '/a', to: '/b' }],
    ['http://example.com./a /b', { host: 'example.com' }],
    ['https://example.com /b', { host: 'example.com', from: '/', to: '/b' }],
    [
      'https://old.example/* https://new.example/:splat 301!',
      { host: 'old.example', from: '/*', force: true },
    ],
    ['https://bücher.example/a /b', { host: 'xn--bcher-kva.example' }],
    ['/café /x', { from: '/caf%C3%A9', to: '/x' }],
    ['/caf%C3%A9 /x', { from: '/caf%C3%A9' }],
    ['/x /café', { to: '/caf%C3%A9' }],
    ['/a%2Fb /x', { from: '/a%2Fb' }],
    ['/a%2Ab /x', { from: '/a%2Ab' }],
    ['/a"b<c> /x', { from: '/a%22b%3Cc%3E' }],
    ['/Talk:Home /wiki/Talk:Home', { from: '/Talk:Home', to: '/wiki/Talk:Home' }],
    ['/a /b/../c', { to: '/c' }],
    ['/a /b:c:d', { to: '/b:c:d' }],
    ['/a /.//b', { to: '/b' }],
    ['/a /..//b//c?d', { to: '/b//c?d' }],
    ['/a/ /b/', { from: '/a/', to: '/b/' }],
    ['//a /b', { from: '//a' }],
    ['/a /a/b', { to: '/a/b' }],
    ['/a /a?x=1', { to: '/a?x=1' }],
    ['/* /new/:splat', { to: '/new/:splat' }],
    ['/* /soon.html 302!', { to: '/soon.html', force: true }],
    ['https://a.example/x https://b.example/x', { to: 'https://b.example/x' }],
    ['/_slipways /b', { from: '/_slipways' }],
  ]
  test('with these parts', () => {
    for (const [line, rule] of rows) {
      const { rules, warnings } = parseRedirects(line)
      assert.deepEqual([warnings, rules.length], [[], 1], line)
      const found = Object.keys(rule).map((key) => [key, rules[0]![key as keyof RedirectRule]])
      assert.deepEqual(Object.fromEntries(found), rule, line)
    }
  })
})

describe('an invalid line of _redirects gets a warning with the reason', () => {
  /** Lines by reason, separated by `|`. */
  const rows: [why: RegExp, lines: string][] = [
    [/no target/, '/a|/a # /b'],
    [/invalid target 'b'/, '/a b'],
    [/invalid target '301'/, '/a 301'],
    [/invalid target '200'/, '/a 200'],
    [/invalid target '302'/, '/a/* 302'],
    [/^invalid target/, '/a mailto:me@example.com|/a ftp://example.com/|/a javascript:alert(1)'],
    [/^invalid target/, '/a https:\\\\example.com'],
    [/target or query parameter 'word'/, '/a word /b'],
    [/target or query parameter '=1'/, '/a =1 /b'],
    [/'a' must start with '\/'/, 'a /b'],
    [/must start with '\/'/, '*  /b'],
    [/cannot contain '\?'/, '/a?id=1 /b'],
    [/cannot contain '#'/, '/a#b /c'],
    [/only allowed at the end/, '/a/*/b /c|/*.html /c|/** /c|/*/* /c|/*/:splat /c'],
    [/':splat'/, '/:splat/* /c'],
    [/':a' twice/, '/:a/:a /c'],
    [/placeholder is a whole segment/, '/:a.html /c|/:post-id /c'],
    [/percent-encoded UTF-8/, '/%zz /b|/%ff /b|/100% /b'],
    [/'\/_slipway\/'/, '/_slipway/password /b|/_slipway /b|/_slipway/* /b|/%5fslipway/password /b'],
    [/'\/_slipway\/'/, 'https://example.com/_slipway/password /b'],
    [/'\/.netlify\/'/, '/.netlify/functions/x /b'],
    [/^invalid status 300\. Use 200, 301, 302, 303, 307, 308 or 404\.$/, '/a /b 300'],
    [/status 302x/, '/a /b 302x'],
    [/status !/, '/a /b !'],
    [/status/, '/a /b 301!!|/a /b 99999999999999999999'],
    [/status moved/, '/a /b moved'],
    [/'again' after the status/, '/a /b 301 again'],
    [/condition/, '/a /b Country=us|/a /b 302 Country=us,ca|/a /b 302 Language=en'],
    [/condition/, '/a /b 302 Role=admin|/a /b 302 Cookie=beta'],
    [/not fetched/, '/a https://example.com/ 200|/a https://example.com/ 404'],
    [/not fetched/, '/api/* https://example.com/:splat 200!'],
    [/'\/\/'/, '/a //example.com|/a //example.com/:splat 301'],
    [/backslash/, '/a /\\example.com|/a https://example.com\\@evil.example'],
    [/control/, '/a /b\u0001|/a /b\u007f'],
    [/'%25'/, '/a /b%|/a /b%2'],
    [/cannot contain placeholders/, '/:host https://:host/|/:host https://:host.example.com/'],
    [/cannot contain placeholders/, '/* https://example.com:splat|/* https://*.example.com/'],
    [/cannot contain placeholders/, '/a https://user@example.com/|/a https://user:pw@example.com/'],
    [/invalid URL/, '/a https://|/a https://exa%00mple.com/|/a https://[::1/'],
    [/':splat' does not occur/, '/a /b/:splat'],
    [/':b' does not occur/, '/:a /b/:b'],
    [/':c' does not occur/, '/:a /b?x=:c'],
    [/':other' does not occur/, '/a id=:id /b/:other'],
    [/21 placeholders\. The limit is 20/, `/* /${':splat'.repeat(21)}`],
    [/invalid host name/, 'http:// /b|https://:sub.example.com/a /b|https://user@example.com/a /b'],
    [/host cannot/, 'https://*.example.com/a /b'],
    [/port/, 'https://example.com:8080/a /b'],
    [/redirects to itself/, '/a /a|/a /a/|/a/ /a 302!|/a /a#part|/caf%C3%A9 /café|/* /:splat 301'],
    [/redirects to itself/, '/a/* /a/:splat 302!|/:x /:x|/* /new/:splat 301!'],
    [/redirects to itself/, '/blog/:id /blog/post-:id 308!'],
    [/redirects to itself/, 'http://example.com/* https://example.com/:splat 301!'],
    [/redirects to itself/, 'http://example.com/a /a'],
    [/more than 20 placeholders/, `${'abcdefghijklmnopqrstu'.replace(/./g, '/:$&')} /b`],
    [/2,004 characters\. The limit is 2,000\./, `/a /${'b'.repeat(2000)}`],
  ]
  for (const [why, lines] of rows) {
    test(`${why}: ${lines.slice(0, 100)}`, () => {
      for (const line of lines.split('|')) {
        const { rules, warnings } = parseRedirects(`/before /x\n${line}\n/after /x`)
        assert.deepEqual(pluck(rules, 'line'), [1, 3], line)
        assert.equal(warnings.map(({ file, line }) => `${file} ${line}`).join(), '_redirects 2', line)
        assert.match(warnings[0]!.message, why, line)
        assert.doesNotMatch(warnings[0]!.message, /\p{Cc}/u, line)
      }
    })
  }
})

test('line ends, a byte order mark, blank lines and comments of all editors are accepted', () => {
  const { rules, warnings } = parseRedirects(
    '\uFEFF/a /x\r\n\r\n \t \r\n# /b /x\r\n  # /c /x\r\n\t/d /x\t\r\n/e /x',
  )
  assert.deepEqual(warnings, [])
  const keptRules = rules.map(({ line, from }) => `${line} ${from}`)
  assert.deepEqual(keptRules, ['1 /a', '6 /d', '7 /e'])
})

test('2,000 rules without and 100 with a placeholder are kept, and a warning names the first dropped one', () => {
  const fixed = Array.from({ length: 2002 }, (_, index) => `/a/${index} /b`)
  const varying = Array.from({ length: 102 }, (_, index) => `/${index}/* /b`)
  const { rules, warnings } = parseRedirects([...fixed, ...varying, '/x/:y /z'].join('\n'))
  assert.equal(rules.length, 2100)
  assert.deepEqual(pluck(rules.slice(1999, 2001), 'from'), ['/a/1999', '/0/*'])
  assert.deepEqual(pluck(warnings, 'line'), [2001, 2103])
  assert.match(warnings[0]!.message, /2,000 redirect rules without/)
  assert.match(warnings[1]!.message, /100 redirect rules with/)
})

test('at most 100 warnings are listed, with the number of the others', () => {
  const wrong = (count: number) => parseRedirects('wrong\n'.repeat(count)).warnings
  assert.equal(wrong(100).length, 100)
  const many = wrong(9_000)
  assert.equal(many.length, 101)
  assert.deepEqual(many[100], {
    file: '_redirects',
    message: '8,900 more warnings; only the first 100 are listed',
  })
})

test('a line of exactly 2,000 characters is parsed', () => {
  const line = `/a /${'b'.repeat(1996)}`
  assert.equal(line.length, 2000)
  assert.equal(parseRedirects(`  ${line}  \r\n#${'x'.repeat(3000)}`).rules.length, 1)
})

test('10,000 lines are parsed, including empty ones and comments, and a warning names the first line beyond', () => {
  const { rules, warnings } = parseRedirects(`${'# x\n\n/a /b\n'.repeat(3400)}/c /d`)
  assert.equal(rules.length, 2000)
  assert.deepEqual(pluck(warnings, 'line'), [6003, 10_001])
  assert.match(warnings[1]!.message, /limit is 10,000 lines/)
})
