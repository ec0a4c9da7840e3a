import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { toFiles } from '../api/content.ts'
import { web } from './shared.ts'
import { asksBeforeClosing, requiresBrowser, signInElsewhere } from './web-fixture.ts'

describe('a late response', requiresBrowser, () => {
  test('does not show data of another account that has signed in since, nor does the page', async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'hers' }) })
    await page.goto(web.url('/account'))
    await page.getByText(owner.email).waitFor()
    const late = await held(page, '**/api/v1/publishes*')
    await page.getByRole('link', { name: 'Sites', exact: true }).click()
    await late.requested
    const email = await signInElsewhere(web, page.context())
    await page.getByText('No sites', { exact: true }).waitFor()
    await late.release()
    await page.getByRole('link', { name: 'Account', exact: true }).click()
    await page.getByText(email).waitFor()
    assert.equal(await page.getByText(owner.email).count(), 0)
    await page.getByRole('link', { name: 'Sites', exact: true }).click()
    await page.getByText('No sites', { exact: true }).waitFor()
    assert.equal(await page.getByText(slug).count(), 0)
  })

  test('that asks for a sign-in does not repeat a change as another account that has signed in since', async () => {
    const { page, owner } = await web.asOwner('/account')
    const changes: string[] = []
    page.on('request', (request) => void (request.method() === 'PATCH' && changes.push(request.url())))
    const toggle = page.getByRole('switch', { name: 'A site was deleted' })
    await toggle.waitFor()
    const late = await held(page, '**/api/v1/me')
    await toggle.click()
    await late.requested
    await page.getByText(await signInElsewhere(web, page.context())).waitFor()
    await page.evaluate(() => dispatchEvent(new StorageEvent('storage', { key: 'slipway.signed-in-at' })))
    await late.release(401)
    await page.getByRole('link', { name: 'Sites', exact: true }).click()
    await page.getByText('No sites', { exact: true }).waitFor()
    assert.deepEqual(changes, [web.url('/api/v1/me')])
    owner.complaints.splice(0)
  })
})

test('what was typed and not sent is forgotten when another account signs in', requiresBrowser, async () => {
  const { page, owner } = await web.asOwner()
  const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'hers' }) })
  await page.goto(web.url(`/sites/${slug}/settings`))
  await page.getByLabel('Title').fill('hers')
  await page.getByRole('link', { name: 'Files', exact: true }).click()
  await page.getByRole('button', { name: 'Actions for index.html' }).click()
  await page.getByRole('menuitem', { name: 'Edit text' }).click()
  await page.getByLabel('Content').fill('only hers')
  await asksBeforeClosing(page)
  await signInElsewhere(web, page.context())
  await page.getByLabel('Content').waitFor({ state: 'detached' })
  let asks = false
  page.on('dialog', (dialog) => {
    asks = true
    void dialog.accept()
  })
  const closed = page.waitForEvent('close')
  await page.close({ runBeforeUnload: true })
  await closed
  assert.equal(asks, false)
  owner.complaints.splice(0)
})

/** Holds back the response to the next such request until it is released. */
async function held(
  page: Page,
  pattern: string,
): Promise<{ requested: Promise<void>; release(status?: number): Promise<void> }> {
  const requested = Promise.withResolvers<void>()
  let finish: (status?: number) => Promise<void>
  const keep = async (route: Route) => {
    const response = await route.fetch()
    finish = (status = response.status()) => route.fulfill({ response, status })
    requested.resolve()
  }
  await page.route(pattern, keep, { times: 1 })
  return { requested: requested.promise, release: (status) => finish(status) }
}
