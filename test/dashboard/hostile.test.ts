import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { toFiles } from '../api/content.ts'
import { web } from './shared.ts'
import { requiresBrowser, signInElsewhere } from './web-fixture.ts'

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
})

/** Holds back the response to the next such request until it is released. */
async function held(
  page: Page,
  pattern: string,
): Promise<{ requested: Promise<void>; release(): Promise<void> }> {
  const requested = Promise.withResolvers<void>()
  let finish: () => Promise<void>
  const keep = async (route: Route) => {
    const response = await route.fetch()
    finish = () => route.fulfill({ response })
    requested.resolve()
  }
  await page.route(pattern, keep, { times: 1 })
  return { requested: requested.promise, release: () => finish() }
}
