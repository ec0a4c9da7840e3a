import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findCode } from '../../dashboard/sign-in/mailed-code.ts'
import { redirectTarget } from '../../dashboard/sign-in/redirect-target.ts'
import { isLoopbackUrl } from '../../protocol/loopback.ts'
import { lastingPort } from '../operator/program.ts'
import { PHONE } from '../support/browser.ts'
import { testVariant } from '../support/variants.ts'
import { web } from './shared.ts'
import { newAddress, requiresBrowser } from './web-fixture.ts'

test('a code is recognized as it was sent, typed or pasted, once it is complete', () => {
  for (const typed of [
    'ABCD-2345',
    'abcd-2345',
    'ABCD2345',
    '  abcd 2345 ',
    'ABCD–2345',
    'Your code: ABCD-2345.',
    '\r\nABCD-2345\r\n',
    'ＡＢＣＤ－２３４５',
    'ａｂｃｄ　２３４５',
  ])
    assert.equal(findCode(typed), 'ABCD-2345', typed)
  const incomplete = [
    '',
    'ABCD-234',
    'ABCD-23456',
    'ABCD-0OI1',
    'ABCDE-2345',
    'ABCD-2345-ABCD',
    'sl_live_00000000',
  ]
  for (const typed of incomplete) assert.equal(findCode(typed), undefined, typed)
})

test('signing in continues only within this service, on a page', (t) => {
  Object.assign(globalThis, { location: new URL('http://slipway.example/sign-in') })
  t.after(() => Reflect.deleteProperty(globalThis, 'location'))
  for (const target of ['/account', '/domains?site=abc', '/sites/abc/files'])
    assert.equal(redirectTarget(target), target)
  for (const target of [
    '//elsewhere.example/',
    '/\\elsewhere.example/',
    '/\t/elsewhere.example/',
    '/..//elsewhere.example/',
    'https://elsewhere.example/',
    'javascript:alert(1)',
    '/sign-in?then=/sign-in',
    '/api/v1/me',
    '',
    undefined,
  ])
    assert.equal(redirectTarget(target), '/sites')
})

test('a URL that only this computer can open is recognized', () => {
  const urls = ['http://a.localhost:8080/', 'http://127.0.0.2/', 'http://[::1]:80/']
  const shared = [
    'http://slip.lan/',
    'https://localhost.example/',
    'http://10.127.0.0.1.nip.io/',
    'http://192.168.1.4/',
  ]
  assert.deepEqual([...urls, ...shared].filter(isLoopbackUrl), urls)
})

describe('signing in', requiresBrowser, () => {
  test('takes an address and a code sent by email, and reports a wrong one after one request', async () => {
    const { page, visitor } = await web.asVisitor('/sign-in', { viewport: PHONE })
    const email = newAddress()
    await page.getByText('This server has no email configured: the code is in its terminal').waitFor()
    await page
      .getByRole('contentinfo')
      .getByText(/^Slipway \S+$/)
      .waitFor()
    await page.getByLabel('Your email address').and(page.locator(':focus')).waitFor()
    await page.getByRole('link', { name: 'Skip to content' }).press('Enter')
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'MAIN')
    await page.getByRole('link', { name: 'Slipway', exact: true }).click()
    await page.getByRole('link', { name: 'Sign in' }).first().click()
    await page.getByLabel('Your email address').waitFor()
    await page.keyboard.type(email)
    assert.equal(await page.getByLabel('Your email address').inputValue(), email)
    await visitor.assertReadableInAllViewports()
    await web.askForCode(page, email)
    const field = page.getByLabel('Sign-in code')
    await field.fill('AAAA-AAAA')
    await page.getByRole('alert').getByText('That code is incorrect or expired').waitFor()
    assert.equal(await field.inputValue(), 'AAAA-AAAA')
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    await visitor.assertReadable()
    await web.writeCode(page, email)
    await page.waitForURL('**/sites')
  })

  test('by the link in the email takes a click in the requesting browser, and shows the code in any other', async () => {
    const { page, visitor } = await web.asVisitor('/sign-in?then=/account')
    const email = newAddress()
    await web.askForCode(page, email)
    const code = await web.service.mailedCode(email)

    await using other = await web.visitor()
    await other.page.goto(web.url(`/sign-in#code=${code}`))
    await other.page.getByText('where you requested it').waitFor()
    await other.page.getByText(code).waitFor()
    assert.equal(await other.page.getByRole('button', { name: 'Sign in' }).count(), 0)
    await other.assertReadable()

    const link = await visitor.context.newPage()
    await link.goto(web.url(`/sign-in#code=${code}`))
    await link.getByText(`Sign in as ${email}`).waitFor()
    await link.waitForURL(({ hash }) => hash === '')
    await link.getByRole('button', { name: 'Sign in' }).click()
    await link.waitForURL('**/account')
    // The tab that waits for the code notices the sign-in.
    await page.waitForURL('**/account')
    await assert.rejects(web.service.client().verifyCode(email, code), { code: 'INVALID_CODE' })
  })

  test('works over plain HTTP on a home network, with a note that it is not encrypted', async () => {
    const port = await lastingPort()
    await using home = await web.another({ PORT: `${port}`, BASE_URL: `http://slip.lan:${port}` })
    await using visitor = await home.visitor()
    const { page } = visitor
    const email = newAddress()
    await page.goto(home.url('/sites'))
    await page.getByText("This connection isn't encrypted").waitFor()
    await home.askForCode(page, email)
    await home.writeCode(page, email)
    await page.locator('h1:focus').getByText('Sites', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Account' }).click()
    await page.getByText(email).waitFor()
    assert.deepEqual(
      (await page.context().cookies()).map(({ httpOnly, sameSite, path }) => [httpOnly, sameSite, path]),
      [
        [true, 'Strict', '/'],
        [true, 'Strict', '/'],
      ],
    )
  })

  testVariant('shows the code field when the page is opened again, until the code has expired', async () => {
    const { page } = await web.asVisitor()
    const email = newAddress()
    await page.clock.install()
    await page.goto(web.url('/sign-in'))
    await web.askForCode(page, email)
    await page.clock.fastForward('07:00')
    await page.reload()
    await page.getByText(`The code for ${email} expires in 3 minutes.`).waitFor()
    await page.getByLabel('Sign-in code').and(page.locator(':focus')).waitFor()
    await page.clock.fastForward('03:01')
    await page.reload()
    await page.getByLabel('Your email address').waitFor()
  })

  testVariant('asks once for all interrupted requests, which then continue', async () => {
    const { page, owner } = await web.asOwner()
    await using _ = await web.openSession(owner.email)
    await page.goto(web.url('/account'))
    await page.getByRole('button', { name: 'Sign out other sessions' }).waitFor()
    await owner.context.clearCookies()
    const both = page.getByRole('button', { name: /^(Sign out other sessions|Replace key)$/ })
    await both.evaluateAll((buttons) => buttons.map((button) => (button as HTMLElement).click()))
    const form = page.getByRole('dialog', { name: 'Replace API key?' })
    await form.waitFor()
    const dialog = page.getByRole('dialog', { name: "You're signed out" })
    await dialog.waitFor()
    await form.locator('form').evaluate((form: HTMLFormElement) => form.requestSubmit())
    await dialog.getByRole('button', { name: 'Get a sign-in code' }).click()
    await dialog.getByText(/^The code for/).waitFor()
    await web.writeCode(page, owner.email)
    await page.getByRole('status').getByText('2 sessions signed out.').waitFor()
    await page.getByRole('heading', { name: 'Your new key' }).waitFor()
    assert.equal(await dialog.count(), 0)
  })
})
