import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HOUR_MS } from '../../server/lib/time.ts'
import { toFiles } from '../api/content.ts'
import { seedAdministration } from './seeded-administration.ts'
import { web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

/** Tabs that consist of parts of their own; the others have the same table. */
const OWN_PARTS = ['', '/sites']
const VIEWS = [
  ...OWN_PARTS,
  '/accounts',
  '/domains',
  '/certificates',
  '/sweeps',
  '/nodes',
  '/policies',
  '/audit',
]

async function asAdministrator() {
  const { page, owner } = await web.asOwner()
  await seedAdministration(web, owner)
  return { page, owner }
}

describe('the administration', requiresBrowser, () => {
  test('does not exist for an account that is no administrator, and its script is not loaded', async () => {
    const { page } = await web.asOwner()
    const scripts: string[] = []
    page.on('request', (request) => scripts.push(request.url()))
    for (const view of ['', '/sites', '/nothing']) {
      await page.goto(web.url(`/admin${view}`))
      await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    }
    await page.goto(web.url('/account'))
    await page.getByText('Signed in as').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Administration' }).count(), 0)
    assert.deepEqual(
      scripts.filter((url) => /\/administration|\/api\/admin\//.test(url)),
      [],
    )
  })

  test('is accessible in all viewports and color schemes, with each of its tabs', async () => {
    const { page, owner } = await asAdministrator()
    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'a page' }) })
    await owner.client.addDomain('www.admin.example.com', slug)
    await page.goto(web.url('/account'))
    await page.getByRole('link', { name: 'Administration' }).click()
    await page.getByRole('heading', { name: 'Administration', level: 1 }).waitFor()
    for (const view of VIEWS) {
      await page.goto(web.url(`/admin${view}`))
      await page.locator('.records, .empty, .activity-plots, form').first().waitFor()
      for (const details of await page.locator('details').all())
        await details.evaluate((one) => one.setAttribute('open', ''))
      if (OWN_PARTS.includes(view)) await owner.assertAccessibleInAllViewports()
      else await owner.assertReadableInAllViewports()
    }
    owner.assertNoComplaints()
  })

  test('shows activity as plots and as a table of the same numbers', async () => {
    const { page } = await asAdministrator()
    await page.goto(web.url('/admin'))
    const panel = page.getByRole('region', { name: 'Activity' })
    await panel.getByRole('img', { name: /^Visits over time, at most [\d,]+$/ }).waitFor()
    await panel.getByText('All numbers').click()
    assert.equal(await panel.getByRole('row').count(), 49)
    await panel.getByLabel('Time', { exact: true }).selectOption('Last 30 days')
    await panel.locator('.numbers tbody tr').nth(119).waitFor({ state: 'attached' })
  })

  test('finds a site by the beginning of its title, and shows its owner', async () => {
    const { page, owner } = await asAdministrator()
    const files = (title: string) => toFiles({ 'index.html': `<title>${title}</title>` })
    const title = `Zebra crossing ${owner.email}`
    const { slug } = await owner.client.publish({ files: files(title) })
    await seedAdministration(web, owner)
    await page.goto(web.url('/admin/sites'))
    await page.getByLabel('Search').fill('zebra CROSS')
    const row = page.getByRole('row', { name: title })
    await row.getByText(slug, { exact: true }).waitFor()
    await row.getByRole('link', { name: owner.email, exact: true }).click()
    await page.getByRole('row', { name: owner.email }).getByText('Administrator').waitFor()
  })

  test('asks for a code before a change when the sign-in is old, and then makes the change', async () => {
    const { page, owner } = await asAdministrator()
    const other = await web.createAccount()
    web.service.clock.now += 13 * HOUR_MS
    await page.goto(web.url(`/admin/accounts?q=${other.email}`))
    await page.getByRole('button', { name: `Actions for ${other.email}` }).click()
    await page.getByRole('menuitem', { name: 'Make administrator' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Make administrator' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByRole('button', { name: 'Get a sign-in code' }).click()
    await dialog.getByText(`The code for ${owner.email}`).waitFor()
    await web.writeCode(page, owner.email)
    await page.getByText(`${other.email} is an administrator.`).waitFor()
    assert.equal((await other.client.me()).administrator, true)
    await page.goto(web.url(`/admin/audit?q=${other.email}`))
    await page.getByRole('row', { name: 'administrator.add' }).getByText(owner.email).waitFor()
  })

  test('sets a message that all users see until they dismiss it, and removes it', async () => {
    const { page } = await asAdministrator()
    const { page: other } = await web.asVisitor('/')
    const text = 'Pause at 6 o\u2019clock: <b>"uploads"</b> & more'
    const message = other.locator('.banner', { hasText: text })
    await page.goto(web.url('/admin/policies'))
    const form = page.getByRole('region', { name: 'Banner' })
    await form.getByLabel('Text').fill(text)
    await form.getByLabel('Kind').selectOption('Warning')
    await form.getByLabel('Link').fill('javascript:alert(1)')
    await form.getByRole('button', { name: 'Show banner' }).click()
    await form.getByText('must be a URL').waitFor()
    await form.getByLabel('Link').fill('https://status.example.com/')
    await form.getByRole('button', { name: 'Show banner' }).click()
    await form.getByRole('button', { name: 'Remove banner' }).waitFor()
    for (const path of ['/', '/sign-in']) {
      await other.goto(web.url(path))
      await message.waitFor()
      assert.equal(await message.getByRole('link').getAttribute('href'), 'https://status.example.com/')
    }
    await message.getByRole('button', { name: 'Dismiss' }).click()
    await other.goto(web.url('/'))
    await other.getByRole('heading', { level: 1 }).waitFor()
    assert.equal(await other.locator('.banner').count(), 0)
    await form.getByLabel('Text').fill('Another text')
    await form.getByRole('button', { name: 'Save banner' }).click()
    await page.getByText('The banner is set').waitFor()
    await other.reload()
    await other.locator('.banner', { hasText: 'Another text' }).waitFor()
    await form.getByRole('button', { name: 'Remove banner' }).click()
    await form.getByRole('button', { name: 'Show banner' }).waitFor()
    await other.reload()
    await other.getByRole('heading', { level: 1 }).waitFor()
    assert.equal(await other.locator('.banner').count(), 0)
  })
})
