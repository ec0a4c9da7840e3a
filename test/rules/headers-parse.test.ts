import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { PublishWarning } from '../../protocol/api/publish.schema.ts'
import type { HeaderRule } from '../../server/site-rules/parse/header-rule.ts'
import { parseHeaders } from '../support/parse-rules.ts'
import { pluck } from '../support/pluck.ts'

interface CloudflareCase {
  id: string
  text: string
  expect: { rules: CloudflareRule[]; invalid: { line_number: number }[] }
}

interface CloudflareRule {
  path: string
  headers: Record<string, string>
  unsetHeaders: string[]
}

const { cases } = JSON.parse(
  readFileSync(new URL('../cases/cf-headers-parse.json', import.meta.url), 'utf8'),
) as { cases: CloudflareCase[] }

test('a _headers file is parsed as by Cloudflare', () => {
  for (const { id, text, expect } of cases) {
    const { rules, warnings } = parseHeaders(text)
    assert.deepEqual(pluck(warnings, 'line'), pluck(expect.invalid, 'line_number'), id)
    assert.deepEqual(rules.map(asCloudflare), expect.rules.map(plain), id)
  }
})

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
  test('with or without a host', () => {
    for (const [text, path, host] of rows) {
      const { rules, warnings } = parseHeaders(`${text}\n  X-A: b`)
      assert.deepEqual(warnings, [], text)
      const expected = { line: 1, path, ...(host !== undefined && { host }), set: [['X-A', 'b']], remove: [] }
      assert.deepEqual(rules, [expected], text)
    }
  })
})

/** Asserts that line 3 of the file gets this warning, and no other line gets one. */
function assertWarning(warnings: PublishWarning[], why: RegExp, what: string): void {
  assert.equal(warnings.map(({ file, line }) => `${file} ${line}`).join(), '_headers 3', what)
  assert.match(warnings[0]!.message, why, what)
  assert.doesNotMatch(warnings[0]!.message, /\p{Cc}/u, what)
}

const placeholders = (count: number) => Array.from({ length: count }, (_, index) => `/:a${index}`).join('')

describe('an invalid path of _headers gets a warning, and is dropped with its lines', () => {
  const rows: [why: RegExp, paths: string[]][] = [
    [/more than one '\*'/, ['/a/*/b/*', '/**', 'https://*.example.com/*', 'https://*.*.example.com/']],
    [
      /the URL 'https:\/\/\*\.localhost\/\*' has more than one '\*' in its host and path: write :name in place of that of the host/,
      ['https://*.localhost/*'],
    ],
    [/':splat'/, ['/*/:splat']],
    [/':a' twice/, ['/:a/:a', 'https://:a.example.com/:a']],
    [/placeholder is a whole segment/, ['/:a-b']],
    [/more than 20 placeholders/, [placeholders(21), `${placeholders(20)}/*`]],
    [/percent-encoded UTF-8/, ['/100%', '/%ff']],
    [/cannot contain '\?' or '#'/, ['/a?b', '/a#b']],
    [/port/, ['https://example.com:8080/']],
    [
      /invalid host name/,
      [
        ...[
          'https://exam_ple!.com/',
          'https://user@example.com/',
          'https://a.b\\@example.com/',
          'https://a%2eb/',
        ],
        'https:///a',
      ],
    ],
    [/control characters/, ['/a\rb', '/a\u0001b', 'https://example.com/\rb']],
    [/http:\/\/ or https:\/\//, ['ftp://example.com/']],
  ]
  for (const [why, paths] of rows) {
    test(`${why}`, () => {
      for (const path of paths) {
        const { rules, warnings } = parseHeaders(`/before\n X: 1\n${path}\n X: 2\n nonsense\n/after\n X: 3`)
        assert.deepEqual(pluck(rules, 'path'), ['/before', '/after'])
        assertWarning(warnings, why, path)
      }
    })
  }
})

describe('a line below a path is a header', () => {
  // The name and value of a line written in the usual form are those of the line.
  const rows: [line: string, name?: string, value?: string][] = [
    ['X-A: b'],
    ['X-A:b', 'X-A', 'b'],
    ['X-A  :   b c  ', 'X-A', 'b c'],
    ['X-A: b\tc', 'X-A', 'b c'],
    ['X-A: b: c'],
    ['X-A: b # c'],
    ['X-A: caf\u00e9'],
    ['Cache-Control: public, max-age=60'],
    ["Content-Security-Policy: default-src 'self'; img-src *"],
    ['Content-Type: text/plain'],
    ['X-Acceleration: 9.81'],
    ['X-Knowledge-Base: yes'],
    ['Clear-Site-Data: "cache","storage", "executionContexts", "clientHints"'],
    ['Link: </a.css>; rel=preload'],
    ['Set-Cookie: a=b; Path=/; Secure'],
    ['Set-Cookie: domain=b'],
    ['Set-Cookie: a=domain'],
    ['Set-Cookie: a=b; Expires=Wed, 01 Jan 2031 10:11:12 GMT'],
    ['Set-Cookie: my_slipway_password=b'],
    ['X-Link: :splat/:x'],
    ['!odd: b'],
  ]
  test('with its value as written, without surrounding blanks', () => {
    for (const [line, ...given] of rows) {
      const { rules, warnings } = parseHeaders(`/*\n${line}`)
      assert.deepEqual(warnings, [], line)
      assert.deepEqual(rules[0]!.set, [given.length > 0 ? given : line.split(/: (.*)/, 2)])
    }
  })

  test('or with an exclamation mark the removal of one', () => {
    const { rules, warnings } = parseHeaders('/a\n  ! X-Frame-Options\n  !\tX-B\n')
    assert.deepEqual(warnings, [])
    assert.deepEqual(rules[0]!.remove, ['x-frame-options', 'x-b'])
  })
})

describe('an invalid line below a path gets a warning with the reason', () => {
  const own = `Connection Keep-Alive Proxy-Authenticate Proxy-Connection TE Trailer Transfer-Encoding Upgrade
    Content-Length Content-Range Accept-Ranges Date ETag Last-Modified Location HTTP2-Settings
    CONTENT-LENGTH transfer-encoding location`.split(/\s+/)
  const proxies =
    `X-Accel-Redirect x-accel-expires X-Sendfile X-SENDFILE2 X-Send-File X-LIGHTTPD-send-file X-LiteSpeed-Location
    X-Reproxy-URL Surrogate-Control Surrogate-Key CDN-Cache-Control Cloudflare-CDN-Cache-Control Netlify-CDN-Cache-Control
    Edge-Control Akamai-Cache-Control X-Varnish-TTL X-Envoy-Immediate-Health-Check-Fail Cache-Tag CF-Cache-Status
    ARR-Disable-Session-Affinity Fly-Replay Vercel-Cache-Tag X-Cache-Tag`.split(/\s+/)
  const rows: [why: RegExp, lines: string[]][] = [
    [/the server sets it/, own.flatMap((name) => [`${name}: x`, `! ${name}`])],
    [
      /not allowed in a header/,
      [
        ...['b\rX-B: c', 'b\u0000', 'b\u001bc', 'b\u007f', 'b\u0085c', 'b\u2028c', '日本', '\u010aX-B'].map(
          (value) => `X-A: ${value}`,
        ),
      ],
    ],
    [/no value/, ['X-A:']],
    [/no name/, [': b']],
    [/invalid header name/, ['X A: b', 'X-\u00c4: b', 'X(A): b', 'X-\rA: b', '! X A', '! X: b']],
    [/^invalid line/, ['nonsense', '!x', '!']],
    [/proxies and CDNs/, proxies.map((name) => `${name}: /x`)],
    [/send browsers to other servers/, ['Alt-Svc: h2="elsewhere.example:443"']],
    [
      /can belong to other sites/,
      ['"cookies"', '"*"', '"cache", "cookies"', '":name"', 'cache'].map(
        (value) => `clear-Site-Data: ${value}`,
      ),
    ],
    [/Set a password for the site/, ['Basic-Auth: user:pass']],
    [
      /Domain/,
      [
        ...[
          'a=b; Domain=example.com',
          'a=b;domain=.example.com',
          'a=b;\tDOMAIN = example.com',
          'a=b; Path=/; dOmAiN',
        ],
        ...['a="b; Domain=example.com"', 'a=b;;; Domain='],
      ].map((value) => `set-Cookie: ${value}`),
    ],
    [
      /is reserved/,
      [
        ...[
          'slipway_password=x',
          '__Host-slipway_password=x',
          'Slipway_Password =x; Path=/',
          '=slipway_password=x',
          'slipway-notice=1; Path=/',
          ' = __Host-slipway-NOTICE=1; Secure; SameSite=None',
        ],
      ].map((value) => `Set-Cookie: ${value}`),
    ],
    [
      /placeholders are not allowed/,
      ['a=:name', ':name', 'a=b; :splat'].map((value) => `Set-Cookie: ${value}`),
    ],
    [/2,001 characters\. The limit is 2,000\./, [`X-A: ${'b'.repeat(1996)}`]],
  ]
  for (const [why, lines] of rows) {
    test(`${why}`, () => {
      for (const line of lines) {
        const { rules, warnings } = parseHeaders(`/:name/*\n  X-Before: 1\n${line}\n  X-After: 1`)
        const [{ set, remove }] = rules as [HeaderRule]
        assert.deepEqual([set.map(([name]) => name), remove], [['X-Before', 'X-After'], []], line)
        assertWarning(warnings, why, line)
      }
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
  assert.equal(rules.length, 1)
  assert.equal(rules[0]!.set.join('; '), 'X-A,b; X-C,d')
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
  const both = (one: string, other: string) => `${one}\n${big(10)}${other}\n${big(10)}`
  const rows: [title: string, text: string, kept: number[]][] = [
    ['one path', `/a\n${big(20)}`, [16]],
    ['one path, with a short one after long ones', `/a\n${big(20)} Y: z`, [17]],
    ['two paths that never meet', `/a\n${big(16)}/b\n${big(16)}`, [16, 16]],
    ['the same path twice', both('/a', '/a'), [10, 6]],
    ['a path and one with a star that has it', both('/a', '/*'), [10, 6]],
    ['one with a star and a path of it', both('/*', '/a/b'), [10, 6]],
    ['stars that meet', both('/a/*', '/*/b'), [10, 6]],
    ['stars that do not', both('/a/*', '/b/*'), [10, 10]],
    ['a star and a path that it has not', both('/*/b', '/a'), [10, 10]],
    ['a path and a star that has it not', both('/a', '/*/b'), [10, 10]],
    ['hosts that differ', both('https://a.b/*', 'https://b.b/*'), [10, 10]],
    ['hosts that may be one', both('https://a.b/*', 'https://:x.b/*'), [10, 6]],
    ['a host and all hosts', both('https://a.b/*', '/*'), [10, 6]],
  ]
  test('for all paths that can match the same request', () => {
    for (const [title, text, counts] of rows) assert.deepEqual(kept(text), counts, title)
  })

  test('with a warning for those beyond', () => {
    const { warnings } = parseHeaders(`/a\n${big(17)} Y: z`)
    assert.equal(warnings[0]!.line, 18)
    assert.match(warnings[0]!.message, /limit is 16,384 bytes/)
  })
})
