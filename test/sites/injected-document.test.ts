import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import type { BlobReader } from '../../server/blobs/blob-reader.ts'
import type { HeadTags } from '../../server/sites/page-metadata/head-injection.ts'
import { InjectedDocuments } from '../../server/sites/page-metadata/injected-document.ts'
import { gate } from '../edge/fixture.ts'
import { openBrowser } from '../support/browser.ts'
import { listen } from '../support/listen.ts'
import { requires } from '../tools/part.ts'
import { documents, HERE, inject } from './injected-documents.ts'

const WISH: HeadTags = { title: 'New', description: 'About', image: 'https://a.example/card.png' }
const NOTHING: HeadTags = { title: null, description: null, image: null }

const TAGS = {
  title: '\n<title>New</title>\n<meta property="og:title" content="New">',
  description:
    '\n<meta name="description" content="About">\n<meta property="og:description" content="About">',
  image: '\n<meta property="og:image" content="https://a.example/card.png">',
  card: '\n<meta name="twitter:card" content="summary_large_image">',
}
const ALL = TAGS.title + TAGS.description + TAGS.image + TAGS.card

function fronted(document: string | Buffer, wish: Partial<HeadTags> = WISH, type = 'text/html'): string {
  const bytes = inject(Buffer.from(document), { ...NOTHING, ...wish }, type)
  assert.ok(bytes)
  return bytes.toString()
}

test('metadata of a site replaces that in the head of a document wherever the head begins and ends, whatever tags it has', () => {
  for (const [what, document, front] of documents)
    assert.equal(fronted(document), front.replace(HERE, ALL), what)
})

describe('absent metadata keeps that of a document', () => {
  const document =
    '<head><title>Old</title><meta name=description content=d><meta property=og:title content=t><meta property=og:image content=i></head>'
  // biome-ignore format: one row per case
  const cases: [keyof HeadTags, added: string, left: string][] = [
    ['title', TAGS.title, '<meta name=description content=d><meta property=og:image content=i>'],
    ['description', TAGS.description, '<title>Old</title><meta property=og:title content=t><meta property=og:image content=i>'],
    ['image', TAGS.image + TAGS.card, '<title>Old</title><meta name=description content=d><meta property=og:title content=t>'],
  ]
  for (const [field, added, left] of cases) {
    test(`with only a ${field}`, () =>
      assert.equal(fronted(document, { [field]: WISH[field] }), `<head>${added}${left}</head>`))
  }

  test('the card type of a document is kept', () => {
    const card = '<meta name="twitter:card" content="summary">'
    assert.equal(fronted(`<head>${card}</head>`), `<head>${ALL.replace(TAGS.card, '')}${card}</head>`)
  })
})

describe('metadata is escaped', () => {
  const texts: [text: string, markup: string][] = [
    ['</title><script>alert(1)</script>', '&#60;/title&#62;&#60;script&#62;alert(1)&#60;/script&#62;'],
    ['"><script>', '&#34;&#62;&#60;script&#62;'],
    ["' onload='x", '&#39; onload=&#39;x'],
    ['&lt; & &amp;', '&#38;lt; &#38; &#38;amp;'],
    ['$& $1 $`', '$&#38; $1 $`'],
    ['a\nb\r\tc\0d\u0080', 'a b  c d '],
    ['\uD800 alone', '&#65533; alone'],
  ]
  for (const [text, markup] of texts) {
    test(JSON.stringify(text), () => {
      assert.equal(
        fronted('', { title: text }),
        `\n<title>${markup}</title>\n<meta property="og:title" content="${markup}">`,
      )
    })
  }
})

describe('in any encoding of a document', () => {
  const title = 'Zoë 日本 😀'
  const references = 'Zo&#235; &#26085;&#26412; &#128512;'
  // biome-ignore format: one row per case
  const encodings: [what: string, document: string | Buffer, type: string, expected: string][] = [
    ['UTF-8 by its own word', '<meta charset=utf-8>é', 'text/html', title],
    ['UTF-8 by its media type', 'é', 'text/html; charset=UTF-8', title],
    ['UTF-8 by its mark', '\uFEFFé', 'text/html; charset=latin1', title],
    ['no declaration', 'é', 'text/html', references],
    ['Latin 1', Buffer.from('<meta charset=iso-8859-1>\xe9', 'latin1'), 'text/html', references],
    ['Latin 1 by its media type, despite its declaration', '<meta charset=utf-8>', 'text/html;charset="iso-8859-1"', references],
    ['Shift JIS', Buffer.from('<meta charset=shift_jis>\x93\xfa\x96\x7b\x83\x5c', 'latin1'), 'text/html', references],
    ['UTF-16 that cannot be, since it could be read', '<meta charset=utf-16>é', 'text/html', title],
  ]
  for (const [what, document, type, expected] of encodings) {
    test(`injected text is readable: ${what}`, () => {
      const bytes = inject(Buffer.from(document), { ...NOTHING, title }, type)!
      assert.ok(bytes.includes(`<title>${expected}</title>`), bytes.toString())
      const rest = Buffer.from(
        bytes.toString('latin1').replace(/\n<title>.*\n<meta property.*?>/, ''),
        'latin1',
      )
      assert.deepEqual(rest, Buffer.from(document), 'every other byte is as it was')
    })
  }

  const closed: [what: string, document: Buffer, type: string][] = [
    ['UTF-16, little end first', Buffer.from('\uFEFF<p>', 'utf16le'), 'text/html'],
    ['UTF-16, big end first', Buffer.from('\uFEFF<p>', 'utf16le').swap16(), 'text/html'],
    ['UTF-16 by its media type', Buffer.from('<p>', 'utf16le'), 'text/html; charset=utf-16'],
    ['ISO-2022-JP', Buffer.from('<meta charset=iso-2022-jp>'), 'text/html'],
  ]
  for (const [what, document, type] of closed) {
    test(`the document is unchanged if injection is impossible: ${what}`, () =>
      assert.equal(inject(document, WISH, type), undefined))
  }

  test('a byte order mark stays at the start', () => {
    assert.equal(fronted('\uFEFF<!doctype html><p>'), `\uFEFF<!doctype html>${ALL}<p>`)
  })

  test('injection does not move the declaration beyond the first 1,024 bytes', () => {
    const long = { title: '日'.repeat(200), description: '本'.repeat(500) }
    for (const document of [
      '<head><title>Old</title><meta charset=utf-8></head>',
      '<head><div>x</div><meta charset=utf-8></head>',
      '<head><meta charset=utf-8 name=description content=Old></head>',
      `<body>${'x'.repeat(900)}<meta charset=utf-8>`,
    ]) {
      assert.ok(
        Buffer.from(fronted(document, long)).indexOf('charset="utf-8"') < 1024 ||
          fronted(document, long).indexOf('charset=utf-8') < 1024,
        document,
      )
    }
  })
})

const script = `<script>${'/**/'.repeat(2 ** 16)}</script>`
const cut = `<script>${'x'.repeat(2 ** 18 - 28)}</script><title>Old</title>`
for (const [what, document] of [
  ['a title behind much script', `<head>${script}<title>Old</title></head>`],
  ['a title at the very border', `<head>${cut}</head>`],
  ['a tag at the very border', `<head>${cut.replace('<title>', '<meta name=description><title>')}</head>`],
] as const) {
  test(`a head that is parsed only in part is kept, and metadata comes first: ${what}`, () =>
    assert.equal(
      fronted(document),
      document.replace('<head>', () => `<head>${ALL}`),
    ))
}

const most = 2 ** 21
const numbered = (size: number, text: (number: number) => string) =>
  Array.from({ length: Math.floor(most / size) }, (_, number) => text(number)).join('')
const traps: [what: string, document: string][] = [
  ['elements inside one another', `<template>${'<div>'.repeat(most / 5)}`],
  ['templates inside one another', '<template>'.repeat(most / 10)],
  ['one tag of attributes', `<html ${numbered(8, (number) => `a${number} `)}>`],
  ['tags with one more attribute each', numbered(16, (number) => `<html a${number}>`)],
  ['what a table casts out', `<template><table>${'<a></a>'.repeat(most / 7)}`],
  ['formatting that is never closed', `<template>${'<b><p></b>'.repeat(most / 10)}`],
  ['titles', '<title></title>'.repeat(most / 15)],
  ['a body', `<body>${'<i><p></i>'.repeat(most / 10)}`],
  ['signs', '<'.repeat(most)],
]
for (const [what, document] of traps) {
  test(`a document that is hostile to parsers is parsed up to the limit of a head: ${what}`, () =>
    assert.ok(fronted(document).includes(ALL)))
}

test('at most eight documents are read and parsed at a time', async () => {
  const { open, opened } = gate()
  const page = Buffer.from('<title>Old</title>')
  let reads = 0
  const bytes = async () => {
    reads++
    await opened
    return page
  }
  const blobs = { bytes } as unknown as BlobReader
  const documents = new InjectedDocuments({ blobs, budget: new MemoryBudget(2 ** 24) })
  const load = (number: number) => {
    const published = { path: 'index.html', contentType: 'text/html', hash: `${number}`, size: page.length }
    return documents.get({ published, tags: { title: 'New', description: null, image: null } })
  }
  const all = Array.from({ length: 1008 }, (_, number) => load(number))
  assert.equal(reads, 8)
  await assert.rejects(load(1008), { code: 'UNAVAILABLE' })
  open()
  assert.ok((await Promise.all(all)).every((document) => document !== undefined))
})

const UNUSUAL = {
  title: `Zoë & "日本" 😀 ${'日'.repeat(180)}`,
  description: `<b>'${'本'.repeat(490)}'`,
  image: 'https://a.example/a%20b.png?x&y',
}

const inLatin1 = (markup: string) => Buffer.from(markup, 'latin1')

/** Documents in various encodings. */
const ENCODED: [what: string, document: Buffer][] = [
  ['Latin 1', inLatin1('<head><meta charset=iso-8859-1><title>Old</title></head><body>\xe9')],
  [
    'Shift JIS',
    inLatin1('<head><title>\x83\x5c</title><meta charset=shift_jis></head><body>\x93\xfa\x83\x5c'),
  ],
  ['GB 18030', inLatin1('<head><meta charset=gb18030></head><body>\xc4\xe3\x81\x30\x81\x30')],
  ['UTF-8 by its mark', Buffer.from('\uFEFF<!doctype html><title>Old</title><p>é')],
  ['UTF-8, declared late', Buffer.from('<head><title>Old</title><link><meta charset=utf-8></head><body>é')],
  ['UTF-8, declared in the body', Buffer.from('<head><div>x</div><meta charset=utf-8></head><body>é')],
]

test('a browser reads injected metadata, and all else unchanged', requires('chromium'), async (context) => {
  const all = [...documents.map(([what, document]) => [what, Buffer.from(document)] as const), ...ENCODED]
  const pages = all.flatMap(([, document]) => [document, inject(document, UNUSUAL, 'text/html')!])
  await using server = createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html')
    response.end(pages[Number(request.url!.slice(1))] ?? '')
  })
  const address = `http://127.0.0.1:${await listen(server)}/`
  await using browser = await openBrowser()

  // A frame costs a tenth of the CPU time of a page.
  await browser.page.goto(`${address}frames`)
  const read = (number: number) =>
    browser.page.evaluate(async (url) => {
      const frame = document.createElement('iframe')
      const isLoaded = new Promise((resolve) => frame.addEventListener('load', resolve))
      frame.src = url
      document.body.append(frame)
      await isLoaded
      const shown = frame.contentDocument!
      const contents = (subject: string) =>
        [...shown.querySelectorAll(`head > meta[name="${subject}"], head > meta[property="${subject}"]`)].map(
          (element) => element.getAttribute('content'),
        )
      const metadata = [
        shown.title,
        ...['description', 'og:title', 'og:description', 'og:image'].map(contents),
      ]
      const { body, compatMode: mode, characterSet: charset } = shown
      frame.remove()
      return { metadata, rest: { body: body?.innerHTML, mode, charset } }
    }, address + number)
  const { title, description, image } = UNUSUAL
  for (const [number, [what]] of all.entries()) {
    await context.test(what, async () => {
      const published = await read(2 * number)
      const front = await read(2 * number + 1)
      assert.deepEqual(front.metadata, [title, [description], [title], [description], [image]])
      assert.deepEqual(front.rest, published.rest)
    })
  }
})
