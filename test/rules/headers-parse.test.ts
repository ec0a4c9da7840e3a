import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { type HeaderRule, parseHeaders } from '../../server/site-rules/parse/header-rule.ts'
import { pluck } from '../support/pluck.ts'

interface CloudflareCase {
  id: string
  text?: string
  text_parts?: (string | { line: string; from: number; count: number })[]
  limits?: unknown
  expect: {
    rules?: CloudflareRule[]
    rule_count?: number
    invalid: { line_number?: number; reason: string }[]
  }
}

interface CloudflareRule {
  path: string
  headers: Record<string, string>
  unsetHeaders: string[]
}

/** Deliberate differences from Cloudflare: the lines that get a warning, and why. */
const OTHERWISE: Record<string, { lines: number[]; rules?: number; why: string }> = {
  'cf-headers-invalid-03': { lines: [10], why: 'the same, but the case does not name the line' },
  'cf-headers-invalid-04': { lines: [203], rules: 100, why: '100 paths are 100, not 101' },
  'cf-headers-invalid-07': {
    lines: [11, 19, 21, 30, 31, 32],
    rules: 8,
    why: 'http:// is for sites served so, and a bare % is no percent-encoding',
  },
}

const cloudflare = (
  JSON.parse(readFileSync(new URL('../cases/cf-headers-parse.json', import.meta.url), 'utf8')) as {
    cases: CloudflareCase[]
  }
).cases.filter(({ limits }) => limits === undefined)

describe('a _headers file is parsed as by Cloudflare', () => {
  for (const { id, text, text_parts = [], expect } of cloudflare) {
    const otherwise = OTHERWISE[id]
    test(otherwise ? `${id}, except: ${otherwise.why}` : id, () => {
      const { rules, warnings } = parseHeaders(text ?? text_parts.flatMap(linesOf).join('\n'))
      const lines = otherwise?.lines ?? expect.invalid.map(({ line_number }) => line_number)
      assert.deepEqual(pluck(warnings, 'line'), lines)
      if (otherwise?.rules !== undefined) assert.equal(rules.length, otherwise.rules)
      else if (expect.rules) assert.deepEqual(rules.map(asCloudflare), expect.rules.map(plain))
    })
  }
})

function linesOf(part: string | { line: string; from: number; count: number }): string[] {
  if (typeof part === 'string') return [part]
  return Array.from({ length: part.count }, (_, index) => part.line.replaceAll('{i}', `${part.from + index}`))
}

function asCloudflare({ path, host, set, remove }: HeaderRule) {
  const headers: Record<string, string> = {}
  for (const [name, value] of set) {
    const lower = name.toLowerCase()
    headers[lower] = lower in headers ? `${headers[lower]}, ${value}` : value
  }
  return { path: host === undefined ? path : `https://${host}${path}`, headers, unset: remove }
}

function plain({ path, headers, unsetHeaders }: CloudflareRule) {
  return { path, headers, unset: unsetHeaders.map((name) => name.toLowerCase()) }
}

describe('a path of _headers is accepted', () => {
  const rows: [text: string, path: string, host?: string][] = [
    ['/', '/'],
    ['/*', '/*'],
    ['/a b', '/a%20b'],
    ['/café', '/caf%C3%A9'],
    ['/a%2Fb', '/a%2Fb'],
    ['/*.js', '/*.js'],
    ['/a/*/b', '/a/*/b'],
    ['/:year/*/:slug', '/:year/*/:slug'],
    ['/Talk:Home', '/Talk:Home'],
    ['https://example.com', '/', 'example.com'],
    ['https://EXAMPLE.com/A', '/A', 'example.com'],
    ['http://example.com/*', '/*', 'example.com'],
    ['https://*.example.com/a', '/a', '*.example.com'],
    ['https://:Sub.Example.com/a', '/a', ':Sub.example.com'],
    ['https://bücher.example/a', '/a', 'xn--bcher-kva.example'],
    ['https://example.com./a', '/a', 'example.com'],
  ]
  for (const [text, path, host] of rows) {
    test(text, () => {
      const { rules, warnings } = parseHeaders(`${text}\n  X-A: b`)
      assert.deepEqual(warnings, [])
      assert.deepEqual(rules, [
        { line: 1, path, ...(host !== undefined && { host }), set: [['X-A', 'b']], remove: [] },
      ])
    })
  }
})

const placeholders = (count: number) => Array.from({ length: count }, (_, index) => `/:a${index}`).join('')

describe('an invalid path of _headers gets a warning, and is dropped with its lines', () => {
  const rows: [path: string, why: RegExp][] = [
    ['/a/*/b/*', /more than one '\*'/],
    ['/**', /more than one '\*'/],
    ['https://*.example.com/*', /more than one '\*'/],
    ['https://*.*.example.com/', /more than one '\*'/],
    ['/*/:splat', /':splat'/],
    ['/:a/:a', /':a' twice/],
    ['https://:a.example.com/:a', /':a' twice/],
    ['/:a-b', /placeholder is a whole segment/],
    [placeholders(21), /more than 20 placeholders/],
    [`${placeholders(20)}/*`, /more than 20 placeholders/],
    ['/100%', /percent-encoded UTF-8/],
    ['/%ff', /percent-encoded UTF-8/],
    ['/a?b', /cannot contain '\?' or '#'/],
    ['/a#b', /cannot contain '\?' or '#'/],
    ['https://example.com:8080/', /port/],
    ['https://exam_ple!.com/', /invalid host name/],
    ['https://user@example.com/', /invalid host name/],
    ['https://a.b\\@example.com/', /invalid host name/],
    ['https://a%2eb/', /invalid host name/],
    ['https:///a', /invalid host name/],
    ['/a\rb', /control characters/],
    ['/a\u0001b', /control characters/],
    ['https://example.com/\rb', /control characters/],
    ['ftp://example.com/', /http:\/\/ or https:\/\//],
  ]
  for (const [path, why] of rows) {
    test(path, () => {
      const { rules, warnings } = parseHeaders(`/before\n X: 1\n${path}\n X: 2\n nonsense\n/after\n X: 3`)
      assert.deepEqual(pluck(rules, 'path'), ['/before', '/after'])
      assert.deepEqual(
        warnings.map(({ file, line }) => [file, line]),
        [['_headers', 3]],
      )
      assert.match(warnings[0]!.message, why)
    })
  }
})

describe('a line below a path is a header', () => {
  const rows: [line: string, name: string, value: string][] = [
    ['X-A: b', 'X-A', 'b'],
    ['X-A:b', 'X-A', 'b'],
    ['X-A  :   b c  ', 'X-A', 'b c'],
    ['X-A: b\tc', 'X-A', 'b c'],
    ['X-A: b: c', 'X-A', 'b: c'],
    ['X-A: b # c', 'X-A', 'b # c'],
    ['X-A: caf\u00e9', 'X-A', 'caf\u00e9'],
    ['Cache-Control: public, max-age=60', 'Cache-Control', 'public, max-age=60'],
    [
      "Content-Security-Policy: default-src 'self'; img-src *",
      'Content-Security-Policy',
      "default-src 'self'; img-src *",
    ],
    ['Content-Type: text/plain', 'Content-Type', 'text/plain'],
    ['X-Acceleration: 9.81', 'X-Acceleration', '9.81'],
    ['X-Knowledge-Base: yes', 'X-Knowledge-Base', 'yes'],
    [
      'Clear-Site-Data: "cache","storage", "executionContexts", "clientHints"',
      'Clear-Site-Data',
      '"cache","storage", "executionContexts", "clientHints"',
    ],
    ['Link: </a.css>; rel=preload', 'Link', '</a.css>; rel=preload'],
    ['Set-Cookie: a=b; Path=/; Secure', 'Set-Cookie', 'a=b; Path=/; Secure'],
    ['Set-Cookie: domain=b', 'Set-Cookie', 'domain=b'],
    ['Set-Cookie: a=domain', 'Set-Cookie', 'a=domain'],
    [
      'Set-Cookie: a=b; Expires=Wed, 01 Jan 2031 10:11:12 GMT',
      'Set-Cookie',
      'a=b; Expires=Wed, 01 Jan 2031 10:11:12 GMT',
    ],
    ['Set-Cookie: my_slipway_password=b', 'Set-Cookie', 'my_slipway_password=b'],
    ['X-Link: :splat/:x', 'X-Link', ':splat/:x'],
    ['!odd: b', '!odd', 'b'],
  ]
  for (const [line, name, value] of rows) {
    test(line, () => {
      const { rules, warnings } = parseHeaders(`/*\n${line}`)
      assert.deepEqual(warnings, [])
      assert.deepEqual(rules[0]!.set, [[name, value]])
    })
  }
  test('or with an exclamation mark the removal of one', () => {
    const { rules, warnings } = parseHeaders('/a\n  ! X-Frame-Options\n  !\tX-B\n')
    assert.deepEqual(warnings, [])
    assert.deepEqual(rules[0]!.remove, ['x-frame-options', 'x-b'])
  })
})

describe('an invalid line below a path gets a warning with the reason', () => {
  const own = `Connection Keep-Alive Proxy-Authenticate Proxy-Connection TE Trailer Transfer-Encoding Upgrade
    Content-Length Content-Encoding Content-Range Accept-Ranges Date ETag Last-Modified Location HTTP2-Settings
    CONTENT-LENGTH transfer-encoding location`.split(/\s+/)
  const rows: [line: string, why: RegExp][] = [
    ...own.flatMap((name): [string, RegExp][] => [
      [`${name}: x`, /the server sets it/],
      [`! ${name}`, /the server sets it/],
    ]),
    ['X-A: b\rX-B: c', /not allowed in a header/],
    ['X-A: b\u0000', /not allowed in a header/],
    ['X-A: b\u001bc', /not allowed in a header/],
    ['X-A: b\u007f', /not allowed in a header/],
    ['X-A: b\u0085c', /not allowed in a header/],
    ['X-A: b\u2028c', /not allowed in a header/],
    ['X-A: 日本', /not allowed in a header/],
    ['X-A: \u010aX-B', /not allowed in a header/],
    ['X-A:', /no value/],
    [': b', /no name/],
    ['X A: b', /invalid header name/],
    ['X-\u00c4: b', /invalid header name/],
    ['X(A): b', /invalid header name/],
    ['X-\rA: b', /invalid header name/],
    ['nonsense', /^invalid line/],
    ['!x', /^invalid line/],
    ['!', /^invalid line/],
    ['! X A', /invalid header name/],
    ['! X: b', /invalid header name/],
    ...`X-Accel-Redirect x-accel-expires X-Sendfile X-SENDFILE2 X-Send-File X-LIGHTTPD-send-file X-LiteSpeed-Location X-Reproxy-URL
      Surrogate-Control Surrogate-Key CDN-Cache-Control Cloudflare-CDN-Cache-Control Netlify-CDN-Cache-Control Edge-Control
      Akamai-Cache-Control X-Varnish-TTL X-Envoy-Immediate-Health-Check-Fail Cache-Tag CF-Cache-Status ARR-Disable-Session-Affinity`
      .split(/\s+/)
      .map((name): [string, RegExp] => [`${name}: /x`, /proxies and CDNs/]),
    ['Alt-Svc: h2="elsewhere.example:443"', /send browsers to other servers/],
    ['Clear-Site-Data: "cookies"', /can belong to other sites/],
    ['Clear-Site-Data: "*"', /can belong to other sites/],
    ['clear-site-data: "cache", "cookies"', /can belong to other sites/],
    ['Clear-Site-Data: ":name"', /can belong to other sites/],
    ['Clear-Site-Data: cache', /can belong to other sites/],
    ['Basic-Auth: user:pass', /Set a password for the site/],
    ['Set-Cookie: a=b; Domain=example.com', /Domain/],
    ['Set-Cookie: a=b;domain=.example.com', /Domain/],
    ['Set-Cookie: a=b;\tDOMAIN = example.com', /Domain/],
    ['set-cookie: a=b; Path=/; dOmAiN', /Domain/],
    ['Set-Cookie: a="b; Domain=example.com"', /Domain/],
    ['Set-Cookie: a=b;;; Domain=', /Domain/],
    ['Set-Cookie: slipway_password=x', /is reserved/],
    ['Set-Cookie: __Host-slipway_password=x', /is reserved/],
    ['Set-Cookie: Slipway_Password =x; Path=/', /is reserved/],
    ['Set-Cookie: =slipway_password=x', /is reserved/],
    ['Set-Cookie: a=:name', /placeholders are not allowed/],
    ['Set-Cookie: :name', /placeholders are not allowed/],
    ['Set-Cookie: a=b; :splat', /placeholders are not allowed/],
    [`X-A: ${'b'.repeat(1996)}`, /2,001 characters\. The limit is 2,000\./],
  ]
  for (const [line, why] of rows) {
    test(JSON.stringify(line.slice(0, 80)), () => {
      const { rules, warnings } = parseHeaders(`/:name/*\n  X-Before: 1\n${line}\n  X-After: 1`)
      assert.deepEqual(
        rules[0]!.set.map(([name]) => name),
        ['X-Before', 'X-After'],
      )
      assert.deepEqual(rules[0]!.remove, [])
      assert.deepEqual(
        warnings.map(({ file, line }) => [file, line]),
        [['_headers', 3]],
      )
      assert.match(warnings[0]!.message, why)
      assert.doesNotMatch(warnings[0]!.message, /\p{Cc}/u)
    })
  }
})

test('a path without headers and a header without a path are warnings', () => {
  const { rules, warnings } = parseHeaders('X-A: b\n/a\n/b\n  X-A: b\n/c\n  Location: /x\n/d')
  assert.deepEqual(pluck(rules, 'path'), ['/b'])
  assert.deepEqual(pluck(warnings, 'line'), [1, 2, 6, 7])
  assert.match(warnings[0]!.message, /is not below a path/)
  assert.match(warnings[1]!.message, /path has no headers/)
})

test('line ends, a byte order mark and indents of all editors are accepted', () => {
  const { rules, warnings } = parseHeaders('\uFEFF/a\r\n\tX-A: b\r\n\r\n# X-B: c\r\nX-C: d\r\n')
  assert.deepEqual(warnings, [])
  assert.deepEqual(rules, [
    {
      line: 1,
      path: '/a',
      set: [
        ['X-A', 'b'],
        ['X-C', 'd'],
      ],
      remove: [],
    },
  ])
})

test('1,000 lines with a path are parsed, whether they become a rule or not', () => {
  const kept = (count: number) => {
    const { rules } = parseHeaders(`/a\n X: 1\n${'/b\n'.repeat(count)}/c\n X: 2`)
    return rules.map(({ path }) => path)
  }
  assert.deepEqual(kept(998), ['/a', '/c'])
  assert.deepEqual(kept(999), ['/a'])
})

test('headers for 100 paths are kept, and one warning names the first dropped one', () => {
  const text = Array.from({ length: 250 }, (_, index) => `/${index}\n X: y\n Connection: close`).join('\n')
  const { rules, warnings } = parseHeaders(text)
  assert.equal(rules.length, 100)
  assert.equal(warnings.length, 101)
  assert.equal(parseHeaders(text.replaceAll(' Connection: close', '')).warnings[0]!.line, 301)
})

describe('the headers of one response are limited to 16 KiB', () => {
  const big = (count: number) => ` X: ${'y'.repeat(1000 - 'X: \r\n'.length)}\n`.repeat(count)
  const kept = (text: string) => parseHeaders(text).rules.map(({ set }) => set.length)
  const rows: [title: string, text: string, kept: number[]][] = [
    ['one path', `/a\n${big(20)}`, [16]],
    ['one path, with a short one after long ones', `/a\n${big(20)} Y: z`, [17]],
    ['two paths that never meet', `/a\n${big(16)}/b\n${big(16)}`, [16, 16]],
    ['the same path twice', `/a\n${big(10)}/a\n${big(10)}`, [10, 6]],
    ['a path and one with a star that has it', `/a\n${big(10)}/*\n${big(10)}`, [10, 6]],
    ['one with a star and a path of it', `/*\n${big(10)}/a/b\n${big(10)}`, [10, 6]],
    ['stars that meet', `/a/*\n${big(10)}/*/b\n${big(10)}`, [10, 6]],
    ['stars that do not', `/a/*\n${big(10)}/b/*\n${big(10)}`, [10, 10]],
    ['a star and a path that it has not', `/*/b\n${big(10)}/a\n${big(10)}`, [10, 10]],
    ['a path and a star that has it not', `/a\n${big(10)}/*/b\n${big(10)}`, [10, 10]],
    ['hosts that differ', `https://a.b/*\n${big(10)}https://b.b/*\n${big(10)}`, [10, 10]],
    ['hosts that may be one', `https://a.b/*\n${big(10)}https://:x.b/*\n${big(10)}`, [10, 6]],
    ['a host and all hosts', `https://a.b/*\n${big(10)}/*\n${big(10)}`, [10, 6]],
  ]
  for (const [title, text, counts] of rows) test(title, () => assert.deepEqual(kept(text), counts))
  test('with a warning for those beyond', () => {
    const { warnings } = parseHeaders(`/a\n${big(17)} Y: z`)
    assert.equal(warnings[0]!.line, 18)
    assert.match(warnings[0]!.message, /limit is 16,384 bytes/)
  })
})
