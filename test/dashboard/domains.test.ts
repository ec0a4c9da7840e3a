import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { OperatorContext } from '../../server/app.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import type { DnsFindings, Domain } from '../../server/store/tables/domains.ts'
import { toFiles } from '../api/content.ts'
import { certificateRow } from '../store/rows.ts'
import { PHONE } from '../support/browser.ts'
import { openOperator } from '../support/service.ts'
import { testVariant } from '../support/variants.ts'
import { web as shared } from './shared.ts'
import { type Owner, requiresBrowser, type WebFixture } from './web-fixture.ts'

const PROXY = 'edge.slipway.test'

// The tests write what checks find in DNS and what a CA issues, whose real ones test/journeys/own-domain.test.ts has.

describe('the domains page', requiresBrowser, () => {
  let web: WebFixture
  let operator: OperatorContext & AsyncDisposable
  before(async () => {
    // No CA answers there.
    const settings = { PROXY_HOST: PROXY, HTTPS_PORT: '0', ACME_URL: 'https://127.0.0.1:1/directory' }
    web = await shared.another(settings)
    operator = await openOperator(web.service, settings)
  })
  afterEach(() => web.endTest())
  after(async () => {
    await operator?.[Symbol.asyncDispose]()
    await web?.[Symbol.asyncDispose]()
  })

  /** Signs in a new account with a site. */
  async function createSiteOwner(options = {}) {
    const { page, owner } = await web.asOwner(undefined, options)
    await operator.administrators.setPlan(COMMAND_LINE, owner.email, { plan: 'hobby' })
    const files = toFiles({ 'index.html': 'a' })
    const { slug } = await owner.client.publish({ files, title: 'A garden in May' })
    return { page, owner, client: owner.client, slug }
  }

  const open = async (page: Page, path: string) => {
    await page.goto(web.url(path))
    await page.locator('h1').waitFor()
  }
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
  const button = (page: Page, name: string) => page.getByRole('button', { name })
  const state = (page: Page, words: string | RegExp) =>
    page.getByRole('main').getByRole('status').getByText(words)

  /** Writes a domain as a check leaves it. */
  async function put({ email }: Owner, domain: string, change: Partial<Domain>): Promise<void> {
    const account = (await operator.store.read.accounts.byEmail(email))!
    const { now } = web.service.clock
    const usual = { checkedAt: now, nextCheckAt: now + 60 * MINUTE_MS }
    await operator.store.write('relaxed', {}, (tx) =>
      tx.domains.update({ accountId: account.id, domain }, { ...usual, ...change }),
    )
  }

  const findings = (pointing: string[], text: boolean): Partial<Domain> => {
    const right: DnsFindings['right'] = { pointing: pointing.includes(PROXY), text }
    return { findings: { pointing, texts: [], right }, reason: 'a record is missing' }
  }

  const active = (): Partial<Domain> => ({
    ...{ status: 'active', reason: null, verifiedAt: web.service.clock.now, pendingSince: null },
    findings: { pointing: [PROXY], texts: [], right: { pointing: true, text: true } },
  })

  test('leads from a name to HTTPS, following DNS and the CA without a reload', async () => {
    const { page, owner, client, slug } = await createSiteOwner({ viewport: PHONE })
    await open(page, `/domains?site=${slug}`)
    await page.getByText('HTTPS is set up automatically.').waitFor()
    await page.getByRole('textbox', { name: 'Domain' }).fill(' https://www.garden.test/roses?red#now ')
    assert.equal(await page.getByRole('combobox', { name: 'Site' }).inputValue(), slug)
    await owner.assertReadableInAllViewports()
    await button(page, 'Add domain').click()
    await heading(page, 'www.garden.test').and(page.locator(':focus')).waitFor()
    const [pointing, text] = (await client.domains()).domains[0]!.records
    for (const value of ['www', PROXY, '_slipway.www', text!.value])
      await page.getByText(value, { exact: true }).first().waitFor()
    await put(owner, 'www.garden.test', findings([], false))
    await state(page, 'Waiting for both records').waitFor()
    await page.getByText('No record found for www.garden.test.').waitFor()

    await put(owner, 'www.garden.test', findings(['parking.test'], false))
    await state(page, 'A record has the wrong value').waitFor()
    await page.getByText('Wrong value', { exact: true }).waitFor()
    await page.getByText('parking.test', { exact: true }).waitFor()
    await page.getByText(`Change it to ${pointing!.value}`).waitFor()
    await owner.assertReadableInAllViewports()

    await put(owner, 'www.garden.test', findings([PROXY], false))
    await state(page, 'One record is correct. Waiting for the TXT record').waitFor()
    await button(page, 'Check now').click()
    await page.getByText('Not checked again. Try again in a few seconds.').waitFor()
    const { now } = web.service.clock
    const issued = { issuedAt: now, notBefore: now, notAfter: now + 90 * DAY_MS, renewAt: now + 60 * DAY_MS }
    await operator.store.write('relaxed', {}, ({ rows }) =>
      rows.insert('certificates', certificateRow('www.garden.test', { ...issued, chain: 'PEM', key: 'PEM' })),
    )
    await put(owner, 'www.garden.test', active())
    await state(page, 'www.garden.test is active, with HTTPS.').waitFor()
    const visit = page.getByRole('link', { name: 'Visit https://www.garden.test/' })
    assert.equal(await visit.getAttribute('href'), 'https://www.garden.test/')
    const certificate = page.getByRole('region', { name: 'Certificate' })
    for (const fact of ['Issued', 'Expires', 'Renews']) await certificate.getByText(fact).waitFor()
  })

  test('is followed again only when the time in Retry-After has passed', async () => {
    const { page, client, slug } = await createSiteOwner()
    await client.addDomain('www.busy.test', slug)
    let requests = 0
    await page.route('**/events', (route) => {
      requests++
      const error = { error: 'Too many streams', code: 'UNAVAILABLE', status: 503 }
      return route.fulfill({ status: 503, headers: { 'retry-after': '600' }, json: error })
    })
    await page.clock.install()
    const refused = page.waitForResponse(/\/events$/)
    await open(page, '/domains?domain=www.busy.test')
    await refused
    await page.getByRole('alert').waitFor()
    await page.clock.runFor(9 * MINUTE_MS)
    assert.equal(requests, 1)
    const next = page.waitForRequest(/\/events$/)
    await page.clock.runFor(2 * MINUTE_MS)
    await next
  })

  test('offers the root domain, which then redirects, and removes domains after an explanation, also when another tab did', async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const { page, owner, client, slug } = await createSiteOwner({ permissions })
    const { records } = await client.addDomain('www.pair.test', slug)
    await open(page, '/domains?domain=www.pair.test')
    for (const [what, expected] of [
      ['Copy the name of the TXT record', records[1]!.name],
      ['Copy the value of the CNAME record', records[0]!.value],
    ] as const) {
      await button(page, what).click()
      await button(page, what).getByText('Copied').waitFor()
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), expected)
    }
    await button(page, 'Add pair.test').click()
    await heading(page, 'pair.test').waitFor()
    await page.getByText('Redirects to www.pair.test.').waitFor()
    await page.getByText(/^A root domain can't have a CNAME/).waitFor()
    await page.getByRole('heading', { name: 'ALIAS record' }).waitFor()
    await page.getByRole('link', { name: 'Domains' }).first().click()
    await page.getByText('Redirects to www.pair.test').waitFor()
    await page.getByRole('link', { name: 'www.pair.test', exact: true }).click()
    await heading(page, 'www.pair.test').waitFor()
    assert.equal(await button(page, 'Add pair.test').count(), 0)

    await put(owner, 'www.pair.test', active())
    await button(page, 'Remove domain').click()
    const dialog = page.getByRole('dialog', { name: 'Remove www.pair.test?' })
    await dialog.getByText(/Visitors can't open the site at this domain/).waitFor()
    await dialog.getByText(/reserved for you for 7 days/).waitFor()
    await owner.assertReadable()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await button(page, 'Remove domain').click()
    await dialog.getByRole('button', { name: 'Remove domain' }).click()
    await heading(page, 'Domains').waitFor()
    await page.getByText('www.pair.test removed.').waitFor()
    assert.equal(await page.getByRole('link', { name: 'www.pair.test' }).count(), 0)

    await page.getByRole('link', { name: 'pair.test', exact: true }).click()
    await heading(page, 'pair.test').waitFor()
    await client.removeDomain('pair.test')
    await heading(page, 'Domain not found').waitFor()
    await page.getByRole('link', { name: 'Your domains' }).click()
    await page.getByRole('textbox', { name: 'Domain' }).waitFor()
  })

  testVariant(
    'follows a domain in the foreground only, and continues after a lost connection, also by a retry',
    async () => {
      const { page, client, slug } = await createSiteOwner()
      await client.addDomain('www.lost.test', slug)
      await page.clock.install()
      const events = /\/domains\/www\.lost\.test\/events$/
      const opened = page.waitForRequest(events)
      await open(page, '/domains?domain=www.lost.test')
      const stream = await opened
      const ended = page.waitForEvent('requestfailed', (request) => request === stream)
      await page.evaluate(show, 'hidden')
      await page.clock.fastForward(MINUTE_MS)
      await ended
      await page.route(events, (route) => route.abort())
      const failed = () => page.waitForEvent('requestfailed', (request) => events.test(request.url()))
      const first = failed()
      await page.evaluate(show, 'visible')
      await first
      const second = failed()
      await page.clock.fastForward(5 * SECOND_MS)
      await second
      await page.getByText("Can't reach the server.").waitFor()
      const third = failed()
      await button(page, 'Try again').click()
      await third
      await page.unroute(events)
      const reopened = page.waitForResponse(events)
      await page.clock.fastForward(5 * SECOND_MS)
      await reopened
      await page.getByText("Can't reach the server.").waitFor({ state: 'detached' })
    },
  )
})

/** Runs in the page: sets the visibility of the tab. */
function show(state: string): void {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
}
