import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Plan } from '../../protocol/api/account.ts'
import type { DomainRecord } from '../../protocol/api/domains.ts'
import type { OperatorContext } from '../../server/app.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { COMMAND_LINE } from '../../server/store/contract/audit.ts'
import type { Domain } from '../../server/store/contract/domains.ts'
import { toFiles } from '../api/content.ts'
import { PROXY, startTestDns, type TestDns } from '../domains/domain-fixture.ts'
import { PHONE } from '../support/browser.ts'
import { openOperator } from '../support/service.ts'
import { ALL_VARIANTS, testVariant } from '../support/variants.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { type Pebble, startPebble } from '../tools/pebble.ts'
import { freePort } from '../tools/port.ts'
import { web as shared } from './shared.ts'
import type { Owner, WebFixture } from './web-fixture.ts'

// A browser, a real DNS and a real CA: from the form to https:// without a reload.

describe('the domains page', { ...requires('chromium', 'knot', 'unbound', 'pebble'), concurrency: 4 }, () => {
  let internet: TestDns
  let pebble: Pebble
  let web: WebFixture
  let operator: OperatorContext & AsyncDisposable

  before(async () => {
    const ports = { http: await freePort(), https: await freePort() }
    internet = await startTestDns()
    pebble = await startPebble({ httpPort: ports.http, tlsPort: ports.https })
    const settings = {
      HOST: '127.0.0.1',
      PORT: `${ports.http}`,
      HTTPS_PORT: `${ports.https}`,
      PROXY_HOST: PROXY,
      DNS_SERVERS: internet.servers,
      ACME_URL: pebble.directory,
      ACME_CA_FILE: pebble.caFile,
    }
    web = await shared.another(settings)
    operator = await openOperator(web.service, settings)
  })

  after(async () => {
    await operator?.[Symbol.asyncDispose]()
    await web?.[Symbol.asyncDispose]()
    await pebble?.[Symbol.asyncDispose]()
    await internet?.[Symbol.asyncDispose]()
  })

  /** Signs in a new account with a site. */
  async function createSiteOwner(options = {}, plan: Plan = 'hobby') {
    const owner = await web.owner(options)
    await operator.accountPlans.setByEmail(COMMAND_LINE, owner.email, { plan })
    const files = toFiles({ 'index.html': 'a' })
    const { slug } = await owner.client.publish({ files, title: 'A garden in May' })
    return Object.assign(owner, { slug })
  }

  const open = async (page: Page, path: string) => {
    await page.goto(web.service.baseUrl + path)
    await page.locator('h1').waitFor()
  }

  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })

  const button = (page: Page, name: string) => page.getByRole('button', { name })

  const state = (page: Page, words: string | RegExp) =>
    page.getByRole('main').getByRole('status').getByText(words)

  /** Moves the clock until a check reads the current records: one in progress may have read the earlier ones. */
  async function checkUntil({ page, email }: Owner, words: string | RegExp): Promise<void> {
    const domain = new URL(page.url()).searchParams.get('domain')!
    const { accounts, domains } = operator.store.read
    const { id } = (await accounts.byEmail(email))!
    const checkedAt = async () => (await domains.find(id, domain))?.checkedAt
    let isShown = false
    const shown = state(page, words)
      .waitFor()
      .finally(() => {
        isShown = true
      })
    while (!isShown) {
      const before = await checkedAt()
      web.service.clock.now += 10 * SECOND_MS
      await waitFor(async () => isShown || (await checkedAt()) !== before)
    }
    await shown
  }

  /** Writes a domain as a check or a verification leaves it, for tests of other steps. */
  async function put({ email }: Owner, domain: string, change: Partial<Domain>): Promise<void> {
    const account = (await operator.store.read.accounts.byEmail(email))!
    await operator.store.write('relaxed', {}, (tx) =>
      tx.domains.update({ accountId: account.id, domain }, change),
    )
  }

  const active = (): Partial<Domain> => {
    const now = web.service.clock.now
    return { status: 'active', verifiedAt: now, checkedAt: now, nextCheckAt: now + 60 * MINUTE_MS }
  }

  test('leads from a name to HTTPS, following DNS and the CA', async () => {
    await using owner = await createSiteOwner()
    const { page, slug } = owner
    await open(page, `/domains?site=${slug}`)
    await page.getByRole('textbox', { name: 'Domain' }).fill(' https://www.garden.test/roses?red#now ')
    assert.equal(await page.getByRole('combobox', { name: 'Site' }).inputValue(), slug)
    await button(page, 'Add domain').click()
    await heading(page, 'www.garden.test').and(page.locator(':focus')).waitFor()
    await state(page, 'Waiting for both records').waitFor()
    const [pointing, text] = (await owner.client.domains()).domains[0]!.records as [
      DomainRecord['records'][0],
      DomainRecord['records'][0],
    ]
    for (const value of ['www', PROXY, '_slipway.www', text.value])
      await page.getByText(value, { exact: true }).first().waitFor()
    await page.getByText('No record found for www.garden.test.').waitFor()

    await internet.zone.set('www.garden.test', 'CNAME', 'parking.test.')
    await checkUntil(owner, 'A record has the wrong value')
    await page.getByText('Wrong value', { exact: true }).waitFor()
    await page.getByText('parking.test', { exact: true }).waitFor()
    await page.getByText(`Change it to ${pointing.value}`).waitFor()

    await internet.zone.set('www.garden.test', 'CNAME', `${PROXY}.`)
    await checkUntil(owner, 'One record is correct. Waiting for the TXT record')

    await internet.zone.set('_slipway.www.garden.test', 'TXT', text.value)
    await checkUntil(owner, /Both records found|is active/)
    await checkUntil(owner, 'www.garden.test is active')
    await sweep('certificates')
    await state(page, 'www.garden.test is active, with HTTPS.').waitFor()
    const visit = page.getByRole('link', { name: 'Visit https://www.garden.test/' })
    assert.equal(await visit.getAttribute('href'), 'https://www.garden.test/')
    const certificate = page.getByRole('region', { name: 'Certificate' })
    for (const fact of ['Issued', 'Expires', 'Renews']) await certificate.getByText(fact).waitFor()
    owner.assertNoComplaints()
    web.assertPolicyKept()
  })

  const sweep = (name: string) => runOnce(sweeps.find((one) => one.name === name)!, operator.sweepOptions)

  testVariant('promises automatic HTTPS only where the server obtains certificates', async () => {
    await using owner = await web.owner()
    await open(owner.page, '/domains')
    await owner.page.getByText('HTTPS is set up automatically.').waitFor()
    await using plain = await shared.another({ PROXY_HOST: PROXY })
    await using other = await plain.owner()
    await other.page.goto(plain.url('/domains'))
    await other.page.getByText('Connect your own domain: add two DNS records.').waitFor()
  })

  testVariant('costs one request from the list until the domain is active', async () => {
    await using owner = await createSiteOwner()
    const { page, client, slug } = owner
    const { records } = await client.addDomain('www.frugal.test', slug)
    const used = () =>
      page.evaluate(async () => {
        const { headers } = await fetch('/api/v1/me')
        return Number(headers.get('x-ratelimit-limit')) - Number(headers.get('x-ratelimit-remaining'))
      })
    await open(page, '/domains')
    const before = await used()
    await page.getByRole('link', { name: 'www.frugal.test' }).click()
    await page.getByText('No record found for www.frugal.test.').waitFor()
    await internet.zone.set('www.frugal.test', 'CNAME', `${PROXY}.`)
    await internet.zone.set('_slipway.www.frugal.test', 'TXT', records[1]!.value)
    await checkUntil(owner, /Both records found|is active/)
    await checkUntil(owner, 'www.frugal.test is active')
    assert.equal(await used(), before + 2, 'the stream, and this request')
    await page.getByRole('link', { name: 'Domains' }).first().click()
    await page.getByText('Active', { exact: true }).waitFor()
    assert.equal(await used(), before + 3)
  })

  testVariant('checks DNS immediately on request', async () => {
    await using owner = await createSiteOwner()
    const { page, client, slug } = owner
    await client.addDomain('www.checked.test', slug)
    await put(owner, 'www.checked.test', { ...active(), reason: 'www.checked.test leads elsewhere' })
    await open(page, '/domains?domain=www.checked.test')
    await state(page, 'www.checked.test is active, but its DNS is wrong').waitFor()
    await page.getByText('www.checked.test leads elsewhere.').waitFor()
    web.service.clock.now += 10 * SECOND_MS
    await button(page, 'Check now').click()
    await page
      .getByText(/No CNAME or address record found/)
      .first()
      .waitFor()
  })

  const refusals: [typed: string, words: RegExp][] = [
    ['co.uk', /^This must be a domain that you own; co\.uk is a public suffix\.$/],
    ['www.twice.test', /^www\.twice\.test is already connected to your site /],
  ]
  testVariant(
    'shows the error message of the API, also when the plan has no room, and what to do',
    async () => {
      await using owner = await createSiteOwner({}, 'free')
      const { page, client, slug } = owner
      await client.addDomain('www.twice.test', slug)
      await open(page, '/domains')
      await button(page, 'Add domain').click()
      const field = page.getByRole('textbox', { name: 'Domain' })
      await field.and(page.locator(':focus')).waitFor()
      for (const [typed, words] of refusals) {
        await field.fill(typed)
        await button(page, 'Add domain').click()
        await page.getByRole('alert').getByText(words).or(page.getByText(words)).first().waitFor()
        assert.equal(await field.getAttribute('aria-invalid'), 'true')
        assert.equal(await field.inputValue(), typed)
      }
      await field.fill('www.second.test')
      await button(page, 'Add domain').click()
      const alert = page.getByRole('alert').filter({ hasText: 'You have used your 1 custom domain' })
      await alert.getByText(/^Remove a domain, or ask the administrator/).waitFor()
    },
  )

  test('offers the root domain beside www, which then redirects and is listed as a root domain', async () => {
    await using owner = await createSiteOwner({}, 'free')
    const { page, client, slug } = owner
    await client.addDomain('www.pair.test', slug)
    await open(page, '/domains?domain=www.pair.test')
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
  })

  testVariant('copies a name and a value', async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    await using owner = await createSiteOwner({ permissions })
    const { page, client, slug } = owner
    const { records } = await client.addDomain('www.copied.test', slug)
    await open(page, '/domains?domain=www.copied.test')
    for (const [what, expected] of [
      ['Copy the name of the TXT record', records[1]!.name],
      ['Copy the value of the TXT record', records[1]!.value],
      ['Copy the value of the CNAME record', records[0]!.value],
    ] as const) {
      await button(page, what).click()
      await button(page, what).getByText('Copied').waitFor()
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), expected)
    }
  })

  test('removes a domain after an explanation, and reports when another tab removed it', async () => {
    await using owner = await createSiteOwner()
    const { page, client, slug } = owner
    for (const domain of ['www.first.test', 'www.other.test']) await client.addDomain(domain, slug)
    await put(owner, 'www.first.test', active())
    await open(page, '/domains?domain=www.first.test')
    await button(page, 'Remove domain').click()
    const dialog = page.getByRole('dialog', { name: 'Remove www.first.test?' })
    await dialog.getByText(/Visitors can't open the site at this domain/).waitFor()
    await dialog.getByText(/reserved for you for 7 days/).waitFor()
    await owner.assertReadableInAllViewports()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await button(page, 'Remove domain').click()
    await dialog.getByRole('button', { name: 'Remove domain' }).click()
    await heading(page, 'Domains').waitFor()
    await page.getByText('www.first.test removed.').waitFor()
    assert.equal(await page.getByRole('link', { name: 'www.first.test' }).count(), 0)

    await page.getByRole('link', { name: 'www.other.test' }).click()
    await state(page, 'Waiting for both records').waitFor()
    await client.removeDomain('www.other.test')
    await heading(page, 'Domain not found').waitFor()
    await page.getByRole('link', { name: 'Your domains' }).click()
    await page.getByRole('textbox', { name: 'Domain' }).waitFor()
  })

  testVariant(
    'closes the event stream after a minute in the background, and reopens it in the foreground',
    async () => {
      await using owner = await createSiteOwner()
      const { page, client, slug } = owner
      await client.addDomain('www.hidden.test', slug)
      await page.clock.install()
      const follows = () => page.waitForRequest(/\/domains\/www\.hidden\.test\/events$/)
      const first = follows()
      await open(page, '/domains?domain=www.hidden.test')
      const stream = await first
      await state(page, 'Waiting for both records').waitFor()
      const ended = page.waitForEvent('requestfailed', (request) => request === stream)
      await page.evaluate(show, 'hidden')
      await page.clock.fastForward(MINUTE_MS)
      await ended
      const next = follows()
      await page.evaluate(show, 'visible')
      await next
    },
  )

  testVariant('continues after a lost connection', async () => {
    await using owner = await createSiteOwner()
    const { page, client, slug } = owner
    await client.addDomain('www.lost.test', slug)
    await page.clock.install()
    const events = /\/domains\/www\.lost\.test\/events$/
    await page.route(events, (route) => route.abort())
    const failed = () => page.waitForEvent('requestfailed', (request) => events.test(request.url()))
    const first = failed()
    await open(page, '/domains?domain=www.lost.test')
    await first
    const second = failed()
    await page.clock.fastForward(5 * SECOND_MS)
    await second
    await page.getByText("Can't reach the server.").waitFor()
    await page.unroute(events)
    await page.clock.fastForward(15 * SECOND_MS)
    await state(page, 'Waiting for both records').waitFor()
    await page.getByText("Can't reach the server.").waitFor({ state: 'detached' })
  })

  test('is accessible in all viewports and color schemes', async () => {
    await using owner = await createSiteOwner({ viewport: PHONE })
    const { page, client, slug } = owner
    const zone = 'readable.test'
    const longName = `a.long-name-for-a-shop.${zone}`
    for (const domain of [`www.${zone}`, zone, longName]) await client.addDomain(domain, slug)
    await put(owner, zone, active())
    await open(page, `/domains?site=${slug}`)
    await page.getByRole('textbox', { name: 'Domain' }).waitFor()
    await owner.assertAccessibleInAllViewports()
    for (const domain of ALL_VARIANTS ? [zone, longName] : [longName]) {
      await open(page, `/domains?domain=${domain}`)
      await page.getByText(/^Checked/).waitFor()
      for (const summary of await page.locator('summary').all()) await summary.click()
      await owner.assertAccessibleInAllViewports()
    }
    owner.assertNoComplaints()
    web.assertPolicyKept()
  })
})

/** Runs in the page: sets the visibility of the tab. */
function show(state: string): void {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
}
