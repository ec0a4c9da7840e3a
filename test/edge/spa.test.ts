import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RequestHeaders } from '../../server/net/http-handler.ts'
import { EdgeFixture } from './fixture.ts'
import { buildTable, describeResponse, getResponse, header } from './responses.ts'

const FILES = ['index.html', '404.html', 'app.js', 'docs/index.html', 'page.html', 'docs/404.html']
const PAGE: RequestHeaders = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

describe('with spaMode, a path without a file', () => {
  const table = buildTable(FILES, { spaMode: true })
  const rows: [string, RequestHeaders, string][] = [
    ['/users', {}, 'index.html'],
    ['/users/', {}, 'index.html'],
    ['/users/7/edit?tab=1', {}, 'index.html'],
    ['/users', PAGE, 'index.html'],
    ['/users', { accept: '*/*' }, 'index.html'],
    ['/users', { accept: 'text/*' }, 'index.html'],
    ['/users', { accept: 'application/json, text/html' }, 'index.html'],
    ['/users', { accept: 'TEXT/HTML' }, 'index.html'],
    ['/users', { accept: 'application/json' }, '404 404.html'],
    ['/users', { accept: 'image/*' }, '404 404.html'],
    ['/users', { accept: 'text/plain' }, '404 404.html'],
    ['/users', { accept: 'text/css,*/*;q=0.1', 'sec-fetch-mode': 'no-cors' }, '404 404.html'],
    ['/users', { accept: '*/*', 'sec-fetch-mode': 'cors' }, '404 404.html'],
    ['/users', { accept: '*/*', 'sec-fetch-mode': 'same-origin' }, '404 404.html'],
    ['/users', { ...PAGE, 'sec-fetch-mode': 'navigate' }, 'index.html'],
    ['/users', { accept: 'application/json', 'sec-fetch-mode': 'navigate' }, 'index.html'],
    ['/users/jane.doe', {}, 'index.html'],
    ['/v1.2', {}, 'index.html'],
    ['/v1.2/notes', {}, 'index.html'],
    ['/a.js/b', {}, 'index.html'],
    ['/js', {}, 'index.html'],
    ['/license', {}, 'index.html'],
    ['/.well-known', {}, 'index.html'],
    ['/caf%C3%A9', {}, 'index.html'],
    ['/picture.png', PAGE, '404 404.html'],
    ['/picture.PNG', PAGE, '404 404.html'],
    ['/data.json', PAGE, '404 404.html'],
    ['/old.html', PAGE, '404 404.html'],
    ['/docs/old.html', PAGE, '404 docs/404.html'],
    ['/font.woff2', PAGE, '404 404.html'],
    ['/%2Ejson%2Ejson', PAGE, '404 404.html'],
    ['/missing.js', PAGE, '404 text'],
    ['/missing.css', {}, '404 text'],
    ['/missing%2ejs', {}, '404 text'],
    ['/docs', PAGE, '→ /docs/'],
    ['/page', PAGE, 'page.html'],
    ['/app.js', PAGE, 'app.js'],
    ['/%', PAGE, '400'],
  ]
  for (const [target, headers, expected] of rows) {
    test(`${target} ${JSON.stringify(headers)} gets ${expected}`, () => {
      assert.equal(describeResponse(table, target, headers), expected)
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
    const plain = buildTable(['index.html'], { spaMode: true })
    const rows: [
      table: typeof table,
      target: string,
      headers: RequestHeaders,
      status: number,
      vary: string | undefined,
    ][] = [
      [table, '/users', PAGE, 200, 'Accept-Encoding, Accept, Sec-Fetch-Mode'],
      [table, '/users', { ...PAGE, 'if-none-match': '*' }, 304, 'Accept-Encoding, Accept, Sec-Fetch-Mode'],
      [table, '/users', { ...PAGE, range: 'bytes=0-0' }, 206, 'Accept-Encoding, Accept, Sec-Fetch-Mode'],
      [table, '/users', data, 404, 'Accept-Encoding, Accept, Sec-Fetch-Mode'],
      [plain, '/users', data, 404, 'Accept, Sec-Fetch-Mode'],
      [table, '/', PAGE, 200, 'Accept-Encoding'],
      [table, '/picture.png', PAGE, 404, 'Accept-Encoding'],
      [plain, '/picture.png', PAGE, 404, undefined],
      [buildTable(FILES), '/users', PAGE, 404, 'Accept-Encoding'],
    ]
    for (const [asked, target, headers, status, vary] of rows) {
      const answer = getResponse(asked, target, headers)
      assert.deepEqual(
        [answer.status, header(answer, 'vary')],
        [status, vary],
        `${target} ${JSON.stringify(headers)}`,
      )
    }
  })

  test('matches the rules of the site first', () => {
    const ruled = buildTable(FILES, { spaMode: true, redirects: '/old/* /docs/ 301\n/raw/* /app.js 200' })
    assert.equal(describeResponse(ruled, '/old/a'), '→ /docs/')
    assert.equal(describeResponse(ruled, '/raw/a'), 'app.js')
    assert.equal(describeResponse(ruled, '/else'), 'index.html')
  })

  test('gets 404 without a root document', () => {
    const bare = buildTable(['docs/index.html', '404.html'], { spaMode: true })
    assert.equal(describeResponse(bare, '/users', PAGE), '404 404.html')
  })
})

test('without spaMode a path without a file gets 404', () => {
  assert.equal(describeResponse(buildTable(FILES), '/users', PAGE), '404 404.html')
})

describe('spaMode over HTTP', () => {
  const edge = EdgeFixture.shared()

  test('is switched on and off at once', async () => {
    const slug = await edge.publish({ 'index.html': 'app' }, { spaMode: true })
    const { status, text } = await edge.get(slug, '/deep/down', { headers: { accept: 'text/html' } })
    assert.deepEqual([status, text], [200, 'app'])
    await edge.updateSite(slug, { spaMode: false })
    assert.equal((await edge.get(slug, '/deep/down')).status, 404)
  })
})
