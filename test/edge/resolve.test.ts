import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { safeRedirectTarget } from '../../server/edge/password/redirect-target.ts'
import { Hosts } from '../../server/edge/resolve/host.ts'
import { UrlBuilder } from '../../server/sites/urls.ts'
import { buildTable, describeResponse } from './responses.ts'

const NFC = 'caf\u00e9'
const NFD = 'cafe\u0301'
const OTHER_NFD = 'nai\u0308f'

const PATHS = `
index.html|404.html|about.html|app.js|read me.txt|notes..txt|100%.txt|a+b.txt|q?.txt|hash#.txt|Case.txt
case.txt|.well-known/security.txt|.html|..html|...html|docs/index.html|docs/404.html|docs/guide.html
docs/guide/deep/page.html|both.html|both/index.html|plain|plain.html|folder/file.txt|folder/.html
sp ace/index.html|q?dir/index.html|_headers|_redirects|sub/_headers|sub/_redirects|_slipway/password
${NFC}.txt|${OTHER_NFD}.txt|${OTHER_NFD}/index.html|日本/本.html|\ufeffbom.txt|x/index.html/deep.txt
C:/windows.txt`
  .slice(1)
  .split(/[|\n]/)

const table = buildTable(PATHS)

/** The response to a path: a file's name, `→` a redirect, `404` with its page, `404 text`, `404 plain` or `400`. */
function outcome(path: string): string {
  return describeResponse(table, path)
}

const cases: [string, [string, string][]][] = [
  [
    'exact names',
    [
      ['/index.html', 'index.html'],
      ['/about.html', 'about.html'],
      ['/app.js', 'app.js'],
      ['/notes..txt', 'notes..txt'],
      ['/.well-known/security.txt', '.well-known/security.txt'],
      ['/folder/file.txt', 'folder/file.txt'],
      ['/docs/index.html', 'docs/index.html'],
      ['/404.html', '404.html'],
      ['/plain', 'plain'],
      ['/plain.html', 'plain.html'],
      ['/_slipway/password', '_slipway/password'],
      ['/sub/_headers', 'sub/_headers'],
      ['/sub/_redirects', 'sub/_redirects'],
      ['/.html', '.html'],
      ['/..html', '..html'],
      ['/x/index.html/deep.txt', 'x/index.html/deep.txt'],
      ['/C:/windows.txt', 'C:/windows.txt'],
    ],
  ],
  [
    'folders and pages',
    [
      ['/', 'index.html'],
      ['/docs/', 'docs/index.html'],
      ['/docs', '→ /docs/'],
      ['/both', '→ /both/'],
      ['/both/', 'both/index.html'],
      ['/both.html', 'both.html'],
      ['/about', 'about.html'],
      ['/index', 'index.html'],
      ['/docs/index', 'docs/index.html'],
      ['/docs/guide', 'docs/guide.html'],
      ['/docs/guide/deep/page', 'docs/guide/deep/page.html'],
      ['/404', '404.html'],
      ['/about/', '404 404.html'],
      ['/about.html/', '404 404.html'],
      ['/folder', '404 404.html'],
      ['/folder/', '404 404.html'],
      ['/docs/guide/', '404 docs/404.html'],
      ['/docs/guide/deep', '404 docs/404.html'],
      ['/x', '404 404.html'],
      ['/.', '404 404.html'],
      ['/..', '404 404.html'],
      ['/folder/', '404 404.html'],
      ['/sp%20ace', '→ /sp%20ace/'],
      ['/q%3Fdir', '→ /q%3Fdir/'],
    ],
  ],
  [
    'rules are read, never served',
    [
      ['/_headers', '404 404.html'],
      ['/_redirects', '404 404.html'],
      ['/%5Fheaders', '404 404.html'],
      ['/%5f%72edirects', '404 404.html'],
      ['/_headers/', '404 404.html'],
      ['//_headers', '404 404.html'],
      ['/./_headers', '404 404.html'],
    ],
  ],
  [
    'percent-encoding',
    [
      ['/read%20me.txt', 'read me.txt'],
      ['/%61bout', 'about.html'],
      ['/app%2ejs', 'app.js'],
      ['/app%2Ejs', 'app.js'],
      ['/100%25.txt', '100%.txt'],
      ['/a+b.txt', 'a+b.txt'],
      ['/a%2Bb.txt', 'a+b.txt'],
      ['/a%20b.txt', '404 404.html'],
      ['/q%3F.txt', 'q?.txt'],
      ['/hash%23.txt', 'hash#.txt'],
      ['/%', '400'],
      ['/100%.txt', '400'],
      ['/%2', '400'],
      ['/%zz', '400'],
      ['/%u0041', '400'],
      ['/%ff', '400'],
      ['/%A0', '400'],
      ['/%c3', '400'],
      ['/%c0%ae%c0%ae/', '400'],
      ['/%ed%a0%80', '400'],
      ['/%252e%252e/', '404 404.html'],
      ['/app.js%00', '404 404.html'],
      ['/%00app.js', '404 text'],
      ['/app.js%0a', '404 404.html'],
    ],
  ],
  [
    'nothing escapes',
    [
      ['/folder%2Ffile.txt', '404 404.html'],
      ['/folder%2ffile.txt', '404 404.html'],
      ['/folder\\file.txt', '404 404.html'],
      ['/folder%5Cfile.txt', '404 404.html'],
      ['/../index.html', '404 404.html'],
      ['/..', '404 404.html'],
      ['/folder/../app.js', '404 text'],
      ['/folder/%2e%2e/about.html', '404 404.html'],
      ['/folder/./file.txt', '404 404.html'],
      ['/folder//file.txt', '404 404.html'],
      ['//folder/file.txt', '404 404.html'],
      ['//evil.example', '404 404.html'],
      ['//evil.example/..', '404 404.html'],
      ['/\\evil.example', '404 404.html'],
      ['/%09/evil.example', '404 404.html'],
      ['//docs', '404 404.html'],
      ['/%2Fdocs', '404 404.html'],
      ['/\\docs', '404 404.html'],
      ['/docs%2F', '404 404.html'],
      ['/docs//', '404 docs/404.html'],
      ['/docs/%2e%2e/', '404 docs/404.html'],
      ['/toString', '404 404.html'],
      ['/__proto__', '404 404.html'],
    ],
  ],
  [
    'case and Unicode',
    [
      ['/Case.txt', 'Case.txt'],
      ['/case.txt', 'case.txt'],
      ['/CASE.txt', '404 404.html'],
      ['/INDEX.HTML', '404 404.html'],
      [`/${encodeURIComponent(NFC)}.txt`, `${NFC}.txt`],
      [`/${encodeURIComponent(NFD)}.txt`, `${NFC}.txt`],
      [`/${encodeURIComponent(OTHER_NFD)}.txt`, `${OTHER_NFD}.txt`],
      [`/${encodeURIComponent(OTHER_NFD.normalize('NFC'))}.txt`, `${OTHER_NFD}.txt`],
      [`/${encodeURIComponent(OTHER_NFD.normalize('NFC'))}`, `→ /${encodeURIComponent(OTHER_NFD)}/`],
      [`/${encodeURIComponent(OTHER_NFD.normalize('NFC'))}/`, `${OTHER_NFD}/index.html`],
      ['/%E6%97%A5%E6%9C%AC/%E6%9C%AC', '日本/本.html'],
      ['/%e6%97%a5%e6%9c%ac/%e6%9c%ac.html', '日本/本.html'],
      ['/%EF%BB%BFbom.txt', '\ufeffbom.txt'],
      ['/bom.txt', '404 404.html'],
    ],
  ],
  [
    'the nearest 404 page',
    [
      ['/nowhere', '404 404.html'],
      ['/docs/nowhere', '404 docs/404.html'],
      ['/docs/a/b/c/d', '404 docs/404.html'],
      ['/docsx/a', '404 404.html'],
      ['/doc', '404 404.html'],
      ['/nowhere.html', '404 404.html'],
      ['/nowhere.png', '404 404.html'],
      ['/nowhere.js', '404 text'],
      ['/docs/nowhere.mjs', '404 text'],
      ['/nowhere.CSS', '404 text'],
      ['/nowhere.js.map', '404 404.html'],
      ['/js', '404 404.html'],
    ],
  ],
]

for (const [name, rows] of cases) {
  describe(`resolving: ${name}`, () => {
    for (const [path, expected] of rows) {
      test(`${JSON.stringify(path)} gets ${expected}`, () => assert.equal(outcome(path), expected))
    }
  })
}

test('a site without a 404 page gets the plain one', () => {
  const bare = buildTable(['docs/404.html', 'docs/a.txt'])
  assert.equal(describeResponse(bare, '/a'), '404 plain')
  assert.equal(describeResponse(bare, '/docs'), '404 plain')
})

test('a path of eight thousand segments is resolved fast', () => {
  const path = `/docs/${'a/'.repeat(8000)}`
  const start = performance.now()
  for (let round = 0; round < 100; round++) assert.equal(outcome(path), '404 docs/404.html')
  assert.ok(performance.now() - start < 500)
})

describe('hosts', () => {
  const id = '01jzk3x9w8v7t6s5r4q3p2n1m0'
  const rows: [string | undefined, string][] = [
    ['amber-harbor-k7x3m2.sites.test', 'site amber-harbor-k7x3m2'],
    ['amber-harbor-k7x3m2.sites.test:8080', 'site amber-harbor-k7x3m2'],
    ['amber-harbor-k7x3m2.sites.test:', 'site amber-harbor-k7x3m2'],
    ['amber-harbor-k7x3m2.sites.test.', 'site amber-harbor-k7x3m2'],
    ['amber-harbor-k7x3m2.sites.test.:80', 'site amber-harbor-k7x3m2'],
    ['AMBER-Harbor-K7X3M2.Sites.TEST', 'site amber-harbor-k7x3m2'],
    [`${id}--amber-harbor-k7x3m2.sites.test`, `version ${id} amber-harbor-k7x3m2`],
    [`${id.toUpperCase()}--AMBER.sites.test`, `version ${id} amber`],
    [`${id.slice(1)}--amber.sites.test`, 'unknown'],
    [`${id}0--amber.sites.test`, 'unknown'],
    [`${id.replace('0', 'u')}--amber.sites.test`, 'unknown'],
    [`${id}--amber--x.sites.test`, 'unknown'],
    [`${id}--.sites.test`, 'unknown'],
    [`${id}---a.sites.test`, 'unknown'],
    ['a--b.sites.test', 'unknown'],
    ['-a.sites.test', 'unknown'],
    ['a.b.sites.test', 'unknown'],
    ['.sites.test', 'unknown'],
    ['a_b.sites.test', 'unknown'],
    [`${'a'.repeat(36)}.sites.test`, 'unknown'],
    ['sites.test', 'unknown'],
    ['www.example.org', 'domain www.example.org'],
    ['Example.ORG:443', 'domain example.org'],
    ['example.org.', 'domain example.org'],
    ['evilsites.test', 'domain evilsites.test'],
    ['xn--bcher-kva.example', 'domain xn--bcher-kva.example'],
    ['b\u00fccher.example', 'unknown'],
    ['a b.example', 'unknown'],
    ['user@example.org', 'unknown'],
    ['example..org', 'unknown'],
    [`${'a.'.repeat(130)}org`, 'unknown'],
    ['api.test', 'service'],
    ['api.test:8080', 'service'],
    ['API.TEST.', 'service'],
    ['localhost:8080', 'service'],
    ['slipway', 'service'],
    ['127.0.0.1:8080', 'service'],
    ['[::1]:8080', 'service'],
    ['[::ffff:1.2.3.4]', 'service'],
    ['', 'service'],
    [undefined, 'service'],
  ]
  const hosts = new Hosts(new UrlBuilder({ baseUrl: 'https://api.test:8080', siteDomain: 'sites.test' }))
  for (const [header, expected] of rows) {
    test(`${JSON.stringify(header)} is ${expected}`, () => {
      assert.equal(
        Object.values(hosts.read(header))
          .filter((value) => typeof value === 'string')
          .sort(byKind)
          .join(' '),
        expected,
      )
    })
  }

  test('the default settings separate the API from the sites below it', () => {
    const local = new Hosts(new UrlBuilder({ baseUrl: 'http://localhost:8080', siteDomain: 'localhost' }))
    assert.equal(local.read('localhost:8080').kind, 'service')
    assert.equal(local.read('amber.localhost:8080').kind, 'site')
  })

  test('the API may be below the domain of the sites', () => {
    const below = new Hosts(new UrlBuilder({ baseUrl: 'https://api.sites.test', siteDomain: 'sites.test' }))
    assert.equal(below.read('api.sites.test').kind, 'service')
    assert.equal(below.read('amber.sites.test').kind, 'site')
  })

  function byKind(one: string, other: string): number {
    const rank = (text: string) =>
      /^(site|version|domain|unknown|service)$/.test(text) ? 0 : /^\w{26}$/.test(text) ? 1 : 2
    return rank(one) - rank(other)
  }
})

describe('the redirect after a password', () => {
  const rows: [string | null, string][] = [
    ['/docs/?a=1&b=2', '/docs/?a=1&b=2'],
    ['/a//b', '/a//b'],
    ['/caf%C3%A9', '/caf%C3%A9'],
    [null, '/'],
    ['', '/'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['/a\\b', '/'],
    ['/\nSet-Cookie: a=b', '/'],
    ['/ //evil.example', '/'],
    ['https://evil.example/', '/'],
    ['evil.example', '/'],
    ['javascript:alert(1)', '/'],
    ['/\u00e9', '/'],
  ]
  for (const [next, expected] of rows) {
    test(`${JSON.stringify(next)} leads to ${expected}`, () =>
      assert.equal(safeRedirectTarget(next), expected))
  }

  test('no accepted path leaves the host', () => {
    for (const [next] of rows) {
      assert.equal(new URL(safeRedirectTarget(next), 'http://amber.sites.test/x').host, 'amber.sites.test')
    }
  })
})
