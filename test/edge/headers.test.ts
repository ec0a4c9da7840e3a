import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RequestHeaders } from '../../packages/http-server/http-handler.ts'
import {
  type Policy,
  passwordPolicy,
  previewPolicy,
  publicPolicy,
  toLastModified,
} from '../../server/edge/respond/policy.ts'
import { EdgeFixture } from './fixture.ts'
import { buildTable, getResponse, header, LIVE } from './responses.ts'

const FILES = ['index.html', '404.html', 'a.txt', 'docs/index.html', 'app.js', 'sp ace.txt', 'bytes.png']
const times = { publishedAt: toLastModified(LIVE), metadataChangedAt: toLastModified(LIVE) }
const OPEN = publicPolicy(times)
const LOCKED = passwordPolicy(times)
const PREVIEW = previewPolicy(times)

function ruled(headers: string, policy: Policy = OPEN) {
  return buildTable(FILES, {
    headers,
    policy,
    redirects: '/moved /a.txt 302\n/rewritten /a.txt 200\n/lost /a.txt 404\n',
  })
}

describe('_headers are applied to every response of the site', () => {
  const table = ruled('/*\n  X-Frame-Options: DENY\n')
  test('to every status and spelling', () => {
    const rows: [targets: string, headers: RequestHeaders, status: number][] = [
      ['/ /a.txt /rewritten /sp%20ace.txt /%73p%20ace.txt', {}, 200],
      ['/a.txt', { range: 'bytes=0-1' }, 206],
      ['/docs /docs?a=b', {}, 301],
      ['/moved /moved?a=b', {}, 302],
      ['/a.txt', { 'if-none-match': '*' }, 304],
      ['/lost /nowhere /nowhere.js', {}, 404],
      ['/a.txt', { 'if-match': '"other"' }, 412],
      ['/a.txt', { range: 'bytes=100-' }, 416],
    ]
    for (const [targets, headers, status] of rows) {
      for (const target of targets.split(' ')) {
        const answer = getResponse(table, target, headers)
        assert.deepEqual([answer.status, header(answer, 'x-frame-options')], [status, 'DENY'], target)
      }
    }
  })

  test('but not to an invalid path, which belongs to no site', () => {
    assert.equal(header(getResponse(table, '/%'), 'x-frame-options'), undefined)
  })
})

test('_headers match the requested path, not the file', () => {
  const table = ruled(
    '/rewritten\n  X: asked\n/a.txt\n  X: file\n/docs/*\n  X: docs\n/sp%20ace.txt\n  X: space\n',
  )
  for (const [value, targets] of [
    ['asked', '/rewritten'],
    ['file', '/a.txt /a.txt?x /%61.txt'],
    ['docs', '/docs/ /docs/nowhere /docs/index.html'],
    ['space', '/sp%20ace.txt /s%70%20ace.txt'],
    [undefined, '/ /docs'],
  ] as const) {
    for (const target of targets.split(' '))
      for (let round = 0; round < 2; round++)
        assert.equal(header(getResponse(table, target), 'x'), value, target)
  }
})

describe('_headers may change', () => {
  // biome-ignore format: one row per case
  const rows: [string, string, string, string, string | undefined][] = [
    ['a default is replaced', '/*\n  Cache-Control: max-age=60\n', '/a.txt', 'cache-control', 'max-age=60'],
    ['later rules append', '/*\n  X-A: 1\n/a.txt\n  X-A: 2\n', '/a.txt', 'x-a', '1, 2'],
    ['a default is taken away', '/*\n  ! X-Content-Type-Options\n', '/a.txt', 'x-content-type-options', undefined],
    ['Vary is added to', '/*\n  Vary: Origin\n', '/a.txt', 'vary', 'Accept-Encoding, Origin'],
    ['Vary is not taken away', '/*\n  Vary: Origin\n/a.txt\n  ! Vary\n', '/a.txt', 'vary', 'Accept-Encoding'],
    ['a redirect may be kept', '/*\n  Cache-Control: max-age=60\n', '/moved', 'cache-control', 'max-age=60'],
    ['a 404 is never kept', '/*\n  Cache-Control: max-age=60\n', '/nowhere', 'cache-control', 'no-store'],
    ['nor by a date', '/*\n  Expires: Thu, 01 Jan 2099 00:00:00 GMT\n', '/nowhere', 'expires', undefined],
    ['nor is a 404 that a rule makes', '/*\n  Cache-Control: max-age=60\n', '/lost', 'cache-control', 'no-store'],
  ]
  test('defaults, except those of errors', () => {
    for (const [name, headers, target, of, expected] of rows)
      assert.equal(header(getResponse(ruled(headers), target), of), expected, name)
  })

  test('the Content-Security-Policy of the site’s own pages, not of generated ones', () => {
    const headers = "/*\n  Content-Security-Policy: default-src 'self'\n"
    const csp = (paths: string[], target: string, conditions: RequestHeaders = {}) =>
      header(getResponse(buildTable(paths, { headers }), target, conditions), 'content-security-policy')
    const listing = csp(['one.bin', 'two.bin'], '/')
    for (const policy of [listing, csp(['index.html'], '/nowhere')])
      assert.match(policy!, /^default-src 'none'; style-src 'sha256-/)
    assert.equal(csp(['one.bin', 'two.bin'], '/', { 'if-none-match': '*' }), listing)
    assert.equal(csp(FILES, '/nowhere'), "default-src 'self'")
    assert.equal(csp(FILES, '/'), "default-src 'self'")
  })

  for (const [name, policy] of Object.entries({ 'behind a password': LOCKED, 'of a preview': PREVIEW })) {
    test(`nothing ${name} to be cacheable`, () => {
      const table = ruled(
        '/*\n  Cache-Control: public, max-age=60\n  Expires: Thu, 01 Jan 2099 00:00:00 GMT\n  ! Cache-Control\n',
        policy,
      )
      for (const target of ['/', '/a.txt', '/docs', '/moved', '/rewritten']) {
        const answer = getResponse(table, target)
        assert.equal(header(answer, 'cache-control'), 'private, no-store', target)
        assert.equal(header(answer, 'expires'), undefined)
      }
      for (const target of ['/lost', '/nowhere']) {
        assert.equal(header(getResponse(table, target), 'cache-control'), 'no-store')
      }
    })
  }

  test('nothing that makes a preview indexable', () => {
    for (const line of ['X-Robots-Tag: all', '! X-Robots-Tag']) {
      const table = ruled(`/*\n  ${line}\n`, PREVIEW)
      for (const target of ['/', '/docs', '/moved', '/lost']) {
        assert.equal(header(getResponse(table, target), 'x-robots-tag'), 'noindex', `${line} ${target}`)
      }
    }
    assert.equal(header(getResponse(ruled('/*\n  X-Robots-Tag: none\n'), '/'), 'x-robots-tag'), 'none')
  })
})

test('a response that was built before is not that of another path or status', () => {
  const table = ruled('/a.txt\n  X-A: 1\n')
  assert.equal(header(getResponse(table, '/a.txt'), 'x-a'), '1')
  assert.equal(header(getResponse(table, '/rewritten'), 'x-a'), undefined)
  assert.equal(header(getResponse(table, '/a.txt', { 'if-none-match': '*' }), 'x-a'), '1')
})

describe('rules over HTTP', () => {
  const edge = EdgeFixture.shared()

  const contents = {
    'index.html': 'home',
    _redirects: '/old/* /new/:splat 301\nhttp://www.example.org/only / 302\n/spa/* /index.html 200\n',
    _headers: '/*\n  X-Site: ours\nhttps://www.example.org/*\n  X-Domain: yes\n',
  }

  test('apply at the host of the site, of a version and of a domain, until another version is live', async () => {
    const slug = await edge.publish(contents)
    const draft = await edge.createVersion(slug, contents, { live: false })
    await edge.addDomain('www.example.org', slug)
    for (const [host, domain, only] of [
      [edge.host(slug), undefined, 404],
      ['www.example.org', 'yes', 302],
      [edge.host(`${draft}--${slug}`), undefined, 404],
      ['WWW.example.org:8080', 'yes', 302],
      [edge.host(slug), undefined, 404],
    ] as const) {
      for (const path of ['/', '/nowhere', '/spa/x']) {
        const { headers } = await edge.request(host, path)
        assert.deepEqual([headers['x-site'], headers['x-domain']], ['ours', domain], `${host} ${path}`)
      }
      const moved = await edge.request(host, '/old/a?b=c')
      assert.deepEqual([moved.status, moved.headers.location], [301, '/new/a?b=c'])
      assert.equal((await edge.request(host, '/spa/x')).text, 'home')
      assert.equal((await edge.request(host, '/only')).status, only)
    }
    await edge.createVersion(slug, { 'index.html': 'home' })
    for (const path of ['/old/a', '/_redirects']) {
      const { status, headers } = await edge.get(slug, path)
      assert.deepEqual([status, headers['x-site']], [404, undefined])
    }
  })

  test('answer CORS preflight requests', async () => {
    const slug = await edge.publish({
      ...contents,
      _headers: '/fonts/*\n  Access-Control-Allow-Origin: *\n  Access-Control-Allow-Headers: Range\n',
    })
    const { status, headers } = await edge.get(slug, '/fonts/a.ttf', { method: 'OPTIONS' })
    assert.deepEqual([status, headers.allow], [204, 'GET, HEAD, OPTIONS'])
    assert.equal(headers['access-control-allow-origin'], '*')
    assert.equal(headers['access-control-allow-headers'], 'Range')
    const other = await edge.get(slug, '/', { method: 'OPTIONS' })
    assert.deepEqual([other.status, other.headers['access-control-allow-origin']], [204, undefined])
  })
})
