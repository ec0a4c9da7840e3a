import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { toFiles } from '../api/content.ts'
import { PHONE } from '../support/browser.ts'
import { testVariant } from '../support/variants.ts'
import { web } from './shared.ts'
import { newAddress, requiresBrowser } from './web-fixture.ts'

/** Requests the focus in every animation frame, and counts the attempts in its address. */
const FOCUS_STEALING = `<!doctype html><title>Grasping</title><h1>Hello</h1><input id="field"><script>
  let times = 0
  const grasp = () => {
    field.blur()
    field.focus()
    history.replaceState(null, '', '#' + ++times)
    requestAnimationFrame(grasp)
  }
  grasp()
</script>`

describe('the claim page', requiresBrowser, () => {
  test(`makes a site its visitor's with a code sent by email, and runs no script of the site`, async () => {
    const { page, visitor } = await web.asVisitor(undefined, { viewport: PHONE })
    const title = '<img src=x onerror="document.title=1"> & a <b>small</b> site'
    const site = await publish({ title, page: FOCUS_STEALING })
    const email = newAddress()

    await page.goto(site.claimUrl)
    const offered = page.getByRole('region', { name: title })
    await offered.getByRole('heading', { name: title }).waitFor()
    assert.equal(await page.getByRole('link', { name: site.slug }).getAttribute('href'), site.siteUrl)
    await offered.getByText(`1 file, ${FOCUS_STEALING.length} bytes`).waitFor()
    await page.frameLocator('iframe').getByRole('heading', { name: 'Hello' }).waitFor()
    const src = await page.locator('iframe').getAttribute('src')
    assert.notEqual(src, site.siteUrl, 'looking before claiming would count as a visit')
    await page
      .getByRole('timer')
      .getByText(/^(24 h|23 h 5\d min)$/)
      .waitFor()
    await visitor.assertReadableInAllViewports()

    await page.getByLabel('Your email address').click()
    await page.keyboard.type(email)
    assert.equal(await page.getByLabel('Your email address').inputValue(), email)
    assert.equal(await page.frameLocator('iframe').locator('#field').inputValue(), '')
    assert.ok(!page.frames()[1]!.url().includes('#'), 'its script ran')
    assert.match(visitor.complaints.splice(0).join('\n'), /^Blocked script execution in /)
    await web.askForCode(page, email)
    await page.getByText(`The code for ${email} expires in 10 minutes.`).waitFor()
    await web.writeCode(page, email)
    await isClaimed(page, site.slug)
    assert.deepEqual(await ownership(site), { slug: site.slug, claimed: true })
  })

  test('takes one click when signed in, and removes the site from what the front page remembers', async () => {
    const { page, owner } = await web.asOwner()
    const [site, theirs] = [await publish(), await publish()]
    await page.evaluate(remember, [site, theirs])
    await (await web.createAccount()).client.claim(theirs.slug, theirs.claimToken)
    await page.goto(web.service.baseUrl)
    await page.getByRole('link', { name: `Keep ${new URL(site.siteUrl).host}` }).click()
    await page.getByRole('button', { name: `Keep as ${owner.email}` }).click()
    await isClaimed(page, site.slug)
    assert.deepEqual(await ownership(site), { slug: site.slug, claimed: true })
    await page.goto(theirs.claimUrl)
    await page.getByText('This site is already claimed').waitFor()
    await page.getByText('If you claimed it, find it in your sites.').waitFor()
    await page.waitForFunction(() => localStorage.getItem('slipway.anonymous-sites') === null)
    await page.goto(site.claimUrl.replace(site.claimToken, theirs.claimToken))
    await page.getByRole('heading', { name: "This link doesn't belong to this site." }).waitFor()
    await page.goto(site.claimUrl)
    await page.getByRole('heading', { name: 'This site is already yours' }).waitFor()
    await owner.assertReadable()
    await page.getByRole('link', { name: 'Manage site' }).click()
    await page.waitForURL(`**/sites/${site.slug}`)
  })

  test('takes no click in its first second, which may be the second half of a double click in a page of someone else', async () => {
    const { page, owner } = await web.asOwner()
    const site = await publish()
    await page.clock.install()
    await page.clock.pauseAt(Date.now() + MINUTE_MS)
    await page.goto(site.claimUrl)
    const keep = page.getByRole('button', { name: `Keep as ${owner.email}` })
    while (!(await keep.isVisible())) await page.clock.runFor(100)
    await keep.click({ force: true })
    await page.getByLabel('Site name').press('Enter')
    await page.evaluate(() => undefined)
    assert.equal((await ownership(site)).claimed, false)
    await page.clock.runFor(2000)
    await keep.click()
    await isClaimed(page, site.slug)
    // The preview runs no scripts, of which the clock of this test is one; it may not have been loaded.
    for (const complaint of owner.complaints.splice(0))
      assert.match(complaint, /^Blocked script execution in /)
  })

  test('counts down to the expiry of a site and reports when it has expired', async () => {
    const { page, visitor } = await web.asVisitor()
    const { claimUrl } = await publish()
    await page.clock.install()
    await page.goto(claimUrl)
    await page.getByRole('timer').waitFor()
    web.service.clock.now += 86_400_000
    await page.clock.fastForward('23:00:00')
    await page
      .getByRole('timer')
      .getByText(/^(5\d min \d+ s|1 h)$/)
      .waitFor()
    await page.clock.fastForward('01:00:01')
    await page.clock.runFor(5000)
    await page.getByRole('heading', { name: 'The site has expired.' }).waitFor()
    await page.getByText('Publish the folder again').waitFor()
    // The preview runs no scripts, of which the clock of this test is one, and an expired preview is not framed.
    for (const complaint of visitor.complaints.splice(0))
      assert.match(complaint, /^(Blocked script execution in|Framing|Failed to load resource)/)
  })

  testVariant('continues at the same step when the network is back', async () => {
    const { page, visitor } = await web.asVisitor()
    const [site, email] = [await publish(), newAddress()]
    await page.route('**/api/**', (route) => route.abort())
    await page.goto(site.claimUrl)
    await page.getByRole('heading', { name: "Can't reach the server." }).waitFor()
    await visitor.assertAccessible()
    await page.unroute('**/api/**')
    await page.getByRole('button', { name: 'Try again' }).click()
    await web.askForCode(page, email)
    await page.route('**/claim', (route) => route.abort())
    await web.writeCode(page, email)
    await page.getByRole('alert').getByText("Can't reach the server.").waitFor()
    await page.unroute('**/claim')
    await page.getByRole('button', { name: `Keep as ${email}` }).click()
    await isClaimed(page, site.slug)
  })
})

/** A new anonymous site with one page. */
async function publish({ title, page = '<h1>Hello</h1>' }: { title?: string; page?: string } = {}) {
  const files = toFiles({ 'index.html': page })
  const { slug, siteUrl, claimToken, claimUrl } = await web.service
    .client()
    .publish({ files, ...(title && { title }) })
  assert.ok(claimToken && claimUrl)
  return { slug, siteUrl, claimToken, claimUrl }
}

function ownership({ slug, claimToken }: { slug: string; claimToken: string }) {
  return web.service.client().claimPreview(slug, claimToken)
}

/** Asserts that the claim is confirmed and the page of the site is shown. */
async function isClaimed(page: Page, slug: string): Promise<void> {
  await page.getByRole('status').getByText("This site is now yours and won't expire.").waitFor()
  await page.waitForURL(`**/sites/${slug}`)
}

/** Runs in the page: stores what the front page stores of sites that were published there without an account. */
function remember(sites: object[]): void {
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
  localStorage.setItem(
    'slipway.anonymous-sites',
    JSON.stringify(sites.map((site) => ({ ...site, expiresAt }))),
  )
}
