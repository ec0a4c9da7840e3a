import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { findCode } from '../../dashboard/sign-in/mailed-code.ts'
import { PHONE } from '../support/browser.ts'
import { newAddress, requiresBrowser, useWeb } from './web-fixture.ts'

describe('a code', () => {
  for (const [how, typed, read] of [
    ['as it was mailed', 'ABCD-2345', 'ABCD-2345'],
    ['in small letters', 'abcd-2345', 'ABCD-2345'],
    ['without its dash', 'ABCD2345', 'ABCD-2345'],
    ['with spaces around it and in it', '  abcd 2345 ', 'ABCD-2345'],
    ['with the long dash of some mail programs', 'ABCD–2345', 'ABCD-2345'],
    ['with the words around it', 'Your code: ABCD-2345.', 'ABCD-2345'],
    ['with a line end of a paste', '\r\nABCD-2345\r\n', 'ABCD-2345'],
  ] as const) {
    test(`is recognized ${how}`, () => assert.equal(findCode(typed), read))
  }

  for (const typed of [
    '',
    'ABCD-234',
    'ABCD-23456',
    'ABCD-0OI1',
    'ABCDE-2345',
    'ABCD-2345-ABCD',
    'sl_live_00000000',
  ]) {
    test(`is incomplete as "${typed}"`, () => assert.equal(findCode(typed), undefined))
  }
})

const web = useWeb()

describe('signing in', requiresBrowser, () => {
  test('takes an address and a mailed code', async () => {
    const { page, visitor } = await web.asVisitor('/sign-in', { viewport: PHONE })
    const email = newAddress()
    await page.getByText('an API key that you have goes on working').waitFor()
    await visitor.assertAccessibleInAllViewports()
    await web.askForCode(page, email)
    await visitor.assertAccessibleInAllViewports()
    await web.writeCode(page, email)
    await page.waitForURL('**/sites')
    visitor.assertNoComplaints()
  })

  test('submits a complete code by itself, also one that was pasted with surrounding text', async () => {
    for (const write of [
      (code: string) => code.toLowerCase().replace('-', ''),
      (code: string) => `Your code is ${code}. It works once.`,
    ]) {
      await using visitor = await web.visitor()
      const { page } = visitor
      const email = newAddress()
      await page.goto(web.url('/sign-in'))
      await web.askForCode(page, email)
      await page.getByLabel('Code from the mail').fill(write(await web.service.mailedCode(email)))
      await page.waitForURL('**/sites')
    }
  })

  test('continues to the requested page, and only within this service', async () => {
    const { page } = await web.asOwner()
    for (const [then, place] of [
      ['/account', '/account'],
      ['/domains?site=abc', '/domains?site=abc'],
      ['/sites/abc/files', '/sites/abc/files'],
      ['//elsewhere.example/', '/sites'],
      ['/\\elsewhere.example/', '/sites'],
      ['/\t/elsewhere.example/', '/sites'],
      ['https://elsewhere.example/', '/sites'],
      ['javascript:alert(1)', '/sites'],
      ['/sign-in?then=/sign-in', '/sites'],
      ['/api/v1/me', '/sites'],
      ['', '/sites'],
    ] as const) {
      await page.goto(web.url(`/sign-in?then=${encodeURIComponent(then)}`))
      await page.waitForURL(web.service.baseUrl + place)
    }
  })

  test('reports a wrong code after one request, and accepts the right one after it', async () => {
    const { page, visitor } = await web.asVisitor('/sign-in')
    const email = newAddress()
    await web.askForCode(page, email)
    const field = page.getByLabel('Code from the mail')
    await field.fill('AAAA-AAAA')
    await page.getByRole('alert').getByText('The code is wrong, used or no longer valid').waitFor()
    assert.equal(await field.inputValue(), 'AAAA-AAAA')
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    await visitor.assertAccessible()
    await web.writeCode(page, email)
    await page.waitForURL('**/sites')
  })

  test('reports what is wrong with an address that cannot receive mail', async () => {
    const { page } = await web.asVisitor('/sign-in')
    const field = page.getByLabel('Your email address')
    for (const address of ['user@nowhere', 'user', '']) {
      await field.fill(address)
      await page.getByRole('button', { name: 'Mail me a code' }).click()
      await page.getByRole('alert').getByText('This must be an email address').waitFor()
      assert.equal(await field.inputValue(), address)
      assert.equal(await field.getAttribute('aria-invalid'), 'true')
    }
  })

  test('moves the focus from step to step, and mails a new code, also to another address', async () => {
    const { page } = await web.asVisitor()
    const [first, second] = [newAddress(), newAddress()]
    await page.goto(web.url('/sign-in'))
    await web.askForCode(page, first)
    const code = page.getByLabel('Code from the mail')
    await code.and(page.locator(':focus')).waitFor()
    const old = await web.service.mailedCode(first)
    await page.getByRole('button', { name: 'Mail a new code' }).click()
    await page.getByText(`A new code is on its way to ${first}.`).waitFor()
    await code.and(page.locator(':focus')).waitFor()
    assert.notEqual(await web.service.mailedCode(first), old)

    await page.getByRole('button', { name: 'Use another address' }).click()
    await page.getByLabel('Your email address').and(page.locator(':focus')).waitFor()
    await web.askForCode(page, second)
    // Wrong codes of other clients do not count, because the page sends its attempt.
    for (let tries = 0; tries < 6; tries++)
      await web.service
        .client()
        .verifyCode(second, 'ABCD-EFGH')
        .catch(() => undefined)
    await web.writeCode(page, second)
    await page.waitForURL('**/sites')
  })

  test('mails one code however often its button is pressed', async () => {
    const { page } = await web.asVisitor('/sign-in')
    const email = newAddress()
    await page.getByLabel('Your email address').fill(email)
    await page.getByRole('button', { name: 'Mail me a code' }).dblclick()
    await page.getByLabel('Code from the mail').waitFor()
    assert.equal(countLetters(email), 1)
  })

  test('reports the limit of codes per hour, and when it resets', async () => {
    const { page, visitor } = await web.asVisitor()
    const email = newAddress()
    for (let codes = 0; codes < 5; codes++) await web.service.client().requestCode(email)
    await page.goto(web.url('/sign-in'))
    await page.getByLabel('Your email address').fill(email)
    await page.getByRole('button', { name: 'Mail me a code' }).click()
    await page.getByText('At most 5 codes an hour are mailed to one address.', { exact: true }).waitFor()
    await page.getByText(/^It goes on at \d\d:\d\d( tomorrow)?\./).waitFor()
    await visitor.assertAccessible()
  })

  test('still shows the code field when the page is opened again, until the code has expired', async () => {
    const { page } = await web.asVisitor()
    const email = newAddress()
    await page.clock.install()
    await page.goto(web.url('/sign-in'))
    await web.askForCode(page, email)
    await page.clock.fastForward('07:00')
    await page.reload()
    await page.getByText(`A code is on its way to ${email}. It works for 3 minutes.`).waitFor()
    await page.getByLabel('Code from the mail').and(page.locator(':focus')).waitFor()
    await page.clock.fastForward('03:01')
    await page.reload()
    await page.getByLabel('Your email address').waitFor()
  })

  test('in one tab signs in the other tabs', async () => {
    const { page, visitor } = await web.asVisitor()
    const [first, second] = [page, await visitor.context.newPage()]
    const email = newAddress()
    await second.goto(web.url('/account'))
    await second.getByRole('heading', { name: 'Sign in to see your account' }).waitFor()
    await first.goto(web.url('/sign-in?then=/domains'))
    await web.askForCode(first, email)
    await web.writeCode(first, email)
    await first.waitForURL('**/domains')
    await second.getByText(email).waitFor()
  })
})

describe('an expired session', requiresBrowser, () => {
  test('asks to sign in again and then continues the interrupted action', async () => {
    const { page, owner } = await web.asOwner('/account')
    await page.getByRole('button', { name: 'Delete everything' }).click()
    const form = page.getByRole('dialog', { name: 'Delete your account?' })
    await form.getByLabel('Your address, to be sure').fill(owner.email)
    await page.context().clearCookies()
    await form.getByRole('button', { name: 'Delete everything' }).click()

    const dialog = page.getByRole('dialog', { name: 'You are signed out.' })
    await dialog.getByRole('button', { name: `Mail a code to ${owner.email}` }).click()
    await dialog.getByText('A code is on its way').waitFor()
    await owner.assertAccessible()
    assert.equal(await form.getByLabel('Your address, to be sure').inputValue(), owner.email)
    await web.writeCode(page, owner.email)
    await page.getByRole('status').getByText('Your account is deleted').waitFor()
  })

  test('asks once for all interrupted requests, which then continue', async () => {
    const { page, owner } = await web.asOwner()
    await using second = await web.visitor()
    await second.page.goto(web.url('/sign-in'))
    await web.askForCode(second.page, owner.email)
    await web.writeCode(second.page, owner.email)
    await second.page.waitForURL('**/sites')
    await page.goto(web.url('/account'))
    await page.getByRole('button', { name: 'Sign out all others' }).waitFor()
    await owner.context.clearCookies()
    const both = page.getByRole('button', { name: /^(Sign out all others|Make a new key)$/ })
    await both.evaluateAll((buttons) => {
      for (const button of buttons as HTMLElement[]) button.click()
    })
    const form = page.getByRole('dialog', { name: 'Make a new key?' })
    await form.waitFor()
    const dialog = page.getByRole('dialog', { name: 'You are signed out.' })
    await dialog.waitFor()
    await form.locator('form').evaluate((form: HTMLFormElement) => form.requestSubmit())
    await dialog.getByRole('button', { name: `Mail a code to ${owner.email}` }).click()
    await dialog.getByText('A code is on its way').waitFor()
    await web.writeCode(page, owner.email)
    await page.getByRole('status').getByText('2 other browsers signed out.').waitFor()
    await page.getByRole('heading', { name: 'Your new key' }).waitFor()
    assert.equal(await dialog.count(), 0)
  })

  test('asks once, whatever the page had cached, and can be dismissed', async () => {
    const { page } = await web.asOwner()
    await page.context().clearCookies()
    let calls = 0
    page.on('request', (request) => {
      if (request.url().includes('/api/')) calls++
    })
    await page.goto(web.url('/account'))
    const dialog = page.getByRole('dialog', { name: 'You are signed out.' })
    await dialog.getByRole('button', { name: 'Not now' }).click()
    await page.getByRole('heading', { name: 'Sign in to see your account' }).waitFor()
    assert.equal(await dialog.count(), 0)
    assert.equal(calls, 1)
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in to see your account' }).waitFor()
    assert.equal(calls, 1)
  })

  test('asks also when the rate limit of the address is used up', async () => {
    await using few = await web.another({ RATE_ANONYMOUS: '1' })
    await using owner = await few.owner()
    const { page, context } = owner
    await context.clearCookies()
    await page.evaluate(() => fetch('/api/v1/publishes'))
    await page.goto(`${few.service.baseUrl}/sites`)
    await page.getByRole('button', { name: `Mail a code to ${owner.email}` }).click()
    await page.getByText('A code is on its way').waitFor()
    await few.writeCode(page, owner.email)
    await page.getByText('No site is yours yet.').waitFor()
  })

  test('ends in every tab when one has signed in again', async () => {
    const { page, owner } = await web.asOwner()
    const [first, second] = [page, await owner.context.newPage()]
    await owner.context.clearCookies()
    for (const page of [first, second]) {
      await page.goto(web.url('/account'))
      await page.getByRole('dialog', { name: 'You are signed out.' }).waitFor()
    }
    await first.getByRole('button', { name: `Mail a code to ${owner.email}` }).click()
    await first.getByText('A code is on its way').waitFor()
    await web.writeCode(first, owner.email)
    for (const page of [first, second]) await page.getByRole('heading', { name: 'Plan and use' }).waitFor()
  })

  test('shows no data of the previous account when another one signs in', async () => {
    const { page, owner } = await web.asOwner()
    const other = newAddress()
    await page.goto(web.url('/account'))
    await page.getByText(owner.email).waitFor()
    await page.context().clearCookies()
    const second = await page.context().newPage()
    await second.goto(web.url('/account'))
    await second.getByRole('button', { name: 'Not now' }).click()
    await page.getByRole('heading', { name: 'Sign in to see your account' }).waitFor()
    await web.askForCode(second, other)
    await web.writeCode(second, other)
    await page.getByText(other).waitFor()
    assert.equal(await page.getByText(owner.email).count(), 0)
  })
})

function countLetters(email: string): number {
  const folder = join(web.service.data, 'mail')
  return readdirSync(folder).filter((name) =>
    readFileSync(join(folder, name), 'utf8').includes(`To: ${email}`),
  ).length
}
