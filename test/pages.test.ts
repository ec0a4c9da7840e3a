import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { CreateAnswer } from '../client/wire.ts'
import { program } from '../scripts/parts.mjs'
import { referencePage } from '../server/api/reference.ts'
import { type RunningService, startTestService } from './service.ts'
import { type Browser, openBrowser } from './tools/chromium.ts'
import { needs } from './tools/part.ts'
import { Visitor } from './visitor.ts'

const PAGE = '<h1>Hello</h1>'

const LOOKS: { name: string; options: BrowserContextOptions }[] = [360, 1280].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({
    name: `${width} px wide, ${colorScheme}`,
    options: { viewport: { width, height: 800 }, colorScheme },
  })),
)

const inBrowser = needs('chromium')
const withCurl = program('curl') ? {} : { skip: 'needs curl' }

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

describe('the claim page', inBrowser, () => {
  for (const { name, options } of LOOKS) {
    test(`makes a site its visitor's by a mailed code, ${name}`, async () => {
      await using visitor = await visit(options)
      const { page } = visitor
      const site = await publish({ title: 'A small site' })
      const email = newAddress()

      await page.goto(site.claimUrl)
      await page.getByRole('heading', { name: 'A small site' }).waitFor()
      assert.equal(await page.getByRole('link', { name: site.slug }).getAttribute('href'), site.siteUrl)
      await page.getByRole('region', { name: 'The site' }).getByText('1 file, 14 bytes').waitFor()
      await page
        .getByRole('timer')
        .getByText(/^(24 h 0 min|23 h 59 min)$/)
        .waitFor()
      await visitor.assertReadable()

      await page.getByLabel('Your email address').fill(email)
      await page.getByRole('button', { name: 'Mail me a code' }).click()
      await page.getByText(`A code is on its way to ${email}. It works for 10 minutes.`).waitFor()
      await visitor.assertReadable()

      await page.getByLabel('Code from the mail').fill(await service.mailedCode(email))
      await page.getByRole('button', { name: 'Claim this site' }).click()
      await page.getByRole('heading', { name: 'The site is yours.' }).waitFor()
      await visitor.assertReadable()
      assert.deepEqual(await ownership(site), { claimed: true, expiresAt: null })
      visitor.assertNoComplaints()
    })
  }

  test('can be used with the keyboard alone', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const email = newAddress()
    await page.goto((await publish()).claimUrl)
    await tabTo(page, page.getByLabel('Your email address'))
    await page.keyboard.type(email)
    await page.keyboard.press('Enter')
    await page.getByText('A code is on its way').waitFor()
    await page.keyboard.type(await service.mailedCode(email))
    await page.keyboard.press('Enter')
    const heading = page.getByRole('heading', { name: 'The site is yours.' })
    await heading.waitFor()
    assert.ok(await heading.evaluate((element) => element === document.activeElement))
  })

  test('reads a code in any case, with or without its dash and with spaces around it', async () => {
    for (const write of [
      (code: string) => code.toLowerCase(),
      (code: string) => code.replace('-', ''),
      (code: string) => `  ${code.toLowerCase().replace('-', ' ')} `,
    ]) {
      await using visitor = await visit()
      const { page } = visitor
      const email = newAddress()
      await askForCode(page, (await publish()).claimUrl, email)
      await page.getByLabel('Code from the mail').fill(write(await service.mailedCode(email)))
      await page.getByRole('button', { name: 'Claim this site' }).click()
      await page.getByRole('heading', { name: 'The site is yours.' }).waitFor()
    }
  })

  test('takes one click from somebody who is signed in', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const email = newAddress()
    await claim(page, (await publish()).claimUrl, email)

    const second = await publish()
    await page.goto(second.claimUrl)
    await page.getByRole('button', { name: `Claim as ${email}` }).click()
    await page.getByRole('heading', { name: 'The site is yours.' }).waitFor()
    assert.deepEqual(await ownership(second), { claimed: true, expiresAt: null })
    visitor.assertNoComplaints()
  })

  test('leaves the API key of its visitor as it is', async () => {
    await using visitor = await visit()
    const email = newAddress()
    const apiKey = await service.signIn(email)
    await claim(visitor.page, (await publish()).claimUrl, email)
    assert.equal((await service.client(apiKey).me()).usage.sites, 1)
  })

  test('says that a code is wrong, and takes the right one after it', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const email = newAddress()
    await askForCode(page, (await publish()).claimUrl, email)
    const field = page.getByLabel('Code from the mail')
    await field.fill('AAAA-AAAA')
    await page.getByRole('button', { name: 'Claim this site' }).click()
    await page.getByRole('alert').getByText('The code is wrong, used or no longer valid').waitFor()
    assert.equal(await field.inputValue(), 'AAAA-AAAA')
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    await visitor.assertReadable()

    await field.fill(await service.mailedCode(email))
    await page.getByRole('button', { name: 'Claim this site' }).click()
    await page.getByRole('heading', { name: 'The site is yours.' }).waitFor()
  })

  test('says what is wrong with an address that cannot receive mail', async () => {
    await using visitor = await visit()
    const { page } = visitor
    await page.goto((await publish()).claimUrl)
    const field = page.getByLabel('Your email address')
    await field.fill('somebody@nowhere')
    await page.getByRole('button', { name: 'Mail me a code' }).click()
    await page.getByRole('alert').getByText('This must be an email address').waitFor()
    assert.equal(await field.inputValue(), 'somebody@nowhere')
  })

  test('mails a new code, or one to another address', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const [first, second] = [newAddress(), newAddress()]
    await askForCode(page, (await publish()).claimUrl, first)
    const old = await service.mailedCode(first)
    const answered = page.waitForResponse('**/request-code')
    await page.getByRole('button', { name: 'Mail a new code' }).click()
    await answered
    assert.notEqual(await service.mailedCode(first), old)

    await page.getByRole('button', { name: 'Use another address' }).click()
    await page.getByLabel('Your email address').fill(second)
    await page.getByRole('button', { name: 'Mail me a code' }).click()
    await page.getByText(`A code is on its way to ${second}.`).waitFor()
    await page.getByLabel('Code from the mail').fill(await service.mailedCode(second))
    await page.getByRole('button', { name: 'Claim this site' }).click()
    await page.getByRole('heading', { name: 'The site is yours.' }).waitFor()
  })

  test('mails one code however often its button is pressed', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const email = newAddress()
    await page.goto((await publish()).claimUrl)
    await page.getByLabel('Your email address').fill(email)
    await page.getByRole('button', { name: 'Mail me a code' }).dblclick()
    await page.getByLabel('Code from the mail').waitFor()
    assert.equal(countLetters(email), 1)
  })

  test('still waits for the code when it is opened again after the mail was read', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const email = newAddress()
    await askForCode(page, (await publish()).claimUrl, email)
    await page.reload()
    await page.getByText(`A code is on its way to ${email}.`).waitFor()
    await page.getByLabel('Code from the mail').fill(await service.mailedCode(email))
    await page.getByRole('button', { name: 'Claim this site' }).click()
    await page.getByRole('heading', { name: 'The site is yours.' }).waitFor()
  })

  test('goes on where it was when the network comes back', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const email = newAddress()
    const { claimUrl } = await publish()
    await page.route('**/api/**', (route) => route.abort())
    await page.goto(claimUrl)
    await page.getByRole('heading', { name: 'The server does not answer.' }).waitFor()
    await page.unroute('**/api/**')
    await page.getByRole('button', { name: 'Try again' }).click()

    await page.getByLabel('Your email address').fill(email)
    await page.route('**/api/**', (route) => route.abort())
    await page.getByRole('button', { name: 'Mail me a code' }).click()
    await page.getByRole('alert').getByText('The server does not answer.').waitFor()
    assert.equal(await page.getByLabel('Your email address').inputValue(), email)
    await page.unroute('**/api/**')
    await page.getByRole('button', { name: 'Mail me a code' }).click()

    await page.getByText(`A code is on its way to ${email}.`).waitFor()
    await page.getByLabel('Code from the mail').fill(await service.mailedCode(email))
    await page.route('**/claim', (route) => route.abort())
    await page.getByRole('button', { name: 'Claim this site' }).click()
    await page.getByRole('alert').getByText('The server does not answer.').waitFor()
    await page.unroute('**/claim')
    await page.getByRole('button', { name: `Claim as ${email}` }).click()
    await page.getByRole('heading', { name: 'The site is yours.' }).waitFor()
  })

  test('asks for a new code when a sign-in has ended', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const [email, site] = [newAddress(), await publish()]
    await claim(page, (await publish()).claimUrl, email)
    await page.goto(site.claimUrl)
    const button = page.getByRole('button', { name: `Claim as ${email}` })
    await button.waitFor()
    await visitor.context.clearCookies()
    await button.click()
    await page.getByRole('alert').getByText('You are not signed in any more.').waitFor()
    await page.getByLabel('Your email address').waitFor()
  })

  test('says that a link is not whole, not the site’s, or of no site', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const { claimUrl, slug } = await publish()
    for (const [link, answer] of [
      [`${service.baseUrl}/claim`, 'This claim link is not whole.'],
      [`${service.baseUrl}/claim?slug=${slug}`, 'This claim link is not whole.'],
      [claimUrl.slice(0, -1), 'The claim token does not belong to this site.'],
      [claimUrl.replace(slug, 'no-such-site'), 'There is no such site, or it belongs to somebody else.'],
    ] as const) {
      await page.goto(link)
      await page.getByRole('heading', { name: answer }).waitFor()
      await page.getByRole('link', { name: 'How to publish with Slipway' }).waitFor()
      await visitor.assertReadable()
    }
  })

  test('says that a site is claimed, by whomever it was', async () => {
    await using first = await visit()
    await using second = await visit()
    const site = await publish()
    const email = newAddress()
    await askForCode(second.page, site.claimUrl, email)
    await claim(first.page, site.claimUrl, newAddress())

    await second.page.getByLabel('Code from the mail').fill(await service.mailedCode(email))
    await second.page.getByRole('button', { name: 'Claim this site' }).click()
    await second.page.getByRole('heading', { name: 'The site was claimed by another account.' }).waitFor()

    await first.page.reload()
    await first.page.getByRole('heading', { name: 'This site is already claimed.' }).waitFor()
    assert.equal(await first.page.getByRole('link', { name: site.slug }).getAttribute('href'), site.siteUrl)
  })

  test('counts down to the end of a site and says that it has expired', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const { claimUrl } = await publish()
    await page.clock.install()
    await page.goto(claimUrl)
    await page.getByRole('timer').waitFor()
    service.clock.now += 86_400_000
    await page.clock.fastForward('23:00:00')
    await page
      .getByRole('timer')
      .getByText(/^(59 min \d+ s|1 h 0 min)$/)
      .waitFor()
    await page.clock.fastForward('01:00:01')
    await page.clock.runFor(5000)
    await page.getByRole('heading', { name: 'The site has expired.' }).waitFor()
    await page.getByText('Publish the folder again').waitFor()

    await page.goto(claimUrl)
    await page.getByRole('heading', { name: 'The site has expired.' }).waitFor()
  })

  test('shows a title as text, whatever is in it', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const title = '<img src=x onerror="document.title=1"> & <b>bold</b>'
    await page.goto((await publish({ title })).claimUrl)
    await page.getByRole('heading', { name: title }).waitFor()
    visitor.assertNoComplaints()
  })
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
    await shell(`mkdir folder && printf '${PAGE}' > folder/index.html`, folder)
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
    const page = referencePage({
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

describe('a page', () => {
  const paths = ['/', '/claim', '/docs', '/claim.js', '/style.css', '/favicon.svg']

  for (const path of paths) {
    test(`${path} runs nothing but our own files and tells nobody its address`, async () => {
      const { status, headers } = await fetch(service.baseUrl + path)
      assert.equal(status, 200)
      assert.equal(
        headers.get('content-security-policy'),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
          "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      )
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
      assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
      assert.equal(headers.get('x-ratelimit-limit'), null)
    })

    test(`${path} is sent again only when it changed`, async () => {
      const first = await fetch(service.baseUrl + path)
      assert.equal(first.headers.get('cache-control'), 'no-cache')
      const etag = first.headers.get('etag') ?? ''
      assert.match(etag, /^"[\w-]+"$/)
      const again = await fetch(service.baseUrl + path, {
        headers: { 'If-None-Match': `"other", W/${etag}` },
      })
      assert.equal(again.status, 304)
      assert.equal(again.headers.get('etag'), etag)
      assert.equal((await again.bytes()).length, 0)
      const head = await fetch(service.baseUrl + path, { method: 'HEAD' })
      assert.equal(head.status, 200)
      assert.equal(Number(head.headers.get('content-length')), (await first.bytes()).length)
    })
  }

  test('that is not there says so', inBrowser, async () => {
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

/** An anonymous site with one page, published this instant. */
async function publish(viewer: { title?: string } = {}) {
  service.clock.now = Date.now()
  const files = [
    { path: 'index.html', size: PAGE.length, contentType: 'text/html', open: () => Buffer.from(PAGE) },
  ]
  const { slug, siteUrl, claimToken, claimUrl } = await service.client().publish({ files, ...viewer })
  assert.ok(claimToken && claimUrl)
  return { slug, siteUrl, claimToken, claimUrl }
}

async function ownership({ slug, claimToken }: { slug: string; claimToken: string }) {
  const { claimed, expiresAt } = await service.client().claimPreview(slug, claimToken)
  return { claimed, expiresAt }
}

/** Opens a claim link and has a code mailed. */
async function askForCode(page: Page, claimUrl: string, email: string): Promise<void> {
  await page.goto(claimUrl)
  await page.getByLabel('Your email address').fill(email)
  await page.getByRole('button', { name: 'Mail me a code' }).click()
  await page.getByText(`A code is on its way to ${email}.`).waitFor()
}

async function claim(page: Page, claimUrl: string, email: string): Promise<void> {
  await askForCode(page, claimUrl, email)
  await page.getByLabel('Code from the mail').fill(await service.mailedCode(email))
  await page.getByRole('button', { name: 'Claim this site' }).click()
  await page.getByRole('heading', { name: 'The site is yours.' }).waitFor()
}

async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < 20; presses++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  assert.fail('it cannot be reached with the Tab key')
}

let people = 0

function newAddress(): string {
  return `person-${++people}@example.com`
}

function countLetters(email: string): number {
  const folder = join(service.data, 'mail')
  return readdirSync(folder).filter((name) =>
    readFileSync(join(folder, name), 'utf8').includes(`To: ${email}`),
  ).length
}

async function shell(command: string, folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-ec', command], { cwd: folder })
  return stdout
}
