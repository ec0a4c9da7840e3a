import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { buildTable, describeResponse, getResponse, HOST, header, toStoredFile } from './responses.ts'

const FILES = `
index.html|404.html|about.html|app.js|app.html|style.css|data.json|docs/index.html|docs/404.html
caf\u00e9.html|old/exact.txt`
  .slice(1)
  .split(/[|\n]/)

type Row = [rules: string, target: string, expected: string]

const cases: [title: string, rows: Row[]][] = [
  [
    'files come before rules',
    [
      ['/about /app 301', '/about', 'about.html'],
      ['/about.html /app 301', '/about.html', 'about.html'],
      ['/about /app 301\n/x /y 301!', '/about', 'about.html'],
      ['/docs /app 301', '/docs', '→ /docs/'],
      ['/docs/ /app 301', '/docs/', 'docs/index.html'],
      ['/ /app 301', '/', 'index.html'],
      ['/* /app 301', '/style.css', 'style.css'],
      ['/* /app 301', '/nowhere', '→ /app'],
      ['/gone /app 301', '/gone', '→ /app'],
      ['/gone /app 301', '/gone/', '→ /app'],
    ],
  ],
  [
    'rules with ! come before files',
    [
      ['/about /app 301!', '/about', '→ /app'],
      ['/about.html /app 302!', '/about.html', '→ 302 /app'],
      ['/docs /app 301!', '/docs', '→ /app'],
      ['/ /app 302!', '/', '→ 302 /app'],
      ['/about /app.html 200!', '/about', 'app.html'],
      ['/about /nowhere 200!', '/about', '404 404.html'],
      ['/about /404.html 404!', '/about', '404 404.html'],
      ['/old/* /new/:splat 301!', '/old/exact.txt', '→ /new/exact.txt'],
      ['/about /first 301\n/about /second 301!', '/about', '→ /second'],
      ['/nowhere /first 301\n/nowhere /second 301!', '/nowhere', '→ /second'],
    ],
  ],
  [
    'redirects',
    [
      ['/a /b', '/a', '→ /b'],
      ...[302, 303, 307, 308].map((status): Row => [`/a /b ${status}`, '/a', `→ ${status} /b`]),
      ['/a https://example.org/b 301', '/a', '→ https://example.org/b'],
      ['/a id=:id /b/:id', '/a?id=7', '→ /b/7'],
      ['/news/* /blog/:splat', '/news/2024/x', '→ /blog/2024/x'],
      ['/go/* /:splat', '/go//evil.example', '→ /evil.example'],
      ['/go/* https://example.org/:splat', '/go/a//b', '→ https://example.org/a//b'],
      ['/a /b', '//a', '→ /a'],
      ['/* https://example.org/:splat 301!', '//a', '→ https://example.org//a'],
    ],
  ],
  [
    'rewrites are answered with a file of the site',
    [
      ['/a /about.html 200', '/a', 'about.html'],
      ['/a /about 200', '/a', 'about.html'],
      ['/a /docs/ 200', '/a', 'docs/index.html'],
      ['/a /docs 200', '/a', 'docs/index.html'],
      ['/a / 200', '/a', 'index.html'],
      ['/* /index.html 200', '/any/where', 'index.html'],
      ['/* /index.html 200', '//any', '→ /any'],
      ['/* /index.html 200', '/view/https://example.org/a', 'index.html'],
      ['/* /index.html 200', '/any/users.doe', 'index.html'],
      ['/a /caf%C3%A9 200', '/a', 'caf\u00e9.html'],
      ['/a /caf\u00e9.html 200', '/a', 'caf\u00e9.html'],
      ['/a /nowhere 200', '/a', '404 404.html'],
      ['/docs/a /nowhere 200', '/docs/a', '404 docs/404.html'],
      ['/a /b 200\n/b /about 200', '/a', '404 404.html'],
      ['/x/* /old/:splat 200', '/x/exact.txt', 'old/exact.txt'],
      ['/x/* /old/:splat 200', '/x/..%2f_redirects', '404 404.html'],
      ['/x/* /:splat 200', '/x/_redirects', '404 404.html'],
      ['/x/* /:splat 200', '/x/_headers', '404 404.html'],
      ['/x /_redirects 200', '/x', '404 404.html'],
      ['/api/* /data.json 200', '/api/v1/users', 'data.json'],
    ],
  ],
  [
    'a rule can return 404',
    [
      ['/a /about.html 404', '/a', '404 about.html'],
      ['/* /docs/404.html 404', '/x/y', '404 docs/404.html'],
      ['/about /404.html 404', '/about', 'about.html'],
      ['/about /404.html 404!', '/about', '404 404.html'],
      ['/a /nowhere 404', '/a', '404 404.html'],
    ],
  ],
  [
    'a script or a style is never HTML',
    [
      ...['js', 'mjs', 'cjs', 'CSS'].map((extension): Row => {
        return ['/* /index.html 200', `/missing.${extension}`, '404 text']
      }),
      ['/* /index.html 200', '/missing%2ejs', '404 text'],
      ['/* /index.html 200!', '/missing.js', '404 text'],
      ['/* /index.html 200!', '/app.js', '404 text'],
      ['/:name /index.html 200!', '/app.js', '404 text'],
      ['/* /404.html 404', '/missing.js', '404 text'],
      ['/missing.js /index.html 200', '/missing.js', '404 text'],
      ['/missing.js /index.html 200!', '/missing.js', 'index.html'],
      ['/missing.js /app.js 200', '/missing.js', 'app.js'],
      ['/v1/*  /:splat 200', '/v1/app.js', 'app.js'],
      ['/* /data.json 200', '/missing.js', 'data.json'],
      ['/missing.js /elsewhere.js 301', '/missing.js', '→ /elsewhere.js'],
    ],
  ],
  [
    'an image, a font, data or a program is a page only by a forced rule',
    [
      ...['png', 'SVG', 'ico', 'woff2', 'ttf', 'json', 'js.map', 'wasm', 'webmanifest'].flatMap(
        (extension): Row[] => [
          ['/* /index.html 200', `/missing.${extension}`, '404 404.html'],
          ['/* /index.html 200!', `/missing.${extension}`, 'index.html'],
        ],
      ),
      ['/* /index.html 200', '/docs/missing.png', '404 docs/404.html'],
      ['/* /404.html 404', '/missing.png', '404 404.html'],
      ['/* /data.json 200', '/missing.png', 'data.json'],
    ],
  ],
  [
    'a path that programs probe is a page only by a forced rule, or one of its own',
    [
      ...['/.well-known/change-password', '/robots.txt', '/sitemap-0.xml'].flatMap((path): Row[] => [
        ['/* /index.html 200', path, '404 404.html'],
        ['/* /index.html 200!', path, 'index.html'],
        [`${path} /index.html 200`, path, 'index.html'],
      ]),
      ['/* /index.html 200', '/docs/robots.txt', 'index.html'],
      ['/* /data.json 200', '/.well-known/x', 'data.json'],
    ],
  ],
  [
    'what cannot be read is no match of anything',
    [
      ['/* /app 301', '/%', '400'],
      ['/* /app 301!', '/%zz', '400'],
      ['/* /index.html 200', '/%ff', '400'],
      ['/* /index.html 200!', '/%c3%28', '400'],
    ],
  ],
  [
    'the rules themselves are not served',
    [
      ['/a /b', '/_redirects', '404 404.html'],
      ['/a /b', '/_headers', '404 404.html'],
      ['/a /b', '/%5Fredirects', '404 404.html'],
      ['/* /index.html 200', '/_redirects', 'index.html'],
    ],
  ],
]

for (const [name, rows] of cases) {
  test(`_redirects ${name}`, () => {
    for (const [redirects, target, expected] of rows) {
      const table = buildTable([...FILES, '_redirects', '_headers'], { redirects })
      assert.equal(describeResponse(table, target), expected, `${target} with ${JSON.stringify(redirects)}`)
    }
  })
}

describe('a response by a rule', () => {
  const table = buildTable(FILES, {
    redirects: '/moved /about 302\n/app/* /app.html 200\n/lost/* /about.html 404\n',
    encodings: new Map(
      ['app.html', 'about.html'].map((path) => [toStoredFile(path).hash!, { br: 5, zstd: null, gzip: null }]),
    ),
  })

  test('that redirects is not cached, and has no body', () => {
    const answer = getResponse(table, '/moved')
    assert.equal(
      answer.headers.join('|'),
      'Location|/about|Content-Length|0|Cache-Control|public, max-age=0, must-revalidate',
    )
    assert.equal(answer.content ?? answer.body, undefined)
  })

  test('that redirects has the values of its own request, whichever were requested before', () => {
    const varying = buildTable(FILES, { redirects: '/news/* /blog/:splat\n/a id=:id /b/:id\n' })
    for (const [target, location] of [
      ['/news/one', '/blog/one'],
      ['/news/two', '/blog/two'],
      ['/news/one', '/blog/one'],
      ['/a?id=1', '/b/1'],
      ['/a?id=2', '/b/2'],
    ] as const)
      assert.equal(header(getResponse(varying, target), 'location'), location)
  })

  test('to an address of the site is passed over at that host alone, whichever was requested before', () => {
    const rules = '/moved https://www.example.com/moved\n/moved /here\n'
    for (const hosts of [
      ['www.example.com', HOST, 'www.example.com'],
      [HOST, 'www.example.com', HOST],
    ]) {
      const moving = buildTable(FILES, { redirects: rules })
      for (const host of hosts)
        assert.equal(
          header(getResponse(moving, '/moved', { host }), 'location'),
          host === HOST ? 'https://www.example.com/moved' : '/here',
        )
    }
  })

  test('that rewrites equals that of the file', () => {
    for (const headers of [
      {},
      { 'accept-encoding': 'br' },
      { 'if-none-match': '*' },
      { 'if-match': '"other"' },
      { range: 'bytes=1-2' },
      { range: 'bytes=100-' },
    ]) {
      const { status, ...rewritten } = getResponse(table, '/app/deep/down', headers)
      assert.deepEqual({ status, ...rewritten }, getResponse(table, '/app.html', headers))
    }
  })

  test('with 404 is encoded, and ignores conditions and ranges', () => {
    for (const more of [{}, { 'if-none-match': '*' }, { 'if-match': '"other"' }, { range: 'bytes=1-2' }]) {
      const answer = getResponse(table, '/lost/a', { 'accept-encoding': 'br', ...more })
      assert.equal(answer.status, 404)
      assert.equal(header(answer, 'content-encoding'), 'br')
      assert.equal(header(answer, 'cache-control'), 'no-store')
      assert.equal(header(answer, 'etag'), undefined)
    }
  })
})
