import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PHONE } from '../support/browser.ts'
import { web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

test(
  'the page that connects a program says which one on which machine asks for what, and gives it a key when that is allowed',
  requiresBrowser,
  async () => {
    const { deviceCode, userCode } = await web.service
      .client()
      .requestDeviceCode({ program: 'Slipway command line', machine: 'ann@desk' })
    const { page, owner } = await web.asOwner('/device?code=ABCD-2345', { viewport: PHONE })
    const next = page.getByRole('button', { name: 'Continue' })
    await next.click()
    await page.getByText(/incorrect, used or expired/).waitFor()
    await page.getByLabel('Code').fill(userCode.toLowerCase())
    await next.click()
    for (const text of ['Slipway command line', 'ann@desk', /can publish, change and delete your sites/])
      await page.getByText(text).waitFor()
    await owner.assertReadable()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('heading', { name: 'Program connected' }).waitFor()
    const { apiKey, email } = await web.service.client().exchangeDeviceCode(deviceCode)
    assert.equal(email, owner.email)
    assert.equal((await web.service.client(apiKey).me()).key?.name, 'ann@desk')
  },
)
