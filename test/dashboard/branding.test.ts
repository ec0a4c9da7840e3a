import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { COMMAND_LINE_CLIENT } from '../../protocol/api/device.ts'
import { ALL_VARIANTS } from '../support/variants.ts'
import { disk, web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

const NAME = '<b>"Harbor" & Sons'
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#c2410c"/></svg>'

describe('a service with the branding of its operator', requiresBrowser, () => {
  test('shows its name, logo, color and documents on each page, legibly in both color schemes', async () => {
    await using branded = await web.another({
      NAME,
      TERMS_URL: 'https://legal.example/terms',
      IMPRINT_URL: 'https://legal.example/imprint',
      // Neither white on it nor it on white has the contrast of text.
      COLOR: '#ff8000',
      LOGO_FILE: disk.file('logo.svg', LOGO),
    })
    const { baseUrl, port } = branded.service
    await using owner = await branded.owner()
    await using visitor = await branded.visitor()
    const { verification_uri_complete: devicePage } = await branded.service
      .client()
      .requestDeviceCode({ client_id: COMMAND_LINE_CLIENT, machine: 'a machine' })
    for (const [user, url, heading] of [
      [visitor, `${baseUrl}/sign-in`, 'Sign in'],
      [visitor, `http://nothing.localhost:${port}/`, 'Site not found'],
      ...(ALL_VARIANTS
        ? ([
            [visitor, baseUrl, 'Drop a folder. Get a live site.'],
            [visitor, `${baseUrl}/report`, 'Report a page'],
            [owner, `${baseUrl}/account`, 'Account'],
            [owner, devicePage, 'Connect this program?'],
          ] as const)
        : []),
    ] as const) {
      const { page } = user
      await page.goto(url)
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
      await page.getByText(NAME).first().waitFor()
      await page.getByRole('link', { name: 'Imprint' }).waitFor()
      const logo = page.locator('img[src$="/logo"]')
      await logo.evaluate((image: HTMLImageElement) => image.decode())
      await user.assertReadableInAllViewports()
      if (heading === 'Sign in') {
        assert.equal(await page.title(), `Sign in · ${NAME}`)
        await page.getByText('By signing in you accept the terms.').waitFor()
      }
    }
  })
})
