import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { guideContent } from '../../scripts/reference/guides.ts'
import { GUIDES } from '../../server/web/guides.ts'
import { PHONE } from '../support/browser.ts'
import { visited } from './file-drop.ts'
import { web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

test('the API reference lists every route and its links lead to anchors and error codes', async () => {
  const html = await visited(web.url('/docs/api'))
  const errors = await visited(web.url('/docs/errors'))
  const text = html.replace(/<[^>]+>/g, '')
  const document = JSON.parse(await visited(web.url('/api/openapi.json')))
  const calls = Object.entries(document.paths as Record<string, object>).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.ok(calls.length > 20)
  for (const call of calls) assert.ok(text.includes(call), call)
  const anchors = [...html.matchAll(/<a href="(?:#|\/docs\/errors#)([^"]+)"/g)].map(([, anchor]) => anchor)
  assert.ok(anchors.length > 20)
  const missing = anchors.filter((anchor) => !(html + errors).includes(` id="${anchor}"`))
  assert.deepEqual(missing, [])
})

test('the API reference describes schemas in words and JSON', async () => {
  const text = (await visited(web.url('/docs/api'))).replace(/<[^>]+>/g, '')
  for (const words of [
    'slug string requiredThe name of the site',
    'limit integerSites per page; default 50; 1 to 100',
    'success trueAlways true',
    'title string or nullPage title; at most 200 characters',
    'enables deduplication; matches ^[0-9a-f]{64}$',
    'files list of objects required',
    'files[].size integer requiredBytes; at least 1',
    'upload.uploads[].path string optional',
    'The kind of the forge; one of &#34;github&#34;, &#34;gitlab&#34;',
    '-d &#39;{&#34;email&#34;:',
  ]) {
    assert.ok(text.includes(words), words)
  }
})

test('each page of the docs has a description of its own', async () => {
  const names = ['', ...GUIDES.flatMap(([, guides]) => guides.map(({ name }) => `/${name}`))]
  const pages = await Promise.all(names.map((name) => visited(web.url(`/docs${name}`))))
  const found = pages.map(
    (page) => /<head>.*<meta name="description" content="([^"]{20,})">/s.exec(page)?.[1],
  )
  assert.equal(new Set(found).size, names.length)
  assert.ok(!found.includes(undefined))
})

describe('the docs', requiresBrowser, () => {
  test('find a section, an error code and an operation by words, and open what a link leads to', async () => {
    await using reader = await web.visitor({
      viewport: PHONE,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const { page } = reader
    await page.goto(web.url('/docs'))
    for (const [words, result, shown] of [
      ['redirects headers', 'Redirects and headers', '_redirects and _headers at the root'],
      ['rate_limited', 'RATE_LIMITED', 'RATE_LIMITED'],
      ['rename a site', 'Rename a site', 'In the path'],
    ] as const) {
      await page.keyboard.press('/')
      await page.keyboard.type(words)
      await page.locator('#results a', { hasText: result }).first().click()
      await page.getByText(shown).locator('visible=true').first().waitFor()
      assert.ok(await page.locator('#results').isHidden())
    }
    const target = page.locator('.operation > :target')
    const code = (await target.locator('pre').first().textContent())!
    await target.getByRole('button', { name: 'Copy the code' }).first().click()
    await target.getByText('Copied').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), code.trimEnd())
    await page.keyboard.press('/')
    await page.keyboard.type('qwertyuiop')
    await page.getByText('Nothing found.').waitFor()
    await page.keyboard.press('Escape')
    await target.waitFor()
  })

  test('have no page above 12,000 pixels on a phone', async () => {
    await using reader = await web.visitor({ viewport: PHONE })
    const names = GUIDES.flatMap(([, guides]) => guides.map(({ name }) => name))
    await reader.page.goto(web.url(`/docs/${names[0]}`))
    const heights = await reader.page.evaluate(measureHeights, names)
    assert.deepEqual(heights.length, names.length)
    // The scripts of a page add up to 4 percent.
    const tooHigh = heights.filter(([, height]) => height * 1.04 > 12_000)
    assert.deepEqual(tooHigh, [])
  })
})

/** Runs in one of the pages, whose styles the others share: loading each costs ten times as much CPU time. */
async function measureHeights(names: string[]): Promise<[name: string, height: number][]> {
  const heights: [string, number][] = []
  for (const name of names) {
    const text = await (await fetch(`/docs/${name}`)).text()
    document.body.replaceWith(new DOMParser().parseFromString(text, 'text/html').body)
    heights.push([name, document.documentElement.scrollHeight])
  }
  return heights
}

test('a guide escapes HTML, has anchors, and links to other guides and no other file', () => {
  const source =
    '# Guide\n\n## A `part`, two\n\n<script>x</script>\n\n[a](domains.md#b) [c](../README.md) <b>d</b>'
  const page = guideContent({ name: 'publish', source })
  assert.match(page, /<h2 id="a-part-two">/)
  assert.match(page, /<li><a href="#a-part-two">A part, two<\/a>/)
  assert.match(page, /&#60;script&#62;x/)
  assert.match(page, /<a href="\/docs\/domains#b">a<\/a> c &#60;b&#62;d/)
})
