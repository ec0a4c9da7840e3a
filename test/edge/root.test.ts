import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, test } from 'node:test'
import type { RouteTable } from '../../server/edge/resolve/route-table.ts'
import { publicPolicy, toLastModified } from '../../server/edge/respond/policy.ts'
import type { EdgeResponse } from '../../server/edge/response.ts'
import { EdgeFixture } from './fixture.ts'
import { buildTable, describeResponse, getResponse, header, LIVE, toStoredFile } from './responses.ts'

describe('a site without a document at its root', () => {
  const rows: [string[], string][] = [
    [['a.png'], 'a page'],
    [['deep/down/a.pdf'], 'a page'],
    [['page.html'], 'a page'],
    [['a.png', '_headers', '_redirects'], 'a page'],
    [['a.png', 'b.png'], 'a page'],
    [['404.html'], 'a page'],
    [['docs/index.html'], '→ 302 /docs/'],
    [['docs/index.html', 'a.png'], '→ 302 /docs/'],
    [['b/index.html', 'a/index.html'], '→ 302 /a/'],
    [['a/deep/index.html', 'b/index.html'], '→ 302 /b/'],
    [['sp ace?/index.html', 'x.txt'], '→ 302 /sp%20ace%3F/'],
    [['evil.example/index.html', 'x.txt'], '→ 302 /evil.example/'],
    [['index.html', 'docs/index.html'], 'index.html'],
    [['index.htm', 'b.txt'], 'a page'],
    [['Index.html', 'b.txt'], 'a page'],
    [['_headers'], '404 plain'],
  ]
  test('serves a generated page there, or redirects to the first index below with its query', () => {
    for (const [paths, expected] of rows)
      assert.equal(describeResponse(buildTable(paths), '/'), expected, `${paths}`)
    assert.equal(describeResponse(buildTable(['docs/index.html', 'a.png']), '/?a=b'), '→ 302 /docs/?a=b')
  })

  test('has generated pages only at its root', () => {
    const table = buildTable(['a.png', 'sub/b.png'])
    for (const path of ['/index.html', '/index', '/sub/', '/sub', '/.']) {
      assert.equal(describeResponse(table, path), '404 plain')
    }
  })

  test('applies its own rules first', () => {
    const paths = ['a.png', 'b.html']
    assert.equal(describeResponse(buildTable(paths, { redirects: '/ /b 302' }), '/'), '→ 302 /b')
    assert.equal(describeResponse(buildTable(paths, { redirects: '/ /b.html 200' }), '/'), 'b.html')
  })
})

function htmlOf(answer: EdgeResponse): string {
  return answer.body!.toString()
}

/** The route table of a site of one file with this media type. */
function tableOf(path: string, contentType: string): RouteTable {
  return buildTable([], { files: [{ ...toStoredFile(path), contentType }] } as object)
}

describe('a single file', () => {
  const kinds: [directive: string | undefined, shown: RegExp, files: [path: string, type: string][]][] = [
    ['img-src', /<img src="\/a%20b\.png" alt="a b\.png">/, [['a b.png', 'image/png']]],
    ['img-src', /<img src="\/a\.svg"/, [['a.svg', 'image/svg+xml']]],
    ['img-src', /<img src="\/d\/e%20f\.png" alt="e f\.png">/, [['d/e f.png', 'image/png']]],
    ['media-src', /<video src="\/a\.mp4" controls/, [['a.mp4', 'video/mp4']]],
    ['media-src', /<audio src="\/a\.mp3" controls/, [['a.mp3', 'Audio/MPEG']]],
    ['frame-src', /<iframe src="\/a\.pdf"/, [['a.pdf', 'application/pdf']]],
    ['frame-src', /<iframe src="\/a\.html"/, [['a.html', 'text/html; charset=utf-8']]],
    [
      'frame-src',
      /<iframe src="\/_slipway\/text"/,
      [
        ['a.txt', 'text/plain'],
        ['a.md', 'text/markdown'],
        ['a.csv', 'text/csv'],
        ['a.json', 'application/json'],
        ['a.xml', 'application/atom+xml'],
        ['a.js', 'text/javascript'],
      ],
    ],
    [undefined, /<a href="\/a\.zip" download="a\.zip">Download<\/a><\/main>/, [['a.zip', 'application/zip']]],
    [undefined, /<a href="\/a" download="a">Download<\/a><\/main>/, [['a', 'application/octet-stream']]],
  ]
  for (const [directive, shown, files] of kinds) {
    test(`${files} gets a page that ${directive ? 'shows' : 'offers'} it, and loads nothing else`, () => {
      for (const [path, type] of files) {
        const answer = getResponse(tableOf(path, type), '/')
        assert.match(htmlOf(answer), shown)
        const [, css] = /<style>(.*)<\/style>/s.exec(htmlOf(answer))!
        const own = directive ? `${directive} 'self'; ` : ''
        assert.equal(
          header(answer, 'content-security-policy'),
          `default-src 'none'; style-src 'sha256-${hash('sha256', css!, 'base64')}'; ${own}form-action 'none'; base-uri 'none'`,
        )
        assert.doesNotMatch(htmlOf(answer), /<script|javascript:/)
      }
    })
  }

  test('of text is available to the viewer as plain text, and to other requests as published', () => {
    for (const [path, type, shown] of [
      ['a.csv', 'text/csv', 'text/plain; charset=utf-8'],
      ['a.md', 'text/markdown; charset=UTF-8', 'text/plain; charset=UTF-8'],
      ['a.txt', 'text/plain; charset="iso-8859-1"', 'text/plain; charset=iso-8859-1'],
    ] as const) {
      const table = tableOf(path, type)
      const text = getResponse(table, '/_slipway/text')
      assert.deepEqual([header(text, 'content-type'), text.content!.hash], [shown, toStoredFile(path).hash])
      assert.equal(header(getResponse(table, `/${path}`), 'content-type'), type)
      assert.equal(getResponse(table, '/_slipway/text', { 'if-none-match': '*' }).status, 304)
    }
  })

  test('that is not text, or not single, is not available as text', () => {
    for (const paths of [['a.png'], ['a.txt', 'b.txt']]) {
      assert.equal(describeResponse(buildTable(paths), '/_slipway/text'), '404 plain')
    }
  })

  test('cannot inject markup by its name', () => {
    const name = '"><script>alert(1)<!--\'&.png'
    const html = htmlOf(getResponse(tableOf(name, 'image/png'), '/'))
    assert.doesNotMatch(html, /<script|<!--/)
    assert.ok(html.includes('&#34;&#62;&#60;script&#62;alert(1)&#60;!--&#39;&#38;.png'))
  })
})

const METADATA = { title: 'A <title> & more', description: 'What it "is"', ogImagePath: 'im age.png' }

describe('the metadata of a site', () => {
  for (const [name, files] of [
    ['a viewer page', ['im age.png']],
    ['a listing', ['im age.png', 'b.txt']],
  ] as const) {
    test(`is in the head and at the top of ${name}`, () => {
      const html = htmlOf(getResponse(buildTable(files, { metadata: METADATA }), '/'))
      assert.match(html, /<title>A &#60;title&#62; &#38; more<\/title>/)
      assert.match(html, /<meta property="og:title" content="A &#60;title&#62; &#38; more">/)
      assert.match(html, /<meta name="description" content="What it &#34;is&#34;">/)
      assert.match(html, /<meta property="og:description" content="What it &#34;is&#34;">/)
      assert.match(html, /<meta property="og:image" content="https:\/\/amber\.sites\.test\/im%20age\.png">/)
      assert.match(html, /<meta name="twitter:card" content="summary_large_image">/)
      assert.match(html, /<h1>A &#60;title&#62; &#38; more<\/h1>/)
      assert.match(html, /<p>What it &#34;is&#34;<\/p>/)
    })
  }

  test('may be absent: then the file name is the title', () => {
    const image = htmlOf(getResponse(tableOf('a.png', 'image/png'), '/'))
    assert.match(image, /<title>a\.png<\/title>/)
    assert.match(image, /og:image" content="https:\/\/amber\.sites\.test\/a\.png"/)
    assert.doesNotMatch(image, /description/)
    assert.doesNotMatch(htmlOf(getResponse(buildTable(['a.txt', 'b.txt']), '/')), /og:image|description/)
  })
})

describe('a file listing', () => {
  test('has every file once, by folder and in natural order, with its size', () => {
    const paths = ['b10.txt', 'B2.txt', 'a.txt', 'sub/z.txt', 'sub/y.txt', 'sub/deep/x.txt']
    paths.push('caf\u00e9 100%.txt', '404.html')
    const html = htmlOf(getResponse(buildTable([...paths, '_headers', '_redirects']), '/'))
    const found = [...html.matchAll(/<h2>(.*?)<\/h2>|<a href="(.*?)">(.*?)<\/a><span>(.*?)<\/span>/g)]
    assert.deepEqual(
      found.map(([, folder, href, name, size]) => folder ?? `${href} ${name} ${size}`),
      [
        '/404.html 404.html 8 bytes',
        '/a.txt a.txt 5 bytes',
        '/B2.txt B2.txt 6 bytes',
        '/b10.txt b10.txt 7 bytes',
        '/caf%C3%A9%20100%25.txt caf\u00e9 100%.txt 14 bytes',
        'sub/',
        '/sub/y.txt y.txt 9 bytes',
        '/sub/z.txt z.txt 9 bytes',
        'sub/deep/',
        '/sub/deep/x.txt x.txt 14 bytes',
      ],
    )
    assert.match(html, /<p>8 files, 72 bytes<\/p>/)
  })

  test('links only to its files, whatever their names', () => {
    const paths = ['<b>.txt', '"onclick=alert(1).txt', 'javascript:alert(1)', 'a?b#c.txt', 'evil.example/x']
    paths.push('%2e%2e/x')
    const table = buildTable(paths)
    const html = htmlOf(getResponse(table, '/'))
    assert.doesNotMatch(html, /<b>/)
    const links = [...html.matchAll(/href="(.*?)"/g)].map(([, href]) => href!)
    assert.deepEqual(links.map((href) => describeResponse(table, href)).sort(), [...paths].sort())
    for (const href of links) assert.match(href, /^\/(?!\/)[\w%./()'!~*-]+$/)
  })
})

describe('a generated page', () => {
  const table = buildTable(['a.txt', 'b.txt'])
  const page = getResponse(table, '/')
  const etag = header(page, 'etag')!
  const publishedAt = toLastModified(LIVE)
  const MODIFIED = 'Tue, 06 May 2031 07:08:09 GMT'

  test('has another entity tag when the metadata changes', () => {
    assert.equal(getResponse(table, '/', { 'if-none-match': etag }).status, 304)
    const other = buildTable(['a.txt', 'b.txt'], { metadata: METADATA })
    assert.notEqual(header(getResponse(other, '/'), 'etag'), etag)
    assert.equal(getResponse(other, '/', { 'if-none-match': etag }).status, 200)
  })

  test('has the date of the last metadata change', () => {
    const policy = publicPolicy({ publishedAt, metadataChangedAt: toLastModified(LIVE + 5000) })
    const later = buildTable(['a.txt', 'b.txt'], { policy })
    assert.equal(header(getResponse(later, '/'), 'last-modified'), 'Tue, 06 May 2031 07:08:14 GMT')
    assert.equal(header(getResponse(later, '/a.txt'), 'last-modified'), MODIFIED)
  })
})

describe('generated pages over HTTP', () => {
  const edge = EdgeFixture.shared()

  test('show a single text file, with metadata that changes immediately', async () => {
    const slug = await edge.publish({ 'notes.md': { type: 'text/markdown', body: '# Notes' } })
    const first = await edge.get(slug)
    assert.deepEqual([first.status, (await edge.get(slug, '/_slipway/text')).text], [200, '# Notes'])
    const head = await edge.get(slug, '/', { method: 'HEAD' })
    assert.deepEqual([head.headers.etag, head.body.length], [first.headers.etag, 0])
    edge.clock.now += 1000
    await edge.updateSite(slug, { title: 'My notes', updatedAt: edge.clock.now })
    const since = { 'if-modified-since': first.headers['last-modified']! }
    for (const headers of [since, { ...since, 'if-none-match': first.headers.etag! }]) {
      const later = await edge.get(slug, '/', { headers })
      assert.equal(later.status, 200)
      assert.match(later.text, /<title>My notes<\/title>/)
    }
  })
})
