import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { type RunningService, startTestService } from './service.ts'
import { type Browser, openBrowser } from './tools/chromium.ts'
import { needs } from './tools/part.ts'
import { LOOKS, Visitor } from './visitor.ts'

const inBrowser = needs('chromium')

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

function visit(options?: BrowserContextOptions): Promise<Visitor> {
  return Visitor.open(browser!.page.context().browser()!, options)
}

/** An anonymous site with one page, published this instant. */
async function publish(viewer: { title?: string } = {}) {
  service.clock.now = Date.now()
  const page = Buffer.from('<h1>Hello</h1>')
  const files = [{ path: 'index.html', size: page.length, contentType: 'text/html', open: () => page }]
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
