import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMAND_LINE_CLIENT } from '../../protocol/api/device.ts'
import { PHONE } from '../support/browser.ts'
import { web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

test(
  'the page that connects a program says which one on which machine asks for what, and gives it a key when that is allowed',
  requiresBrowser,
  async () => {
    const { device_code: deviceCode, user_code: userCode } = await web.service
      .client()
      .requestDeviceCode({ client_id: COMMAND_LINE_CLIENT, machine: 'ann@desk', scope: 'read publish' })
    const { page, owner } = await web.asOwner('/device?code=ABCD-2345', { viewport: PHONE })
    const next = page.getByRole('button', { name: 'Continue' })
    await next.click()
    await page.getByText(/incorrect, used or expired/).waitFor()
    await page.getByLabel('Code').fill(userCode.toLowerCase())
    await next.click()
    for (const text of [
      'Slipway command line',
      'ann@desk',
      'Publish new sites, and new versions of your sites',
    ])
      await page.getByText(text).waitFor()
    await owner.assertReadable()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('heading', { name: 'Program connected' }).waitFor()
    const { access_token: key, email } = await web.service
      .client()
      .exchangeDeviceCode(COMMAND_LINE_CLIENT, deviceCode)
    assert.equal(email, owner.email)
    const { name, scope } = (await web.service.client(key).me()).key!
    assert.deepEqual([name, scope], ['ann@desk', 'publish'])
  },
)
