import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PHONE } from '../support/browser.ts'
import { testVariant } from '../support/variants.ts'
import { web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

describe('the page that connects a program', requiresBrowser, () => {
  const start = () =>
    web.service.client().requestDeviceCode({ program: 'Slipway command line', machine: 'ann@desk' })

  test('says which program on which machine asks for what, and gives it a key when that is allowed', async () => {
    const { deviceCode, verificationUrlComplete } = await start()
    const { page, owner } = await web.asOwner(undefined, { viewport: PHONE })
    await page.goto(verificationUrlComplete)
    await page.getByRole('button', { name: 'Continue' }).click()
    for (const text of ['Slipway command line', 'ann@desk', /can publish, change and delete your sites/])
      await page.getByText(text).waitFor()
    await owner.assertAccessibleInAllViewports()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('heading', { name: 'Program connected' }).waitFor()
    const { apiKey, email } = await web.service.client().exchangeDeviceCode(deviceCode)
    assert.equal(email, owner.email)
    assert.equal((await web.service.client(apiKey).me()).key?.name, 'ann@desk')
  })

  testVariant('refuses a program, and says that a code is wrong', async () => {
    const { deviceCode, userCode } = await start()
    const { page } = await web.asOwner('/device')
    const continues = page.getByRole('button', { name: 'Continue' })
    await page.getByLabel('Code').fill('ABCD-2345')
    await continues.click()
    await page.getByText(/incorrect, used or expired/).waitFor()
    await page.getByLabel('Code').fill(userCode.toLowerCase())
    await continues.click()
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByRole('heading', { name: 'Program denied' }).waitFor()
    await assert.rejects(web.service.client().exchangeDeviceCode(deviceCode), { code: 'ACCESS_DENIED' })
  })
})
