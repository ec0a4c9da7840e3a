import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { documents, inject } from './injected-documents.ts'
import { openBrowser } from './support/browser.ts'
import { requires } from './tools/part.ts'

const WISH = {
  title: `Zoë & "日本" 😀 ${'日'.repeat(180)}`,
  description: `<b>'${'本'.repeat(490)}'`,
  image: 'https://a.example/a%20b.png?x&y',
}

const inLatin1 = (markup: string) => Buffer.from(markup, 'latin1')

/** Documents in various encodings. */
const encoded: [what: string, document: Buffer][] = [
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

test(
  'a browser reads the injected metadata in every document, and everything else unchanged',
  requires('chromium'),
  async (context) => {
    const all = [...documents.map(([what, document]) => [what, Buffer.from(document)] as const), ...encoded]
    const pages = all.flatMap(([, document]) => [document, inject(document, WISH, 'text/html')!])
    await using server = createServer((request, response) => {
      response.setHeader('Content-Type', 'text/html')
      response.end(pages[Number(request.url!.slice(1))] ?? '')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    await using browser = await openBrowser()

    const read = async (number: number) => {
      await browser.page.goto(address + number, { waitUntil: 'commit' })
      await browser.page.waitForLoadState('domcontentloaded')
      return browser.page.evaluate(() => {
        const { document } = globalThis as unknown as { document: PageDocument }
        const contents = (subject: string) =>
          [
            ...document.querySelectorAll(
              `head > meta[name="${subject}"], head > meta[property="${subject}"]`,
            ),
          ].map((element) => element.getAttribute('content'))
        return {
          said: [document.title, ...['description', 'og:title', 'og:description', 'og:image'].map(contents)],
          rest: {
            body: document.body?.innerHTML,
            mode: document.compatMode,
            charset: document.characterSet,
          },
        }
      })
    }
    const { title, description, image } = WISH
    for (const [number, [what]] of all.entries()) {
      await context.test(what, async () => {
        const published = await read(2 * number)
        const front = await read(2 * number + 1)
        assert.deepEqual(front.said, [title, [description], [title], [description], [image]])
        assert.deepEqual(front.rest, published.rest)
      })
    }
  },
)

interface PageDocument {
  title: string
  compatMode: string
  characterSet: string
  body: { innerHTML: string } | null
  querySelectorAll(selector: string): Iterable<{ getAttribute(name: string): string | null }>
}
