import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { toFiles } from '../api/content.ts'
import type { BrowserUser } from '../support/browser.ts'
import { waitFor } from '../support/wait-for.ts'
import { web } from './shared.ts'
import { type Account, requiresBrowser, tabTo } from './web-fixture.ts'

/** Takes the focus at this interval, and logs each key that it gets. */
const grasping = (intervalMs: number) => `<!doctype html><title>Grasping</title><h1>Bakery</h1>
<input id="trap" style="position:fixed;left:-999px"><p style="height:3000px">Bread</p><button>Order</button><script>
  addEventListener('keydown', ({ key }) => console.log('took ' + key), true)
  setInterval(() => trap.focus({ preventScroll: true }), ${intervalMs})
</script>`

/** A page that takes the focus when the test says so. */
const PATIENT =
  '<!doctype html><title>Patient</title><h1>Bakery</h1><input id="trap" aria-label="Search"><p style="height:3000px">Bread</p>'

const WORDS = 'Beatrice of the harbour'

/** The keys that pages in frames have logged since. */
function keysOfFrames(page: Page): string[] {
  const keys: string[] = []
  page.on('console', (message) => {
    if (message.text().startsWith('took ')) keys.push(message.text().slice(5))
  })
  return keys
}

function reviewed(page: Page) {
  return page.frameLocator('iframe[title="The reviewed page"]')
}

/** A site with such a page as its live version and as a preview. */
async function publish({ client }: Account, html: string) {
  const files = toFiles({ 'index.html': html })
  const { slug } = await client.publish({ files })
  await client.publish({ slug, files, preview: 'spring' })
  return { slug, link: (await client.review(slug, 'spring').createLink()).url }
}

/** The consoles have only scripts that did not run, and failed requests. */
function assertBlocked({ complaints }: BrowserUser): void {
  const others = complaints
    .splice(0)
    .filter((line) => !/^(?:Blocked script execution in|Failed to load resource)/.test(line))
  assert.deepEqual(others, [])
}

const off = (page: Page) => page.getByText('The scripts of this page are off').first()

for (const intervalMs of [4, 50])
  describe(`a framed page that takes the focus every ${intervalMs} ms`, requiresBrowser, () => {
    test('gets no key of the name and the comment of a reviewer, and runs no scripts from then on', async () => {
      const { owner } = await web.asOwner()
      const { link } = await publish(owner, grasping(intervalMs))
      const { page, visitor } = await web.asVisitor()
      const keys = keysOfFrames(page)
      await page.goto(link)
      await reviewed(page).locator('h1').waitFor()
      const name = page.getByLabel('Your name')
      await name.click()
      await off(page).waitFor()
      await page.keyboard.type(WORDS, { delay: 20 })
      assert.equal(await name.inputValue(), WORDS)
      await page.getByRole('button', { name: 'Comment', exact: true }).click()
      await page.getByRole('button', { name: 'Comment on the whole page' }).click()
      await page.getByLabel('Comment', { exact: true }).click()
      await page.keyboard.type(WORDS, { delay: 20 })
      assert.equal(await page.getByLabel('Comment', { exact: true }).inputValue(), WORDS)
      assert.deepEqual(keys, [])
      assertBlocked(visitor)
    })

    test('gets no key of the note of a decision, which Escape closes', async () => {
      const { page, owner } = await web.asOwner()
      const { slug } = await publish(owner, grasping(intervalMs))
      const keys = keysOfFrames(page)
      await page.goto(web.url(`/sites/${slug}/review?preview=spring`))
      await reviewed(page).locator('h1').waitFor()
      await page.getByRole('button', { name: 'Request changes' }).click()
      const note = page.getByLabel('Note (optional)')
      await note.click()
      await page.keyboard.type(WORDS, { delay: 20 })
      assert.equal(await note.inputValue(), WORDS)
      await page.keyboard.press('Escape')
      await note.waitFor({ state: 'detached' })
      await reviewed(page).locator('h1').waitFor()
      assert.deepEqual(keys, [])
      assertBlocked(owner)
    })

    test('gets no key of the sign-in code of a session that has ended, in a review and on the page of a site', async () => {
      const { page, owner } = await web.asOwner()
      const { slug } = await publish(owner, grasping(intervalMs))
      const keys = keysOfFrames(page)
      await page.goto(web.url(`/sites/${slug}/review?preview=spring`))
      await reviewed(page).locator('h1').waitFor()
      await endSessionAtRequest(page, '**/review/links', owner)
      await page.getByRole('button', { name: 'Create link', exact: true }).click()
      await typeCode(page, owner)
      await page.getByText('Copy the link now').waitFor()
      await page.goto(web.url(`/sites/${slug}`))
      await page.frameLocator('.live-frame iframe').locator('h1').waitFor()
      await endSessionAtRequest(page, '**/duplicate', owner)
      await page.getByRole('button', { name: 'Site actions' }).click()
      await page.getByRole('menuitem', { name: 'Duplicate site' }).click()
      await typeCode(page, owner)
      await page.waitForURL((url) => !url.pathname.endsWith(slug))
      assert.deepEqual(keys, [])
      assertBlocked(owner)
    })

    test('gets no key of the command palette and of a field on the page of its site', async () => {
      const { page, owner } = await web.asOwner()
      const { slug } = await publish(owner, grasping(intervalMs))
      const keys = keysOfFrames(page)
      await page.goto(web.url(`/sites/${slug}`))
      await page.frameLocator('.live-frame iframe').locator('h1').waitFor()
      await page.locator('.palette-button').click()
      await page.getByRole('combobox').waitFor()
      await page.keyboard.type(WORDS, { delay: 20 })
      assert.equal(await page.getByRole('combobox').inputValue(), WORDS)
      assert.deepEqual(keys, [])
      assertBlocked(owner)
    })
  })

describe('a reviewed page', requiresBrowser, () => {
  test('gets the focus by a press and by the Tab key, and scrolls while a comment is being written', async () => {
    const { owner } = await web.asOwner()
    const { link } = await publish(owner, PATIENT)
    const { page } = await web.asVisitor(link.slice(web.service.baseUrl.length))
    const search = reviewed(page).getByLabel('Search')
    await search.waitFor()
    const name = page.getByLabel('Your name')
    await name.click()
    await page.keyboard.type(WORDS)
    const box = (await page.locator('.review-frame').boundingBox())!
    await page.mouse.move(box.x + 100, box.y + 100)
    await waitFor(async () => {
      await page.mouse.wheel(0, 300)
      return reviewed(page)
        .locator('html')
        .evaluate(() => scrollY > 0)
    })
    assert.equal(await name.evaluate((field) => field === document.activeElement), true)
    await page.mouse.click(box.x + 100, box.y + 100)
    await search.click()
    await page.keyboard.type('rye')
    assert.equal(await search.inputValue(), 'rye')
    await name.click()
    await tabTo(page, page.locator('.review-frame iframe'))
    await page.keyboard.type('!')
    assert.match(await search.inputValue(), /!/)
    assert.equal(await off(page).count(), 0)
  })

  test('that takes the focus from a comment loses its scripts until the reviewer runs them again', async () => {
    const { owner } = await web.asOwner()
    const { link } = await publish(owner, PATIENT)
    const { page, visitor } = await web.asVisitor(link.slice(web.service.baseUrl.length))
    await page.getByLabel('Your name').fill('Bea')
    await reviewed(page).locator('h1').waitFor()
    await page.getByRole('button', { name: 'Comment', exact: true }).click()
    await page.getByRole('button', { name: 'Comment on the whole page' }).click()
    const comment = page.getByLabel('Comment', { exact: true })
    await comment.click()
    await page.keyboard.type('Too ')
    // The frame may have left the document before the call returns.
    const taking = reviewed(page)
      .locator('#trap')
      .evaluate((field: HTMLElement) => field.focus())
    await taking.catch(() => undefined)
    await off(page).waitFor()
    await comment.and(page.locator(':focus')).waitFor()
    await page.keyboard.type('small')
    assert.equal(await comment.inputValue(), 'Too small')
    await page.getByRole('button', { name: 'Run its scripts' }).click()
    await reviewed(page).locator('h1').waitFor()
    assert.match((await page.locator('.review-frame iframe').getAttribute('sandbox'))!, /allow-scripts/)
    await page.getByRole('button', { name: 'Add comment' }).click()
    await page.getByText('Too small').waitFor()
    assertBlocked(visitor)
  })
})

/**
 * Ends the session after the press, by its request: the page that found it ended before, as when it stores a picture
 * of the site, would cover the button with the dialog.
 */
async function endSessionAtRequest(page: Page, urls: string, { client }: Account): Promise<void> {
  const end = async (route: Route) => {
    await client.endOtherSessions()
    await route.continue()
  }
  await page.route(urls, end, { times: 1 })
}

async function typeCode(page: Page, { email }: Account): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Get a sign-in code' }).click()
  await page.getByLabel('Sign-in code').click()
  assert.equal(await page.locator('iframe').count(), 0)
  await page.keyboard.type(await web.service.mailedCode(email), { delay: 20 })
  await dialog.waitFor({ state: 'detached' })
}
