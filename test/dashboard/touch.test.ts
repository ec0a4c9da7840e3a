import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toFiles } from '../api/content.ts'
import { PHONE } from '../support/browser.ts'
import { ALL_VARIANTS } from '../support/variants.ts'
import { seedAccount } from './seeded-account.ts'
import { web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

test(
  'a finger has 44 pixels for every control of every page, but for links within a line of text, no page scrolls sideways, and the current tab is in view',
  requiresBrowser,
  async () => {
    const account = await web.createAccount()
    const { sites, claimPath, domain } = await seedAccount(web, account)
    await using owner = await web.owner({ ...PHONE_WITH_TOUCH, account })
    const { page } = owner
    const views = ['', '/files', '/versions', '/visits', '/settings'].map(
      (view) => `/sites/${sites[0]}${view}`,
    )
    const other = web.service.client(await web.service.signIn(`${'a'.repeat(44)}@example.test`))
    const { slug: shared } = await other.publish({ files: toFiles({ 'index.html': 'Shared' }) })
    await other.addCollaborator(shared, account.email)
    const pages = [
      '/',
      '/sites',
      `/sites/${shared}`,
      ...views,
      `/domains?domain=${domain}`,
      '/account',
      claimPath,
      '/docs/api',
      '/report',
    ]
    const alike = ['/domains', '/docs', '/docs/publish', '/status']
    for (const path of ALL_VARIANTS ? [...pages, ...alike] : pages) {
      await page.goto(web.url(path))
      // Every page of the dashboard has a heading once it has its data.
      await page.locator('main :is(h1, h2)').first().waitFor()
      assert.deepEqual(await page.evaluate(findSmallTargets), [], path)
      // `innerWidth` grows with the page on phones.
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), PHONE.width, path)
      await page.waitForFunction(isCurrentTabInView)
    }
  },
)

test('fields of settings are above their buttons on a page of 320 pixels', requiresBrowser, async () => {
  await using owner = await web.owner({ viewport: { width: 320, height: 800 } })
  const { page } = owner
  const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'Hello' }) })
  await page.goto(web.url(`/sites/${slug}/settings`))
  for (const [label, verb] of [
    ['Site name', 'Rename site'],
    ['Email address', 'Invite'],
  ] as const) {
    const field = await page.getByRole('textbox', { name: label, exact: true }).boundingBox()
    const button = await page.getByRole('button', { name: verb, exact: true }).boundingBox()
    assert.ok(field!.width > 200 && field!.y + field!.height <= button!.y, label)
  }
})

test('a phone, which has no folders, is offered files for the first site', requiresBrowser, async () => {
  await using owner = await web.owner(PHONE_WITH_TOUCH)
  const { page } = owner
  await page.goto(web.url('/sites'))
  await page.getByRole('link', { name: 'Publish files' }).click()
  await page.getByRole('button', { name: 'Choose files or a ZIP' }).waitFor()
  await page.goBack()
  await page.getByText('No sites', { exact: true }).waitFor()
  assert.equal(await page.getByText('Drop a folder').count(), 0)
})

test(
  'a phone shows the question before an update that removes most files with its buttons',
  requiresBrowser,
  async () => {
    await using owner = await web.owner(PHONE_WITH_TOUCH)
    const { page } = owner
    const files = toFiles({ 'index.html': 'Hello', 'a.txt': 'a', 'b.txt': 'b' })
    const { slug } = await owner.client.publish({ files })
    await page.goto(web.url(`/sites/${slug}`))
    const choosing = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Publish update' }).click()
    const chooser = await choosing
    await chooser.setFiles({ name: 'c.txt', mimeType: 'text/plain', buffer: Buffer.from('c') })
    const cancel = page.getByRole('button', { name: 'Cancel' })
    await cancel.waitFor()
    await page.waitForFunction(
      (button) => button!.getBoundingClientRect().bottom <= innerHeight,
      await cancel.elementHandle(),
    )
  },
)

const PHONE_WITH_TOUCH = { viewport: PHONE, hasTouch: true, isMobile: true }

function isCurrentTabInView(): boolean {
  const tab = document.querySelector('.views [aria-current]')
  return !tab || tab.getBoundingClientRect().right <= innerWidth
}

/** The visible controls that are smaller, with their own frame (`::after`) or label. */
function findSmallTargets(): string[] {
  const MIN = 43.5
  const controls = document.querySelectorAll<HTMLElement>('a[href], button, input, select, textarea, summary')
  return [...controls].flatMap((control) => {
    if (!control.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return []
    const { width, height } = (control.closest('label') ?? control).getBoundingClientRect()
    if (width < 2 || height < 2) return []
    const text = control.textContent!.trim()
    const around = control.parentElement!.textContent!.trim()
    const { display } = getComputedStyle(control)
    if (control.matches('a') && display === 'inline' && around.length > text.length + 3) return []
    const frame = getComputedStyle(control, '::after')
    const isFramed = frame.content !== 'none' && frame.position === 'absolute'
    const sides = [
      width,
      height,
      ...(isFramed ? [Number.parseFloat(frame.width), Number.parseFloat(frame.height)] : []),
    ]
    const [w, h] = [Math.max(sides[0]!, sides[2] ?? 0), Math.max(sides[1]!, sides[3] ?? 0)]
    return w >= MIN && h >= MIN
      ? []
      : [`${control.tagName} ${text.slice(0, 30)} ${Math.round(w)}x${Math.round(h)}`]
  })
}
