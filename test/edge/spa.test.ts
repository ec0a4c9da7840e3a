import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RequestHeaders } from '../../packages/http-server/http-handler.ts'
import { buildTable, describeResponse, getResponse, header } from './responses.ts'

const FILES = ['index.html', '404.html', 'app.js', 'docs/index.html', 'page.html', 'docs/404.html']
const PAGE: RequestHeaders = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

describe('with spaMode, a path without a file', () => {
  const table = buildTable(FILES, { spaMode: true })
  const cases: [expected: string, targets: string, headers: RequestHeaders[]][] = [
    [
      'index.html',
      '/users /users/ /users/7/edit?tab=1 /users/jane.doe /v1.2 /v1.2/notes /a.js/b /js /license /.well-known /caf%C3%A9',
      [
        ...[{}, PAGE, { ...PAGE, 'sec-fetch-mode': 'navigate' }],
        { accept: 'application/json', 'sec-fetch-mode': 'navigate' },
        ...['*/*', 'text/*', 'application/json, text/html', 'TEXT/HTML'].map((accept) => ({ accept })),
      ],
    ],
    [
      '404 404.html',
      '/users',
      [
        ...['application/json', 'image/*', 'text/plain'].map((accept) => ({ accept })),
        ...['no-cors', 'cors', 'same-origin'].map((mode) => ({ accept: '*/*', 'sec-fetch-mode': mode })),
      ],
    ],
    ['404 404.html', '/picture.png /picture.PNG /data.json /old.html /font.woff2 /%2Ejson%2Ejson', [PAGE]],
    ['404 404.html', '/.well-known/change-password /robots.txt /sitemap_index.xml', [PAGE, {}]],
    ['404 docs/404.html', '/docs/old.html', [PAGE]],
    ['404 text', '/missing.js /missing.css /missing%2ejs', [PAGE, {}]],
    ['→ /docs/', '/docs', [PAGE]],
    ['page.html', '/page', [PAGE]],
    ['app.js', '/app.js', [PAGE]],
    ['400', '/%', [PAGE]],
  ]
  for (const [expected, targets, requests] of cases) {
    test(`gets ${expected}: ${targets}`, () => {
      for (const target of targets.split(' '))
        for (const headers of requests)
          assert.equal(
            describeResponse(table, target, headers),
            expected,
            `${target} ${JSON.stringify(headers)}`,
          )
    })
  }

  test('gets the response of the root document', () => {
    const { headers, ...page } = getResponse(table, '/users')
    const { headers: rootHeaders, ...root } = getResponse(table, '/')
    assert.deepEqual(page, root)
    const vary = ['Vary', 'Accept-Encoding, Accept, Sec-Fetch-Mode']
    assert.deepEqual(
      headers,
      rootHeaders.join('|').replace('Vary|Accept-Encoding', vary.join('|')).split('|'),
    )
    assert.equal(getResponse(table, '/users'), getResponse(table, '/teams'))
    assert.equal(getResponse(table, '/users', { 'if-none-match': '*' }).status, 304)
  })

  test('has Vary, to separate it in caches from other responses for the path', () => {
    const data = { accept: 'application/json' }
    const [plain, without] = [buildTable(['index.html'], { spaMode: true }), buildTable(FILES)]
    const both = 'Accept-Encoding, Accept, Sec-Fetch-Mode'
    for (const [asked, target, headers, status, vary] of [
      [table, '/users', PAGE, 200, both],
      [table, '/users', { ...PAGE, 'if-none-match': '*' }, 304, both],
      [table, '/users', { ...PAGE, range: 'bytes=0-0' }, 206, both],
      [table, '/users', data, 404, both],
      [plain, '/users', data, 404, 'Accept, Sec-Fetch-Mode'],
      [table, '/', PAGE, 200, 'Accept-Encoding'],
      [table, '/picture.png', PAGE, 404, 'Accept-Encoding'],
      [plain, '/picture.png', PAGE, 404, undefined],
      [without, '/users', PAGE, 404, 'Accept-Encoding'],
    ] as const) {
      const answer = getResponse(asked, target, headers)
      const found = [answer.status, header(answer, 'vary')]
      assert.deepEqual(found, [status, vary], `${target} ${JSON.stringify(headers)}`)
    }
  })

  test('matches the rules of the site first', () => {
    const ruled = buildTable(FILES, { spaMode: true, redirects: '/old/* /docs/ 301\n/raw/* /app.js 200' })
    assert.equal(describeResponse(ruled, '/old/a'), '→ /docs/')
    assert.equal(describeResponse(ruled, '/raw/a'), 'app.js')
    assert.equal(describeResponse(ruled, '/else'), 'index.html')
  })

  test('gets 404 without a root document, or without spaMode', () => {
    const bare = buildTable(['docs/index.html', '404.html'], { spaMode: true })
    for (const other of [bare, buildTable(FILES)])
      assert.equal(describeResponse(other, '/users', PAGE), '404 404.html')
  })
})
