import assert from 'node:assert/strict'
import { describe, mock, test } from 'node:test'
import { HeaderRules } from '../../server/site-rules/match/header-rules.ts'
import { RedirectMatcher } from '../../server/site-rules/match/redirect-matcher.ts'
import { parseHeaders, parseRedirects, parseRules } from '../support/parse-rules.ts'
import { randomBelow } from '../support/random.ts'

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32))

const HOST = 'site.example'

/** Parts of URLs, including those that have led browsers to another host. */
const PARTS =
  `/ // /// a b go .. . ... %2e %2E%2e %2F %2f%2F \\ \\\\ %5C %5c%5C %09 %0a %0D%0A %00 %20 @ : ; , ? & = # ~ + * % %zz %C3 %C3%A9
  é \u0001 \u0009 \u000a \u000d \u007f \u00a0 \u2028 \u202e \uFEFF \ud800 evil.example https: http: https://evil.example //evil.example javascript: data: :splat :a :b
  /:splat /:a /:b /* :a.evil.example @evil.example [::1] %ef%bc%8f / 。 ' " < > | \` { }`
    .split(' ')
    .flatMap((part) => part.split('\n  '))

const WORDS = [
  '200',
  '301',
  '302!',
  '404',
  '308',
  'Country=us',
  '#',
  '\t',
  '\r\n',
  '\n',
  'id=:id',
  'x=:a',
  'q=1',
]

describe(`hostile rules and requests, seed ${SEED}`, () => {
  test('no request is redirected off the site by a rule without a full URL', () => {
    const below = randomBelow(SEED)
    let redirected = 0
    for (let round = 0; round < 2000; round++) {
      const text = Array.from({ length: 6 }, () => redirectLine(below)).join('\n')
      const redirects = new RedirectMatcher(parseRedirects(text).rules)
      for (let visit = 0; visit < 8; visit++) {
        const asked = { path: `/${mixture(below, 6)}`, query: queryOf(below), host: HOST }
        if (checkPlace(redirects, asked, `${JSON.stringify({ text, asked })} with seed ${SEED}`)) redirected++
      }
    }
    assert.ok(redirected > 300, `only ${redirected} redirects were checked`)
  })

  test('no rule and no request injects a header line', () => {
    const below = randomBelow(SEED)
    let changed = 0
    for (let round = 0; round < 2000; round++) {
      const text = Array.from({ length: 6 }, () => headerLine(below)).join('\n')
      const headers = new HeaderRules(parseHeaders(`/${mixture(below, 2)}*\n${text}`).rules)
      for (let visit = 0; visit < 8; visit++) {
        const path = `/${mixture(below, 5)}`
        const lines = headers.apply(path, HOST, ['A', 'b'], { kept: new Set() })
        checkLines(lines, `${JSON.stringify({ text, path })} with seed ${SEED}`)
        if (lines.length > 2) changed++
      }
    }
    assert.ok(changed > 300, `only ${changed} changed responses were checked`)
  })
})

function checkPlace(
  redirects: RedirectMatcher,
  asked: { path: string; query: string; host: string },
  what: string,
): boolean {
  const redirected = redirects.match(asked)
  if (!redirected) return false
  const { to, external, rule, status } = redirected
  assert.match(to, /^[!-~]+$/, what)
  assert.equal(external, /^https?:\/\//.test(rule.to), what)
  if (status === 200 || status === 404) assert.match(to, /^\/[^?#]*$/, what)
  for (const scheme of ['http', 'https']) {
    const base = `${scheme}://${HOST}${asked.path.replace(/[^!-~]|\\/g, '_')}`
    const place = new URL(to, base)
    const wanted = external ? new URL(rule.to).host : HOST
    assert.equal(place.host, wanted, what)
    assert.equal(place.username + place.password, '', what)
    assert.match(place.protocol, /^https?:$/, what)
  }
  return true
}

function checkLines(lines: readonly string[], what: string): void {
  for (let at = 0; at < lines.length; at += 2) {
    assert.match(lines[at]!, /^[!#$%&'*+\-.^_`|~\w]+$/, what)
    assert.doesNotMatch(lines[at]!, /^(content-length|transfer-encoding|location|connection)$/i, what)
    assert.match(lines[at + 1]!, /^[ -~\u00a0-\u00ff]*$/, what)
    if (/^set-cookie$/i.test(lines[at]!)) assert.doesNotMatch(lines[at + 1]!, /;\s*domain\s*(=|;|$)/i, what)
  }
}

function redirectLine(below: (n: number) => number): string {
  const pick = (list: readonly string[]) => list[below(list.length)]!
  const from = pick([
    '/go/*',
    '/*',
    '/:a/*',
    '/:a/:b',
    '/a',
    '/a*',
    `/${mixture(below, 2)}`,
    mixture(below, 3),
  ])
  const query = below(4) === 0 ? ` ${pick(WORDS)}` : ''
  const fixed = ['/:splat', '/:a/:b', '/', 'https://x.example/:splat']
  const to = pick([...fixed, `/${mixture(below, 4)}`, mixture(below, 4)])
  return `${from}${query} ${to} ${pick(WORDS)}`
}

function headerLine(below: (n: number) => number): string {
  const name = ['X-A', 'Set-Cookie', 'Location', 'Content-Length', '!', 'Link', mixture(below, 2)][below(7)]!
  const value = ['a=b; Domain=x', ':splat', 'a=:splat', ':splat\r\nX: y', mixture(below, 4)][below(5)]!
  return [`${name}: ${value}`, `${name}: ${value}`, `! ${name}`, `/${mixture(below, 3)}`][below(4)]!
}

function queryOf(below: (n: number) => number): string {
  return below(2) === 0 ? '' : `?${['id=', 'x=', ''][below(3)]}${mixture(below, 3)}`
}

function mixture(below: (n: number) => number, most: number): string {
  return Array.from({ length: 1 + below(most) }, () => PARTS[below(PARTS.length)]!).join('')
}

// Quadratic cost would not terminate on these sizes.
describe('cost is linear in the size of a request or of a file', () => {
  const long = 2 ** 22
  const paths: [title: string, path: string][] = [
    ['slashes', '/'.repeat(long)],
    ['percent-encoded letters', `/${'%61'.repeat(long / 4)}`],
    ['broken percent-encoding', `/${'%'.repeat(long)}`],
    ['marks that combine', `/e${'%CC%81'.repeat(long / 8)}`],
  ]
  const redirects = ['/*', '/a/*', '/:a/:b/:c/*', '/:x/:y/a*', '/aaaa*', `/${'a'.repeat(1000)}*`]
  const patterns = ['/*', '/*/:a/b', '/:a/*/:b', '/*a', '/a*b', '/*/']

  for (const [title, path] of paths) {
    test(`a path of four million ${title}`, () => {
      const lines = redirects.map((from) => `${from} x=:q /b/c 302\n`.repeat(10))
      const matcher = new RedirectMatcher(parseRedirects(`${lines.join('')}/:z/* /d 200`).rules)
      matcher.match({ path, query: `?${'x&'.repeat(1000)}`, host: HOST })
      const rules = parseHeaders(patterns.map((from) => `${from}\n X: :splat`).join('\n')).rules
      new HeaderRules(rules).apply(path, HOST, [], { kept: new Set() })
    })
  }

  const texts: [title: string, text: string][] = [
    ['empty lines', '\n'.repeat(2 ** 20)],
    ['spaces', `/a${' '.repeat(2 ** 20)}/b`],
    ['paths alone', '/\n'.repeat(2 ** 19)],
    ['rules with a star', '/* /b\n'.repeat(2 ** 17)],
    ['headers', `/*\n${'a: b\n'.repeat(2 ** 17)}`],
    ['colons', `${':'.repeat(1999)}\n`.repeat(500)],
    ['placeholders', `/${':a/'.repeat(600)} /b\n`.repeat(500)],
    ['colons and letters in a target', `/:a /${'a:'.repeat(900)}\n`.repeat(500)],
  ]
  for (const [title, text] of texts) {
    test(`a file of ${title}`, () => {
      const { warnings } = parseRules({ redirects: text, headers: text })
      assert.ok(warnings.length <= 204)
    })
  }
})

test('2,000 rules for one path cost one check each when none matches', () => {
  const { rules } = parseRedirects(Array.from({ length: 2000 }, (_, index) => `/a id=${index} /b`).join('\n'))
  const redirects = new RedirectMatcher(rules)
  const query = `?${Array.from({ length: 1000 }, (_, index) => `x${index}=y`).join('&')}`
  assert.equal(redirects.match({ path: '/a', query, host: HOST }), undefined)
})

test('2,000 rules with 20 parameters each cost one check each for a query with many others', () => {
  const names = Array.from({ length: 20 }, (_, index) => `p${index}`)
  const lines = Array.from({ length: 2000 }, (_, index) => `/a ${names.join('=1 ')}=1 no${index}=1 /b`)
  const redirects = new RedirectMatcher(parseRedirects(lines.join('\n')).rules)
  const query = `?${'x&'.repeat(50_000)}${names.join('=1&')}=1`
  assert.equal(redirects.match({ path: '/a', query, host: HOST }), undefined)
})

test('rules that repeat the URL cost no more than the header limit', () => {
  const targets = Array.from({ length: 20 }, (_, index) => `q${index}=:splat`).join('&')
  const redirects = new RedirectMatcher(parseRedirects(`/* /b?${targets}\n`.repeat(100)).rules)
  const headers = new HeaderRules(parseHeaders(`/*\n  X: ${':splat,'.repeat(20)}\n`.repeat(100)).rules)
  for (const part of ['+', ';', '%3B', '%C3%A9']) {
    const path = `/${part.repeat(2 ** 20)}`
    assert.equal(redirects.match({ path, query: '', host: HOST }), undefined)
    assert.deepEqual(headers.apply(path, HOST, ['A', 'b'], { kept: new Set() }), ['A', 'b'])
  }
})

test('what a path may not contain is encoded without an object for each character', () => {
  const redirects = new RedirectMatcher(parseRedirects('/a/* /b/:splat').rules)
  const made = mock.method(Buffer, 'from')
  const { to } = redirects.match({ path: `/a/${'"<%C3%A9'.repeat(500)}`, query: '', host: HOST }) ?? {}
  const count = made.mock.callCount()
  mock.restoreAll()
  assert.ok(to === `/b/${'%22%3C%C3%A9'.repeat(500)}`)
  assert.ok(count < 10, `${count} buffers for 1,000 characters`)
})
