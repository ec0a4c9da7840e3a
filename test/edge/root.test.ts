import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, test } from 'node:test'
import { mediaType } from '../../protocol/manifest/media-type.ts'
import type { RouteTable } from '../../server/edge/resolve/route-table.ts'
import type { EdgeResponse } from '../../server/edge/response.ts'
import { VersionFiles } from '../../server/edge/version-files.ts'
import { OverloadError } from '../../server/lib/semaphore.ts'
import { NO_METADATA } from '../../server/store/tables/sites.ts'
import { sha256 } from '../api/content.ts'
import { waitFor } from '../support/wait-for.ts'
import { EdgeFixture } from './fixture.ts'
import { buildTable, describeResponse, getResponse, header, toStoredFile } from './responses.ts'

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
function tableOf(path: string, contentType: string, headers?: string): RouteTable {
  return buildTable([], { files: [{ ...toStoredFile(path), contentType }], headers } as object)
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

  test('that the headers of the site keep out of frames is offered', () => {
    for (const [line, isShown] of [
      ['X-Frame-Options: DENY', false],
      ['X-Frame-Options: SAMEORIGIN', true],
      ["Content-Security-Policy: default-src 'self'; frame-ancestors 'none'", false],
      ["Content-Security-Policy: frame-ancestors https://a.example 'self'; img-src *", true],
      ['Content-Security-Policy: frame-ancestors *.a.example; img-src *', false],
      ['Content-Security-Policy: frame-ancestors https:', true],
      ["Content-Security-Policy-Report-Only: frame-ancestors 'none'", true],
      ["X-Frame-Options: DENY\n  Content-Security-Policy: frame-ancestors 'self'", true],
      ['X-Frame-Options: ALLOW-FROM https://a.example', true],
    ] as const)
      for (const [path, type] of [
        ['a.pdf', 'application/pdf'],
        ['a.txt', 'text/plain'],
      ] as const) {
        const html = htmlOf(getResponse(tableOf(path, type, `/*\n  ${line}`), '/'))
        assert.equal(html.includes('<iframe'), isShown, `${path} ${line}`)
        assert.ok(html.includes(`<a href="/${path}">Open</a>`))
        const others = tableOf(path, type, `/other/*\n  ${line}`)
        assert.match(htmlOf(getResponse(others, '/')), /<iframe/)
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

const METADATA = {
  ...NO_METADATA,
  title: 'A <title> & more',
  description: 'What it "is"',
  ogImagePath: 'im age.png',
}

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

test('pages of files without a start page are in the language of the visitor, with tags of their own', () => {
  for (const [table, words] of [
    [buildTable(['a.txt', 'b.zip']), '<title>Fichiers<[^]*<p>2 fichiers, '],
    [tableOf('a.png', 'image/png'), 'Ouvrir</a><a [^>]*>Télécharger</a>'],
    [buildTable(['a.zip']), '<p>a.zip</p><a [^>]*>Télécharger</a>'],
  ] as const) {
    const french = getResponse(table, '/', { 'accept-language': 'fr-CA, en;q=0.5' })
    assert.match(htmlOf(french), new RegExp(`<html lang="fr">[^]*${words}`))
    assert.equal(header(french, 'vary'), 'Accept-Language')
    const etag = header(french, 'etag')!
    for (const [language, status] of Object.entries({ fr: 304, de: 200 })) {
      const again = getResponse(table, '/', { 'accept-language': language, 'if-none-match': etag })
      assert.deepEqual([again.status, header(again, 'vary')], [status, 'Accept-Language'])
    }
    for (const language of ['ja', 'zh', 'pl', 'fr'])
      assert.match(
        htmlOf(getResponse(table, '/', { 'accept-language': language })),
        new RegExp(`lang="${language}"`),
      )
  }
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

describe('a gallery', () => {
  const paths = ['b10.jpg', 'b2.jpg', 'trip/<i>"a"-b_c.webp', 'notes.txt']

  test('shows the pictures of a site that are half of its files, by folder, and lists the others', () => {
    const page = getResponse(galleryOf(paths), '/')
    const found = [
      ...htmlOf(page).matchAll(
        /<h2>(.*?)<\/h2>|<a href="(.*?)">(?:<img src="(.*?)" alt="(.*?)" loading="lazy")?/g,
      ),
    ]
    assert.deepEqual(
      found.map(([, folder, href, src, alt]) => folder ?? [href, src, alt].join(' ').trim()),
      [
        '/b2.jpg /b2.jpg b2',
        '/b10.jpg /b10.jpg b10',
        'trip/',
        '/trip/%3Ci%3E%22a%22-b_c.webp /trip/%3Ci%3E%22a%22-b_c.webp &#60;i&#62;&#34;a&#34; b c',
        '/notes.txt',
      ],
    )
    assert.match(htmlOf(page), /<p>4 files, /)
    assert.match(
      header(page, 'content-security-policy')!,
      /^default-src 'none'; style-src 'sha256-.+'; img-src 'self'; form/,
    )
  })

  test('is not the page of a site with few pictures', () => {
    for (const other of [
      ['a.jpg', 'b.txt'],
      ['a.jpg', 'b.jpg', 'c.txt', 'd.txt', 'e.txt'],
    ])
      assert.doesNotMatch(htmlOf(getResponse(galleryOf(other), '/')), /<img/)
  })
})

function galleryOf(paths: string[]): RouteTable {
  const files = paths.map((path) => ({ ...toStoredFile(path), contentType: mediaType(path) }))
  return buildTable([], { files } as object)
}

describe('a Markdown document', () => {
  const edge = EdgeFixture.shared()
  const publish = (files: Record<string, string>) =>
    edge.publish(
      Object.fromEntries(
        Object.entries(files).map(([path, body]) => [path, { type: mediaType(path), body }]),
      ),
    )

  test('that is the only page of a site is shown rendered, and stays available as published', async () => {
    const source =
      '# Notes *of* a trip\n\n| a | b |\n|---|---|\n| 1 | ~~2~~ |\n\n![Sea](img/sea.png)\n\n## Notes\n## Notes\n'
    const slug = await publish({ 'README.md': source, 'img/sea.png': 'x', 'b.txt': 'b' })
    const page = await edge.get(slug)
    assert.match(page.text, /<title>Notes of a trip<\/title>/)
    assert.match(page.text, /<h1 id="notes-of-a-trip">Notes <em>of<\/em> a trip<\/h1>/)
    assert.match(page.text, /<td>1<\/td><td><del>2<\/del><\/td>/)
    assert.match(page.text, /<img src="img\/sea\.png" alt="Sea" loading="lazy">/)
    assert.match(page.text, /<h2 id="notes">Notes<\/h2>\n<h2 id="notes-1">/)
    for (const link of ['/README.md', '/img/sea.png', '/b.txt'])
      assert.ok(page.text.includes(`href="${link}"`), link)
    // Only the author knows its language.
    assert.match(page.text, /^<!doctype html>\n<html>\n/)
    assert.match(page.text, /<a href="\/README\.md">README\.md<\/a>/)
    const raw = await edge.get(slug, '/README.md')
    assert.deepEqual([raw.text, raw.headers['content-type']], [source, 'text/markdown; charset=utf-8'])
    await edge.updateSite(slug, { title: 'Mine', updatedAt: edge.clock.now })
    assert.match((await edge.get(slug)).text, /<title>Mine<\/title>/)
  })

  const starts: [files: string[], start: string | undefined][] = [
    [['index.md', 'README.md'], 'index.md'],
    [['readme.markdown', 'b.md'], 'readme.markdown'],
    [['notes.md', 'a.png', 'b.png'], 'notes.md'],
    [['a.md', 'b.md'], undefined],
    [['docs/notes.md', 'a.txt'], undefined],
    [['README.md', 'sub/index.html'], undefined],
  ]
  for (const [paths, start] of starts)
    test(`of ${paths} that is the start page is ${start ?? 'none'}`, async () => {
      const slug = await publish(Object.fromEntries(paths.map((path) => [path, `# From ${path}`])))
      const [, found] = /<h1 id=".*">From (.*?)<\/h1>/.exec((await edge.get(slug)).text) ?? []
      assert.equal(found, start)
    })

  const hostile: [source: string, shown: RegExp][] = [
    ['<script>alert(1)</script>', /^&#60;script&#62;alert\(1\)&#60;\/script&#62;/],
    ['a <img src=x onerror=alert(1)>', /a &#60;img src=x onerror=alert\(1\)&#62;/],
    ['[a](javascript:alert(1))', /<p>a<\/p>/],
    ['[a](java\tscript:alert(1)) [b](JaVaScRiPt:x) [c](vbscript:x) [d](data:text/html,x)', /[^>]*$/],
    ['![a](javascript:alert(1)) ![b](data:image/svg+xml,x)', /<p>a b<\/p>/],
    ['[a](<https://a.test/"onclick=x>)', /<a href="https:\/\/a\.test\/&#34;onclick=x">a<\/a>/],
    ['[a](https://a.test "<script>")', /<a href="https:\/\/a\.test">a<\/a>/],
    ['![x" onload="a](b.png)', /<img src="b\.png" alt="x&#34; onload=&#34;a"/],
    ['```"><script>\n<b>\n```', /<pre tabindex="0"><code>&#60;b&#62;\n<\/code><\/pre>/],
    ['# "><script>', /<h1 id="script">&(?:quot|#34);&(?:gt|#62);&#60;script&#62;<\/h1>/],
    ['<https://a.test/<script>>', /[^>]*$/],
    ['[a]: javascript:x\n\n[a] [b][a]', /<p>a b<\/p>/],
  ]
  test('runs nothing and links only to the site, http, https and mailto', async () => {
    for (const [source, shown] of hostile) {
      const { text, headers } = await edge.get(await publish({ 'README.md': source, 'b.txt': 'b' }))
      const [, article = ''] = /<article>\n(.*)<\/article>/s.exec(text) ?? []
      assert.match(article, shown, source)
      for (const [tag] of article.matchAll(/<[^>]*>?/g)) {
        assert.match(tag, /^<\/?[a-z0-9]+(?: (?:href|src|alt|id|loading|tabindex)="[^"]*")*>$/, source)
        assert.doesNotMatch(tag, /="\s*(?:javascript|vbscript|data):/i, source)
      }
      assert.match(
        String(headers['content-security-policy']),
        /^default-src 'none'; style-src 'sha256-[^ ]+'; img-src 'self' https:; form-action 'none'; base-uri 'none'$/,
      )
    }
  })

  test('that takes too long to render, is too large or not UTF-8 is shown as text', async () => {
    await using hasty = await EdgeFixture.start({ renderMs: 1 })
    for (const [fixture, body] of [
      [hasty, '_a_b'.repeat(60_000)],
      [edge, 'a'.repeat(300_000)],
      [edge, Buffer.from([0xff, 0x41])],
    ] as const) {
      const slug = await fixture.publish({ 'README.md': { type: 'text/markdown', body } })
      assert.match((await fixture.get(slug)).text, /<iframe src="\/_slipway\/text"/)
    }
  })

  test('that cannot be rendered now is listed beside the other files, rendered soon, and not drawn before', async () => {
    const rules = '/*\n  Cache-Control: max-age=60\n'
    const slug = await publish({ 'README.md': '# Notes', 'b.txt': 'b', _headers: rules })
    const { liveVersionId } = (await edge.store.real.read.sites.find(slug))!
    const { promise, resolve } = Promise.withResolvers<void>()
    edge.store.delayRead = (query) => (query === 'blobs.find' ? promise : undefined)
    const waiting = Array.from({ length: 32 }, (_, number) =>
      edge.options.markdownPages.get({ hash: sha256(`document ${number}`), size: 1 }),
    )
    assert.equal((await edge.get(slug, '/b.txt')).text, 'b')
    const isRendered = async () => (await edge.get(slug)).text.includes('<h1 id="notes">Notes</h1>')
    const listed = await edge.get(slug)
    assert.match(listed.text, /<a href="\/README\.md"/)
    assert.equal(listed.headers['cache-control'], 'private, no-store')
    assert.equal(await isRendered(), false)
    await assert.rejects(new VersionFiles(edge.options).open(slug, liveVersionId!, 1000), OverloadError)
    resolve()
    await Promise.all(waiting)
    edge.clock.now += 9999
    assert.equal(await isRendered(), false)
    edge.clock.now += 1
    await waitFor(isRendered)
    assert.equal((await edge.get(slug)).headers['cache-control'], 'max-age=60')
  })
})

describe('generated pages over HTTP', () => {
  const edge = EdgeFixture.shared()

  test('show a single text file, with metadata that changes immediately', async () => {
    const slug = await edge.publish({ 'notes.txt': { type: 'text/plain', body: '# Notes' } })
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

test('the memory of a table includes its pages, also with names of which each character is escaped', () => {
  for (const letter of ['&', '漢', 'a']) {
    const table = buildTable(Array.from({ length: 300 }, (_, number) => `${letter.repeat(150)}${number}.png`))
    const { root } = table
    assert.ok(root?.kind === 'page')
    const pages = ['en', 'de', 'fr'].map((language) => root.for({ 'accept-language': language }).ok)
    const held = pages.reduce((sum, page) => sum + ('body' in page ? page.body!.length : 0), 0)
    assert.ok(held > 100_000 && held < table.bytes, `${held} bytes in pages, ${table.bytes} in all`)
  }
})
