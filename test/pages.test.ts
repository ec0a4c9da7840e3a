import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { BrowserContextOptions } from 'playwright-core'
import type { CreateAnswer } from '../client/wire.ts'
import { referenceContent } from '../server/api/reference.ts'
import { type RunningService, startTestService } from './service.ts'
import { type Browser, openBrowser } from './tools/chromium.ts'
import { needs } from './tools/part.ts'
import { LOOKS, Visitor } from './visitor.ts'

const inBrowser = needs('chromium')
const withCurl = spawnSync('curl', ['--version']).error ? { skip: 'needs curl' } : {}

let service: RunningService
let browser: Browser | undefined

before(async () => {
  service = await startTestService()
  if (!inBrowser.skip) browser = await openBrowser()
})

after(async () => {
  await browser?.[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

describe('the front page', inBrowser, () => {
  for (const { name, options } of LOOKS) {
    test(`says how to publish here, ${name}`, async () => {
      await using visitor = await visit(options)
      const { page } = visitor
      await page.goto(service.baseUrl)
      const commands = await page.locator('pre').allTextContents()
      assert.match(commands[0] ?? '', /^npx slipway publish \.\/folder/)
      assert.ok(commands[0]?.includes(`--server ${service.baseUrl}`))
      await visitor.assertReadable()
      visitor.assertNoComplaints()
      await page.getByRole('link', { name: 'API reference' }).first().click()
      await page.getByRole('heading', { name: 'API reference', level: 1 }).waitFor()
    })
  }

  test('has curl calls that publish a page', withCurl, async () => {
    await using visitor = await visit()
    await visitor.page.goto(service.baseUrl)
    const [, create = '', upload = '', finalize = ''] = await visitor.page.locator('pre').allTextContents()
    const folder = mkdtempSync(join(service.data, 'curl-'))
    const { slug, siteUrl, upload: plan } = JSON.parse(await shell(create, folder)) as CreateAnswer
    await shell(upload.replace('URL', plan.uploads[0]?.url ?? ''), folder)
    await shell(
      finalize.replace('FINALIZE_URL', plan.finalizeUrl).replace('VERSION_ID', plan.versionId),
      folder,
    )
    await visitor.page.goto(siteUrl)
    await visitor.page.getByRole('heading', { name: 'Hello' }).waitFor()
    assert.ok(siteUrl.includes(slug))
  })

  test('has a curl call that publishes a folder', withCurl, async () => {
    await using visitor = await visit()
    await visitor.page.goto(service.baseUrl)
    const archive = (await visitor.page.locator('pre').allTextContents()).at(-1) ?? ''
    const folder = mkdtempSync(join(service.data, 'curl-'))
    await shell("mkdir folder && printf '<h1>Hello</h1>' > folder/index.html", folder)
    const { siteUrl } = JSON.parse(await shell(archive, folder)) as CreateAnswer
    await visitor.page.goto(siteUrl)
    await visitor.page.getByRole('heading', { name: 'Hello' }).waitFor()
  })
})

describe('the API reference', () => {
  for (const { name, options } of LOOKS) {
    test(`can be read, ${name}`, inBrowser, async () => {
      await using visitor = await visit(options)
      const { page } = visitor
      await page.goto(`${service.baseUrl}/docs`)
      for (const details of await page.locator('details').all())
        await details.evaluate((d) => d.setAttribute('open', ''))
      await visitor.assertReadable()
      visitor.assertNoComplaints()
    })
  }

  test('tells of every route and every code that there is', inBrowser, async () => {
    await using visitor = await visit()
    const { page } = visitor
    await page.goto(`${service.baseUrl}/docs`)
    const text = (await page.locator('main').textContent()) ?? ''
    const document = await (await fetch(`${service.baseUrl}/api/openapi.json`)).json()
    const calls = Object.entries(document.paths as Record<string, object>).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace('{*}', '{path}')}`),
    )
    assert.ok(calls.length > 20)
    for (const call of calls) assert.ok(text.includes(call), call)
    for (const word of ['VALIDATION_ERROR', 'RATE_LIMITED', 'INSUFFICIENT_STORAGE'])
      assert.ok(text.includes(word))
  })

  test('leads from each entry of its contents to a place on the page', inBrowser, async () => {
    await using visitor = await visit()
    await visitor.page.goto(`${service.baseUrl}/docs`)
    const lost = await visitor.page
      .locator('.contents a')
      .evaluateAll((links) =>
        links.map((link) => link.getAttribute('href') ?? '').filter((href) => !document.querySelector(href)),
      )
    assert.deepEqual(lost, [])
  })

  test('puts a schema into words', () => {
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

describe('an address without a page', () => {
  test('says so', inBrowser, async () => {
    await using visitor = await visit()
    const answer = await visitor.page.goto(`${service.baseUrl}/no/such/page`)
    assert.equal(answer?.status(), 404)
    assert.match(answer?.headers()['content-security-policy'] ?? '', /default-src 'none'/)
    await visitor.page.getByRole('heading', { name: 'There is no page here.' }).waitFor()
    await visitor.assertReadable()
  })
})

function visit(options?: BrowserContextOptions): Promise<Visitor> {
  return Visitor.open(browser!.page.context().browser()!, options)
}

async function shell(command: string, folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-ec', command], { cwd: folder })
  return stdout
}
