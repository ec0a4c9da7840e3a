import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { safeRedirectTarget } from '../../server/edge/password/form.ts'
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
${NFC}.txt|${OTHER_NFD}.txt|${OTHER_NFD}/index.html|${OTHER_NFD}/404.html|日本/本.html|\ufeffbom.txt|x/index.html/deep.txt
C:/windows.txt`
  .slice(1)
  .split(/[|\n]/)

const table = buildTable(PATHS)

/** The response to a path: a file's name, `→` a redirect, `404` with its page, `404 text`, `404 plain` or `400`. */
function outcome(path: string): string {
  return describeResponse(table, path)
}

const encode = encodeURIComponent
const COMPOSED = OTHER_NFD.normalize('NFC')

/** Targets by their outcome; `itself` is the file of that name. */
const cases: Record<string, Record<string, string>> = {
  'exact names': {
    itself: `
      /index.html /about.html /app.js /notes..txt /.well-known/security.txt /folder/file.txt /docs/index.html /404.html
      /plain /plain.html /_slipway/password /sub/_headers /sub/_redirects /.html /..html /x/index.html/deep.txt
      /C:/windows.txt /both.html`,
  },
  'folders and pages': {
    'index.html': '/ /index',
    'about.html': '/about',
    '404.html': '/404',
    'docs/index.html': '/docs/ /docs/index',
    'docs/guide.html': '/docs/guide',
    'docs/guide/deep/page.html': '/docs/guide/deep/page',
    'both/index.html': '/both/',
    '→ /docs/': '/docs /%64ocs',
    '→ /docs/?': '/docs?',
    '→ /docs/?a=%20&b=//evil.example': '/docs?a=%20&b=//evil.example',
    '→ /both/': '/both',
    '→ /sp%20ace/': '/sp%20ace',
    '→ /q%3Fdir/': '/q%3Fdir',
    '404 404.html': '/about/ /about.html/ /folder /folder/ /x /. /..',
    '404 docs/404.html': '/docs/guide/ /docs/guide/deep',
  },
  'rules are read, never served': {
    '404 404.html': '/_headers /_redirects /%5Fheaders /%5f%72edirects /_headers/ /./_headers',
    '→ /_headers': '//_headers',
  },
  'percent-encoding': {
    'read me.txt': '/read%20me.txt',
    'about.html': '/%61bout',
    'app.js': '/app%2ejs /app%2Ejs',
    '100%.txt': '/100%25.txt',
    'a+b.txt': '/a+b.txt /a%2Bb.txt',
    'q?.txt': '/q%3F.txt',
    'hash#.txt': '/hash%23.txt',
    '400': '/% /100%.txt /%2 /%zz /%u0041 /%ff /%A0 /%c3 /%c0%ae%c0%ae/ /%ed%a0%80',
    '404 404.html': '/a%20b.txt /%252e%252e/ /app.js%00 /app.js%0a',
    '404 text': '/%00app.js',
  },
  'nothing escapes': {
    '404 404.html': `
      /folder%2Ffile.txt /folder%2ffile.txt /folder\\file.txt /folder%5Cfile.txt /../index.html /.. /folder/%2e%2e/about.html
      /folder/./file.txt /\\evil.example /%09/evil.example /%2Fdocs //%2Fevil.example /go/https://x/y /\\docs /docs%2F /toString /__proto__`,
    '404 text': '/folder/../app.js',
    '404 docs/404.html': '/docs/%2e%2e/',
  },
  'several slashes are one, by a redirect to a path of the site': {
    '→ /': '// ///',
    '→ /?a=//b': '//?a=//b',
    '→ /folder/file.txt': '/folder//file.txt //folder/file.txt ///folder////file.txt',
    '→ /docs': '//docs',
    '→ /docs/': '/docs//',
    '→ /nowhere': '//nowhere',
    '→ /evil.example': '//evil.example',
    '→ /evil.example/..': '//evil.example/..',
    '→ /%5Cevil.example': '//\\evil.example //%5Cevil.example',
    '→ /q%3F.txt': '//q%3F.txt',
    '→ /%40evil.example': '//@evil.example',
  },
  'case and Unicode': {
    itself: '/Case.txt /case.txt',
    [`${NFC}.txt`]: `/${encode(NFC)}.txt /${encode(NFD)}.txt`,
    [`${OTHER_NFD}.txt`]: `/${encode(OTHER_NFD)}.txt /${encode(COMPOSED)}.txt`,
    [`→ /${encode(OTHER_NFD)}/`]: `/${encode(COMPOSED)}`,
    [`${OTHER_NFD}/index.html`]: `/${encode(COMPOSED)}/`,
    '日本/本.html': '/%E6%97%A5%E6%9C%AC/%E6%9C%AC /%e6%97%a5%e6%9c%ac/%e6%9c%ac.html',
    '\ufeffbom.txt': '/%EF%BB%BFbom.txt',
    '404 404.html': '/CASE.txt /INDEX.HTML /bom.txt',
  },
  'the nearest 404 page': {
    '404 404.html': '/nowhere /docsx/a /doc /nowhere.html /nowhere.png /nowhere.js.map /js',
    '404 docs/404.html': '/docs/nowhere /docs/a/b/c/d',
    [`404 ${OTHER_NFD}/404.html`]: `/${encode(OTHER_NFD)}/nowhere /${encode(COMPOSED)}/nowhere`,
    '404 text': '/nowhere.js /docs/nowhere.mjs /nowhere.CSS',
  },
}

for (const [title, outcomes] of Object.entries(cases)) {
  test(`resolving ${title}`, () => {
    for (const [expected, targets] of Object.entries(outcomes))
      for (const target of targets.trim().split(/\s+/))
        assert.equal(outcome(target), expected === 'itself' ? target.slice(1) : expected, target)
  })
}

test('a site without a 404 page gets the plain one', () => {
  const bare = buildTable(['docs/404.html', 'docs/a.txt'])
  assert.equal(describeResponse(bare, '/a'), '404 plain')
  assert.equal(describeResponse(bare, '/docs'), '404 plain')
})

test('a path of 300,000 segments is resolved in linear time', () => {
  assert.equal(outcome(`/docs/${'a/'.repeat(300_000)}`), '404 docs/404.html')
})

describe('the host of a request', () => {
  const id = '01jzk3x9w8v7t6s5r4q3p2n1m0'
  const rows: Record<string, (string | undefined)[]> = {
    'site amber-harbor-k7x3m2': [
      ...['', ':8080', ':', '.', '.:80'].map((end) => `amber-harbor-k7x3m2.sites.test${end}`),
      'AMBER-Harbor-K7X3M2.Sites.TEST',
    ],
    'version amber-harbor-k7x3m2': [`${id}--amber-harbor-k7x3m2`, 'pr-42--amber-harbor-k7x3m2'].map(below),
    'version amber': [`${id.toUpperCase()}--AMBER`, 'PR-42--AMBER', `${id.slice(1)}--amber`].map(below),
    unknown: [
      ...[`${id}0--amber`, `${id.replace('0', 'u')}--amber`, `${id}--amber--x`, 'pr-42--amber--x'].map(below),
      ...[
        `${id}--`,
        `${id}---a`,
        'a--b',
        'xn--amber',
        '-pr--amber',
        'pr---amber',
        '-a',
        'a.b',
        '',
        'a_b',
        'a'.repeat(36),
      ].map(below),
      ...['sites.test', 'b\u00fccher.example', 'a b.example', 'user@example.org', 'example..org'],
      `${'a.'.repeat(130)}org`,
    ],
    'domain www.example.org': ['www.example.org'],
    'domain example.org': ['Example.ORG:443', 'example.org.'],
    'domain evilsites.test': ['evilsites.test'],
    'domain xn--bcher-kva.example': ['xn--bcher-kva.example'],
    service: [
      ...[
        'api.test',
        'api.test:8080',
        'API.TEST.',
        'localhost:8080',
        'slipway',
        '127.0.0.1:8080',
        '[::1]:8080',
      ],
      ...['[::ffff:1.2.3.4]', '', undefined],
    ],
  }
  const hosts = new Hosts(new UrlBuilder({ baseUrl: 'https://api.test:8080', siteDomain: 'sites.test' }))
  for (const [expected, headers] of Object.entries(rows)) {
    test(`is ${expected}`, () => {
      for (const header of headers) {
        const { kind, slug, domain } = hosts.read(header) as unknown as Record<string, string>
        assert.equal([kind, slug, domain].filter(Boolean).join(' '), expected, `${header}`)
      }
    })
  }

  function below(label: string): string {
    return `${label}.sites.test`
  }

  test('may be of the API beside the sites or below their domain', () => {
    for (const [baseUrl, siteDomain, service, site] of [
      ['http://localhost:8080', 'localhost', 'localhost:8080', 'amber.localhost:8080'],
      ['https://api.sites.test', 'sites.test', 'api.sites.test', 'amber.sites.test'],
    ] as const) {
      const hosts = new Hosts(new UrlBuilder({ baseUrl, siteDomain }))
      assert.deepEqual([hosts.read(service).kind, hosts.read(site).kind], ['service', 'site'])
    }
  })
})

test('the redirect after a password never leaves the host', () => {
  for (const path of ['/docs/?a=1&b=2', '/a//b', '/caf%C3%A9']) assert.equal(safeRedirectTarget(path), path)
  for (const refused of [
    ...[
      null,
      '',
      '//evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      '/a\\b',
      '/\nSet-Cookie: a=b',
      '/ //evil.example',
    ],
    ...['https://evil.example/', 'evil.example', 'javascript:alert(1)', '/\u00e9'],
  ])
    assert.equal(safeRedirectTarget(refused), '/', `${refused}`)
})
