import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RequestHeaders } from '../../server/net/http-handler.ts'
import { numbers } from '../support/random.ts'
import { buildTable, getResponse, header, NOW, toStoredFile } from './responses.ts'

const ROUNDS = 10_000

const LIVE = `
index.html|404.html|a.txt|b.js|docs/index.html|docs/404.html|caf\u00e9 x.css|c.png`
  .slice(1)
  .split(/[|\n]/)
const OLD = ['old.js', 'a.txt', 'docs/old.html', '_headers']
const encodings = new Map(
  LIVE.slice(0, 5).map((path) => [toStoredFile(path).hash!, { br: 3, zstd: null, gzip: 4 }]),
)
const before = { files: OLD.map(toStoredFile), until: NOW + 1000 }
const redirects = [
  '/r/* /:splat 301',
  '/w/* /:splat 200',
  '/f/* /docs/:splat 302!',
  '/b.js /index.html 200!',
  '/gone /404.html 404',
  '/* /docs/ 200',
].join('\n')
const headers = '/*\n  X-A: 1\n  Cache-Control: max-age=9\n/docs/*\n  X-A: 2\n  ! X-Content-Type-Options\n'

const TABLES = [
  buildTable([...LIVE, '_headers', '_redirects']),
  buildTable([...LIVE, '_headers', '_redirects'], {
    encodings,
    previousFiles: before,
    redirects,
    headers,
    spaMode: true,
  }),
  buildTable(LIVE, { encodings, previousFiles: before, spaMode: true }),
  buildTable(LIVE, { redirects: redirects.replace('/* /docs/ 200', '/* /index.html 200!') }),
  buildTable(['a.txt', '_headers'], { previousFiles: before }),
  buildTable(['a.txt', 'c.png'], { headers }),
]
const HASHES = new Set(
  [...LIVE, ...OLD].filter((path) => !path.startsWith('_')).map((path) => toStoredFile(path).hash!),
)

const PIECES = `
/|//|..|.|%2e|%2F|%|%00|%C3%A9|%20|e%CC%81|_headers|_redirects|r/|w/|f/|docs|old|.js|.html|b.js|a.txt|a
caf| x.css|gone|\\|\u00e9|*|:x`
  .slice(1)
  .split(/[|\n]/)
const VALUES: Record<keyof RequestHeaders, string[]> = {
  accept: ['*/*', 'text/html', 'image/*'],
  'accept-encoding': ['gzip, br', 'identity;q=0', '*', 'gzip;q=0.1', ''],
  'accept-language': ['de', ''],
  cookie: [''],
  'if-match': ['*', '"x"', ''],
  'if-modified-since': ['Tue, 06 May 2031 07:08:09 GMT', 'x'],
  'if-none-match': ['*', '"x"', 'W/"x"'],
  'if-range': ['"x"', 'Tue, 06 May 2031 07:08:09 GMT'],
  'if-unmodified-since': ['Tue, 06 May 2031 07:08:08 GMT', 'x'],
  range: ['bytes=0-0', 'bytes=2-', 'bytes=-1', 'bytes=99-', 'bytes=0-1,3-4', 'x'],
  referer: ['https://elsewhere.example/'],
  'sec-fetch-mode': ['navigate', 'cors'],
  'user-agent': ['Browser'],
  'x-forwarded-for': ['192.0.2.7'],
}

test('every response is valid, and only of a public file', (context) => {
  const random = numbers(context)
  const statuses = new Set<number>()
  for (let round = 0; round < ROUNDS; round++) {
    const target = `/${Array.from({ length: random(6) }, () => PIECES[random(PIECES.length)]).join('')}${random(4) ? '' : '?q=/'}`
    const asked = Object.fromEntries(
      Object.entries(VALUES).flatMap(([name, values]) =>
        random(4) ? [] : [[name, values[random(values.length)]]],
      ),
    ) as RequestHeaders
    const answer = getResponse(TABLES[random(TABLES.length)]!, target, asked, NOW + 2000 * random(2))
    const of = `${answer.status} for ${JSON.stringify([target, asked])}`
    statuses.add(answer.status)
    assert.ok([200, 206, 301, 302, 304, 400, 404, 412, 416].includes(answer.status), of)
    assert.ok(answer.content === undefined || HASHES.has(answer.content.hash), of)
    assert.ok(
      answer.headers.every((text) => /^[\t -~\u0080-\u00ff]*$/.test(text)),
      of,
    )
    assert.equal(header(answer, 'content-length'), lengthOf(answer), of)
    const location = header(answer, 'location')
    if (location !== undefined) assert.equal(new URL(location, 'http://here.test').host, 'here.test', of)
    if (answer.status >= 400) assert.equal(header(answer, 'cache-control'), 'no-store', of)
  }
  assert.deepEqual([...statuses].sort(), [200, 206, 301, 302, 304, 400, 404, 412, 416])
})

function lengthOf({ status, content, body }: ReturnType<typeof getResponse>): string | undefined {
  if (status === 304) return undefined
  const { start, end } = content?.range ?? { start: 0, end: (content?.size ?? body?.length ?? 0) - 1 }
  return `${end - start + 1}`
}
