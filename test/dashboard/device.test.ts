import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMAND_LINE_CLIENT, type DeviceAuthorization } from '../../protocol/api/device.ts'
import { PHONE } from '../support/browser.ts'
import { web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

test(
  'the page that connects a program says which one on which machine and network asks for what, and gives it a key when that is allowed',
  requiresBrowser,
  async () => {
    await using proxied = await web.another({ TRUSTED_PROXIES: '1' })
    const begin = async (address: string, scope: string) => {
      const asked = { client_id: COMMAND_LINE_CLIENT, machine: 'ann@desk', scope }
      const response = await fetch(`${proxied.service.baseUrl}/oauth/device_authorization`, {
        method: 'POST',
        headers: { 'x-forwarded-for': address },
        body: new URLSearchParams(asked),
      })
      return (await response.json()) as DeviceAuthorization
    }
    const { device_code: code, user_code: userCode } = await begin('127.0.0.1', 'read publish')
    const elsewhere = await begin('203.0.113.77', 'manage')
    await using owner = await proxied.owner({ viewport: PHONE })
    const { page } = owner
    const next = page.getByRole('button', { name: 'Continue' })
    const wholeAccount = page.getByText('Create more keys, share your sites, and delete your account')
    const warning = page.getByText('The program asks from another network than yours.')
    await page.goto(elsewhere.verification_uri_complete)
    await page.getByText('203.0.113.0/24').waitFor()
    await warning.waitFor()
    await wholeAccount.waitFor()
    await owner.assertReadable()
    await page.goto(`${proxied.service.baseUrl}/device?code=ABCD-2345`)
    await page.getByText(/incorrect, used or expired/).waitFor()
    await page.goto(`${proxied.service.baseUrl}/device`)
    await page.locator('input:focus').waitFor()
    await page.keyboard.type(userCode.toLowerCase())
    await next.click()
    await page.locator('h1:focus').getByText('Connect this program?').waitFor()
    for (const text of [
      ...['Slipway command line', 'ann@desk', '127.0.0.0/8'],
      'Publish new sites, and new versions of your sites',
    ])
      await page.getByText(text).waitFor()
    assert.deepEqual([await warning.count(), await wholeAccount.count()], [0, 0])
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.locator('h1:focus').getByText('Program connected').waitFor()
    const client = proxied.service.client()
    const { access_token: key, email } = await client.exchangeDeviceCode(COMMAND_LINE_CLIENT, code)
    assert.equal(email, owner.email)
    const { name, scope } = (await proxied.service.client(key).me()).key!
    assert.deepEqual([name, scope], ['ann@desk', 'publish'])
  },
)
