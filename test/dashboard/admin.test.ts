import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { ADMIN_VIEWS } from '../../dashboard/admin/views.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import { toFiles } from '../api/content.ts'
import type { BrowserUser } from '../support/browser.ts'
import { openOperator } from '../support/service.ts'
import { ALL_VARIANTS } from '../support/variants.ts'
import { waitFor } from '../support/wait-for.ts'
import { visited } from './file-drop.ts'
import { seedAdministration, seedModeration } from './seeded-administration.ts'
import { web } from './shared.ts'
import { type Account, newAddress, requiresBrowser, typeWhileSending } from './web-fixture.ts'

/** Tabs that consist of parts of their own, and one with the table that the others have, too. */
const VIEWS = ['Overview', 'Sites', 'Policies', 'Accounts', 'Reports']

test('other accounts find no administration, and do not load its script', requiresBrowser, async () => {
  const { page } = await web.asOwner()
  const urls: string[] = []
  page.on('request', (request) => urls.push(request.url()))
  await page.goto(web.url('/admin/sites'))
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  await page.getByRole('link', { name: 'Account' }).click()
  await page.getByText('Signed in as').waitFor()
  assert.equal(await page.getByRole('link', { name: 'Administration' }).count(), 0)
  const ofAdministration = urls.filter((url) => /\/administration|\/api\/admin\//.test(url))
  assert.deepEqual(ofAdministration, [])
})

describe('the administration', requiresBrowser, () => {
  let administrator: Account
  let owner: Account
  let site: { slug: string; siteUrl: string }
  let user: BrowserUser
  let page: Page
  web.openForSuite(async () => {
    administrator = await web.createAccount()
    await seedModeration(web, administrator)
    await seedAdministration(web, administrator)
    owner = await web.createAccount()
    site = await owner.client.publish({ files: toFiles({ 'index.html': 'A bank' }) })
    const report = { url: site.siteUrl, reason: 'phishing' as const, text: 'It asks for my PIN' }
    await web.service.client().report({ ...report, email: 'visitor@example.test' })
    user = await web.visitor()
    page = user.page
    await page.goto(web.url('/admin/reports'))
    await web.askForCode(page, administrator.email)
    await web.writeCode(page, administrator.email)
    await page.getByRole('heading', { name: 'Administration', level: 1 }).waitFor()
    return user
  })

  const open = async (tab: string, search?: string) => {
    await page
      .getByRole('navigation', { name: 'Administration' })
      .getByRole('link', { name: tab, exact: true })
      .click()
    if (search === undefined) return
    await page.getByLabel('Search').fill(search)
    await page.locator('.records tbody tr').nth(1).waitFor({ state: 'detached' })
  }
  const act = async (title: string, verb: string, texts: Record<string, string>) => {
    const dialog = page.getByRole('dialog', { name: title })
    for (const [label, text] of Object.entries(texts))
      await dialog.getByLabel(label, { exact: true }).fill(text)
    await dialog.getByRole('button', { name: verb }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  const choose = async (of: string, item: string) => {
    await page.getByRole('button', { name: `Actions for ${of}`, exact: true }).click()
    await page.getByRole('menuitem', { name: item, exact: true }).click()
  }
  const undoes = async (done: string, undone: string) => {
    const toast = page.locator('.toast-message')
    await toast.filter({ hasText: done }).getByRole('button', { name: 'Undo' }).click()
    await toast.filter({ hasText: undone }).waitFor()
  }

  test('is accessible in all viewports and color schemes, with each of its tabs', async () => {
    for (const tab of new Set([...VIEWS, ...(ALL_VARIANTS ? Object.values(ADMIN_VIEWS) : [])])) {
      await open(tab)
      await page.locator('.records, .empty, .activity-plots, .report-list').first().waitFor()
      if (ALL_VARIANTS)
        await page.locator('details').evaluateAll((all) => {
          for (const one of all) one.setAttribute('open', '')
        })
      if (ALL_VARIANTS || tab === 'Reports') await user.assertAccessibleInAllViewports()
      else await user.assertReadableInAllViewports()
    }
  })

  test('searches for what the address says, until the address says it no longer', async () => {
    await page.goto(web.url('/admin/sites?q=no-such-site'))
    const search = page.getByLabel('Search')
    await page.getByText('Nothing found.').or(page.locator('.empty')).first().waitFor()
    assert.equal(await search.inputValue(), 'no-such-site')
    await open('Sites')
    await page.locator('.records tbody tr').first().waitFor()
    assert.equal(await search.inputValue(), '')
  })

  test('keeps the loaded pages of a list when a row of them is changed', async () => {
    const { client } = await web.createAccount()
    const { slug } = await client.publish({ files: toFiles({ 'index.html': 'The oldest' }) })
    for (let made = 0; made < 50; made++) {
      web.service.clock.now += 1
      await client.duplicate(slug)
    }
    await page.goto(web.url('/admin/sites'))
    await page.getByRole('button', { name: 'Show more' }).click()
    await choose(slug, 'Suspend')
    await act(`Suspend ${slug}?`, 'Suspend site', { Reason: 'Spam' })
    await page.getByRole('row', { name: slug }).getByText('Suspended').waitFor()
  })

  test('offers an action of a row once: its dialog closes when the list shows what it did', async () => {
    const { client } = await web.createAccount()
    const { slug } = await client.publish({ files: toFiles({ 'index.html': 'x' }) })
    await page.goto(web.url(`/admin/sites?q=${slug}`))
    await choose(slug, 'Suspend')
    const { promise: isLoading, resolve: onLoad } = Promise.withResolvers<void>()
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
    await page.route('**/api/admin/sites?*', async (route) => {
      onLoad()
      await isReleased
      await route.continue()
    })
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason', { exact: true }).fill('Spam')
    await dialog.getByRole('button', { name: 'Suspend site' }).click()
    await isLoading
    const during = await page.evaluate(() => document.querySelectorAll('dialog[open]').length)
    release()
    await dialog.waitFor({ state: 'detached' })
    await page.unrouteAll({ behavior: 'wait' })
    const marks = await page.getByRole('row', { name: slug }).getByText('Suspended').count()
    assert.deepEqual([during, marks], [1, 1])
  })

  test('leads from the email about a report to a suspended site, and undoes each action', async () => {
    const { slug, siteUrl } = site
    await open('Reports')
    const reported = page.getByRole('region', { name: slug })
    await reported.getByText('It asks for my PIN').waitFor()
    await reported.getByRole('link', { name: 'visitor@example.test' }).waitFor()
    await reported.getByRole('button', { name: 'Dismiss' }).click()
    await undoes(`The reports of ${slug} are dismissed.`, 'are open again.')
    await reported.getByRole('button', { name: `Suspend site ${slug}` }).click()
    await act(`Suspend ${slug}?`, 'Suspend site', {
      Reason: 'It imitates a bank',
      'Reason for visitors (optional)': 'Deceptive',
    })
    assert.match(await visited(siteUrl), /Deceptive/)
    await undoes(`${slug} is suspended.`, `${slug} is not suspended.`)
    assert.equal(await visited(siteUrl), 'A bank')

    await open('Accounts', owner.email)
    await choose(owner.email, 'Plan and limits')
    const plan = page.getByRole('dialog', { name: `Plan of ${owner.email}` })
    await plan.getByLabel('Plan').selectOption('Hobby')
    await plan.getByLabel('Stored').fill('much')
    await plan.getByText('Type a size such as 500MB or 2GiB.').waitFor()
    await plan.getByLabel('Stored').fill('2 GB')
    await plan.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: owner.email }).getByText('with exceptions').waitFor()
    const held = await owner.client.me()
    assert.deepEqual([held.plan, held.limits.bytes], ['hobby', 2e9])
    await undoes(`The plan of ${owner.email} is changed.`, 'is as before.')
    assert.equal((await owner.client.me()).plan, 'free')
    await choose(owner.email, 'Suspend')
    await act(`Suspend ${owner.email}?`, 'Suspend account', { Reason: 'Spam' })
    await page.getByRole('row', { name: owner.email }).getByText('Suspended').waitFor()
    await choose(owner.email, 'End suspension')
    await act(`End the suspension of ${owner.email}?`, 'End suspension', {})
    await undoes(`${owner.email} is not suspended.`, `${owner.email} is suspended.`)

    await open('Blocks')
    await page.getByRole('button', { name: 'Block a network or a file' }).click()
    const block = page.getByRole('dialog')
    await block.getByLabel('Network', { exact: true }).fill('10.1.0.0/16')
    await block.getByLabel('Reason').fill('A flood')
    await block.getByRole('button', { name: 'Block', exact: true }).click()
    await block.getByText(/local network/).waitFor()
    await block.getByRole('switch', { name: 'Block it anyway' }).click()
    await block.getByRole('button', { name: 'Block', exact: true }).click()
    await page.getByRole('row', { name: '10.1.0.0/16' }).getByText('A flood').waitFor()
    await undoes('10.1.0.0/16 is blocked.', '10.1.0.0/16 is not blocked.')

    await open('Policies')
    const invited = newAddress()
    const email = page.getByLabel('Email address')
    await email.fill(invited)
    await typeWhileSending(page, '**/invitations', {
      send: () => page.getByRole('button', { name: 'Invite' }).click(),
      type: async () => {
        await email.fill('next')
        await page.locator('button[aria-busy=true]', { hasText: 'Invite' }).waitFor()
      },
    })
    await page.getByText(`${invited} is invited.`).waitFor()
    assert.equal(await email.inputValue(), 'next')
    await choose(invited, 'Revoke')
    await act(`Revoke the invitation of ${invited}?`, 'Revoke', {})
    await page.getByRole('row', { name: invited }).waitFor({ state: 'detached' })

    await open('Sites', slug)
    await page.getByRole('row', { name: slug }).getByText('Owner suspended').waitFor()
    await choose(slug, 'Delete permanently')
    await act(`Delete ${slug} permanently?`, 'Delete site', {
      Reason: 'It imitates a bank',
      [`Type ${slug} to confirm`]: slug,
    })
    await page.getByText(`Nothing found for "${slug}"`).waitFor()
    assert.notEqual(await page.evaluate(() => document.activeElement?.localName), 'body')
    await assert.rejects(owner.client.details(slug), { code: 'NOT_FOUND' })
  })

  test('blocks the network of the administrator, who ends it on a page that is loaded again', async () => {
    const networks = ['127.0.0.1/32', '::1/128']
    await using operator = await openOperator(web.service, {})
    const actor = { accountId: null, name: 'test', network: null }
    await using blocked = new AsyncDisposableStack()
    for (const value of networks) {
      const block = { kind: 'network', value, reason: 'A typo', force: true } as const
      await operator.blocks.add(actor, block)
      // Also when the test fails: others have the same network.
      blocked.defer(() =>
        operator.blocks.remove(actor, block).then(
          () => undefined,
          () => undefined,
        ),
      )
    }
    const refused = () =>
      web.service
        .client()
        .limits()
        .then(
          () => false,
          () => true,
        )
    await waitFor(refused)
    const { page: elsewhere } = await web.asVisitor('/sign-in')
    await elsewhere.getByLabel('Your email address').fill('ada@example.test')
    await elsewhere.getByRole('button', { name: 'Get a sign-in code' }).click()
    await elsewhere
      .getByRole('alert')
      .getByText('Contact the operator of the service: abuse@example.test.')
      .waitFor()
    await page.goto(web.url('/admin/blocks'))
    for (const network of networks) {
      await choose(network, 'End block')
      await act(`End the block of ${network}?`, 'End block', {})
      await page.getByRole('row', { name: network }).waitFor({ state: 'detached' })
    }
    assert.equal(await refused(), false)
  })

  test('sets a message that all users see until they dismiss it, and removes it', async () => {
    const text = 'Pause at 6 o\u2019clock: <b>"uploads"</b> & more'
    await open('Policies')
    const form = page.getByRole('region', { name: 'Banner' })
    await form.getByLabel('Text').fill(text)
    await form.getByLabel('Kind', { exact: true }).selectOption('Warning')
    await form.getByLabel('Link').fill('javascript:alert(1)')
    await form.getByRole('button', { name: 'Show banner' }).click()
    await form.getByText('must be a URL').waitFor()
    await form.getByLabel('Link').fill('https://status.example.com/')
    // A date without a time.
    await form.getByLabel('From').click()
    await page.keyboard.type('25122030')
    await form.getByRole('button', { name: 'Show banner' }).click()
    await form.getByText('Enter a date and a time, or neither.').waitFor()
    await form.getByLabel('From').fill('2030-12-25T10:00')
    await form.getByLabel('From').fill('')
    await typeWhileSending(page, '**/banner', {
      send: () => form.getByRole('button', { name: 'Show banner' }).click(),
      type: () => form.getByLabel('Text').fill('Another text'),
    })
    await form.getByRole('button', { name: 'Remove banner' }).waitFor()
    assert.equal(await form.getByLabel('Text').inputValue(), 'Another text')
    const { page: other } = await web.asVisitor('/sign-in')
    const message = other.locator('.banner', { hasText: text })
    assert.equal(await message.getByRole('link').getAttribute('href'), 'https://status.example.com/')
    await message.getByRole('button', { name: 'Dismiss' }).click()
    await other.reload()
    await other.getByRole('heading', { level: 1 }).waitFor()
    assert.equal(await other.locator('.banner').count(), 0)
    // Not for the message that it is set, which may be that of the first one.
    const saved = page.waitForResponse((response) => response.request().method() === 'PUT')
    await form.getByRole('button', { name: 'Save banner' }).click()
    await saved
    await other.reload()
    await other.locator('.banner', { hasText: 'Another text' }).waitFor()
    await form.getByRole('button', { name: 'Remove banner' }).click()
    await act('Remove banner?', 'Remove banner', {})
    await form.getByRole('button', { name: 'Show banner' }).waitFor()
  })

  test('asks for a code before a change when the sign-in is old, and then makes the change', async () => {
    const other = await web.createAccount()
    web.service.clock.now += 13 * HOUR_MS
    await open('Accounts', other.email)
    await choose(other.email, 'Make administrator')
    await page.getByRole('dialog').getByRole('button', { name: 'Make administrator' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByRole('button', { name: 'Get a sign-in code' }).click()
    await dialog.getByText(`The code for ${administrator.email}`).waitFor()
    await web.writeCode(page, administrator.email)
    await page.getByText(`${other.email} is an administrator.`).waitFor()
    assert.equal((await other.client.me()).administrator, true)
    await open('Audit log')
    await page
      .getByRole('row', { name: 'administrator.add' })
      .filter({ hasText: other.email })
      .getByText(administrator.email)
      .waitFor()
  })
})

test('a suspended owner sees why, and is offered nothing that is refused', requiresBrowser, async () => {
  const { page, owner } = await web.asOwner()
  const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': '<title>First</title>' }) })
  web.service.clock.now += 1
  await owner.client.publish({ slug, files: toFiles({ 'index.html': '<title>Second</title>' }) })
  await using operator = await openOperator(web.service, {})
  const { suspensions } = operator
  const actor = { accountId: null, name: 'test', network: null }
  const REFUSED =
    /^(Publish update|Restore|Delete account|Add files|Add domain|New site|Create|Replace|Trust r|Promote)/
  const assertOffersNothing = async () => {
    await page.getByRole('link', { name: 'abuse@example.test' }).first().waitFor()
    await owner.assertReadable()
    for (const role of ['button', 'link'] as const)
      assert.equal(await page.getByRole('main').getByRole(role, { name: REFUSED }).count(), 0)
  }
  await suspensions.changeSite(actor, slug, { reason: 'It imitates a bank' })
  for (const view of ALL_VARIANTS ? ['/files', '', '/versions'] : ['/versions']) {
    await page.goto(web.url(`/sites/${slug}${view}`))
    await page.getByText('This site is suspended').waitFor()
    await page.getByText('The reason: It imitates a bank').waitFor()
    await assertOffersNothing()
  }
  assert.equal(await page.getByRole('link', { name: 'Settings' }).count(), 0)
  await page.getByRole('link', { name: 'Sites' }).first().click()
  await page.getByText('Suspended: It imitates a bank').waitFor()
  await page.getByRole('link', { name: 'New site' }).waitFor()

  await suspensions.changeSite(actor, slug)
  await suspensions.changeAccount(actor, owner.email, { reason: 'Spam' })
  await page.goto(web.url(`/sites/${slug}`))
  await page.getByText('The reason: Spam').waitFor()
  await page.getByRole('button', { name: 'Site actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete site' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Account', exact: true }).click()
  await page.getByText('Your account is suspended').waitFor()
  await assertOffersNothing()
  await owner.client.delete(slug)
  await page.goto(web.url('/trash'))
  await page.getByRole('button', { name: 'Delete permanently' }).waitFor()
  assert.equal(await page.getByRole('button', { name: REFUSED }).count(), 0)
})
