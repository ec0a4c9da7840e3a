import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { CreateResponse } from '../../protocol/api/publish.ts'
import { guideContent } from '../../scripts/reference/guides.ts'
import { referenceContent } from '../../scripts/reference/reference.ts'
import { ALL_VARIANTS, testVariant } from '../support/variants.ts'
import { visited } from './file-drop.ts'
import { web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

const withCurl = spawnSync('curl', ['--version']).error ? { skip: 'needs curl' } : {}

describe('the front page', requiresBrowser, () => {
  test('has the command for this server, and links to the API reference', async () => {
    const { page, visitor } = await web.asVisitor('/?from=terminal')
    await page.getByText(`npx ${web.service.baseUrl}/cli.tgz publish ./folder`, { exact: true }).waitFor()
    await page.goto(web.url('/?from=api'))
    await page.getByRole('main').getByRole('link', { name: 'API reference' }).click()
    const heading = page.getByRole('heading', { name: 'API reference', level: 1 })
    await heading.waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    assert.ok((await heading.boundingBox())!.x >= 16, 'the text touches the edge of the screen')
    visitor.assertNoComplaints()
  })

  test('has a curl call that publishes a folder, and three that publish a page', withCurl, async () => {
    const [archive = '', create = '', upload = '', finalize = ''] = await commands('api')
    const folder = await folderWith('<h1>Hello</h1>')
    const site = JSON.parse(await shell(archive, folder)) as CreateResponse
    assert.equal(await visited(site.siteUrl), '<h1>Hello</h1>')

    const { siteUrl, upload: plan } = JSON.parse(await shell(create, folder)) as CreateResponse
    await shell(upload.replace('URL', plan.uploads[0]?.url ?? ''), folder)
    await shell(
      finalize.replace('FINALIZE_URL', plan.finalizeUrl).replace('VERSION_ID', plan.versionId),
      folder,
    )
    assert.match(await visited(siteUrl), /Hello/)
  })

  test(
    'has a text for agents, whose commands publish a folder and update it, without its secrets',
    withCurl,
    async () => {
      const [text = ''] = await commands('agent')
      const [publish = '', update = '', ...more] = text.split('\n').filter((line) => line.startsWith('tar '))
      assert.deepEqual(more, [])
      const folder = await folderWith('<h1>Hello</h1>')
      await shell(
        'cd folder && echo SECRET=1 | tee .env > .env.local && mkdir .git && echo a > .git/HEAD',
        folder,
      )
      const answer = JSON.parse(await shell(publish.replaceAll('FOLDER', 'folder'), folder)) as CreateResponse
      const { slug, siteUrl, claimToken = '', claimUrl = '' } = answer
      assert.equal(await visited(siteUrl), '<h1>Hello</h1>')
      await shell("printf '<h1>Hello again</h1>' > folder/index.html", folder)
      const filled = update.replaceAll('FOLDER', 'folder').replace('SLUG', slug)
      await shell(filled.replace('CLAIM_TOKEN', claimToken), folder)
      assert.equal(await visited(siteUrl), '<h1>Hello again</h1>')
      const key = await web.service.signIn(`${slug}@example.test`)
      await web.service.client(key).claim(slug, new URL(claimUrl).searchParams.get('token')!)
      const { files } = await web.service.client(key).details(slug)
      assert.deepEqual(
        files.map(({ path }) => path),
        ['index.html'],
      )
      const document = await visited(web.url('/api/openapi.json'))
      assert.ok(text.includes(web.url('/api/openapi.json')))
      for (const word of ['siteUrl', 'claimUrl', 'slug', 'claimToken']) {
        assert.ok(text.includes(word) && document.includes(word), word)
      }
    },
  )
})

/** Texts with a copy button. */
async function commands(from: 'agent' | 'api'): Promise<string[]> {
  const { page } = await web.asVisitor(`/?from=${from}`)
  await page.locator('pre').first().waitFor()
  return await page.locator('pre').allTextContents()
}

async function folderWith(page: string): Promise<string> {
  const folder = mkdtempSync(join(web.service.data, 'curl-'))
  await shell(`mkdir folder && printf '${page}' > folder/index.html`, folder)
  return folder
}

describe('the API reference', () => {
  test('is readable in all viewports and color schemes', requiresBrowser, async () => {
    const { page, visitor } = await web.asVisitor('/docs')
    // The page of all details is so long that each check takes seconds of CPU time.
    const opened = ALL_VARIANTS ? page.locator('details') : page.locator('details').nth(1)
    await opened.evaluateAll((all) => {
      for (const one of all) one.setAttribute('open', '')
    })
    await visitor.assertReadableInAllViewports()
    visitor.assertNoComplaints()
  })

  test('lists every route and every error code, and its contents link to anchors', async () => {
    const html = await visited(web.url('/docs'))
    const text = html.replace(/<[^>]+>/g, '')
    const document = JSON.parse(await visited(web.url('/api/openapi.json')))
    const calls = Object.entries(document.paths as Record<string, object>).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    assert.ok(calls.length > 20)
    for (const call of [...calls, 'VALIDATION_ERROR', 'RATE_LIMITED', 'INSUFFICIENT_STORAGE'])
      assert.ok(text.includes(call), call)
    const anchors = [...html.matchAll(/<a href="#([^"]+)"/g)].map(([, anchor]) => anchor)
    assert.ok(anchors.length > 20)
    assert.deepEqual(
      anchors.filter((anchor) => !html.includes(` id="${anchor}"`)),
      [],
    )
  })

  testVariant('has its contents beside the text, and folded above it on a phone', async () => {
    const { page } = await web.asVisitor('/docs/publish')
    const entry = page.locator('.contents').getByRole('link', { name: 'Glossary' })
    await entry.waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    await entry.waitFor({ state: 'hidden' })
    const heading = await page.getByRole('heading', { level: 1 }).boundingBox()
    assert.ok(heading!.y < 300, `the text begins ${heading!.y} px from the top`)
    await page.getByText('Contents', { exact: true }).click()
    await entry.waitFor()
  })

  test('describes a schema in words', () => {
    const page = referenceContent({
      paths: {
        '/things/{id}': {
          put: {
            tags: ['Things'],
            summary: 'Keep a thing <here>',
            parameters: [
              {
                in: 'path',
                name: 'id',
                required: true,
                description: 'Which one',
                schema: { type: 'string' },
              },
              { in: 'query', name: 'page', schema: { type: 'integer', minimum: 1, maximum: 9 } },
            ],
            requestBody: { content: { 'application/json': { schema: THING } } },
            responses: { 200: { content: { 'application/json': { schema: THING } } }, '4XX': {} },
          },
        },
      },
    })
    const text = page.replace(/<[^>]+>/g, '')
    for (const words of [
      'Keep a thing &#60;here&#62;',
      'id string required',
      'page integer1 to 9',
      'kind &#34;boat&#34; or &#34;ship&#34; required',
      'name string or null',
      'Its name; at most 20 characters; matches ^[a-z]+$',
      'masts list of objects',
      'masts[].height number requiredat least 1',
      'size stringone of &#34;s&#34;, &#34;l&#34;',
      '{&#34;kind&#34;:&#34;boat&#34;}',
    ]) {
      assert.ok(text.includes(words), `${words} is not in ${text}`)
    }
  })
})

const THING = {
  type: 'object',
  required: ['kind'],
  properties: {
    kind: {
      anyOf: [
        { const: 'boat', type: 'string' },
        { const: 'ship', type: 'string' },
      ],
    },
    name: {
      anyOf: [{ type: 'string' }, { type: 'null' }],
      description: 'Its name',
      maxLength: 20,
      pattern: '^[a-z]+$',
    },
    masts: {
      type: 'array',
      items: { type: 'object', required: ['height'], properties: { height: { type: 'number', minimum: 1 } } },
    },
    size: { type: 'string', enum: ['s', 'l'] },
  },
}

test('a guide escapes HTML, has anchors, and links to other guides and no other file', () => {
  const source =
    '# Guide\n\n## A `part`, two\n\n<script>x</script>\n\n[a](domains.md#b) [c](../README.md) <b>d</b>'
  const page = guideContent({ name: 'publish', source }, ['publish', 'domains'])
  assert.match(page, /<h2 id="a-part-two">/)
  assert.match(page, /<li><a href="#a-part-two">A part, two<\/a>/)
  assert.match(page, /&#60;script&#62;x/)
  assert.match(page, /<a href="\/docs\/domains#b">a<\/a> c &#60;b&#62;d/)
})

describe('an unknown path', () => {
  test('has a page for it', requiresBrowser, async () => {
    const { page, visitor } = await web.asVisitor()
    const answer = await page.goto(web.url('/no/such/page'))
    assert.equal(answer?.status(), 404)
    assert.match(answer?.headers()['content-security-policy'] ?? '', /default-src 'none'/)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await visitor.assertReadable()
  })
})

async function shell(command: string, folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-ec', command], { cwd: folder })
  return stdout
}
