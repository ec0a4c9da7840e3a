import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Firefox } from '../support/firefox.ts'
import { startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'

test(
  'Firefox publishes a file, shows the site, finds a guide, signs in and keeps the site, without an error',
  requires('firefox'),
  async (t) => {
    await using service = await startTestService()
    await using firefox = await Firefox.start()
    const folder = mkdtempSync(join(tmpdir(), 'slipway-firefox-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'index.html')
    writeFileSync(
      file,
      '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Bakery</title><h1>Fresh bread</h1>',
    )

    await firefox.open(service.baseUrl)
    await firefox.chooseFiles('input[type=file]:not([webkitdirectory])', [file])
    await firefox.waitFor(
      `[...document.querySelectorAll('h1')].some((one) => one.textContent === 'Your site is live')`,
    )
    const siteUrl = String(
      await firefox
        .evaluate(
          `[...document.links].map((one) => one.href).find((href) => /^http:..[a-z0-9-]+[.]localhost/.test(href))`,
        )
        .then((one) => (one as { value: string }).value),
    )
    await firefox.open(siteUrl)
    await firefox.waitFor(`document.querySelector('h1').textContent === 'Fresh bread'`)

    await firefox.open(`${service.baseUrl}/docs`)
    await firefox.type('/')
    await firefox.type('redirects headers')
    await firefox.click('#results a')
    await firefox.waitFor(
      `location.pathname === '/docs/serving' && document.querySelector('#redirects-and-headers')`,
    )

    await firefox.open(`${service.baseUrl}/sign-in?then=/sites`)
    await firefox.click('input[type=email]')
    await firefox.type('fox@example.test\uE007')
    await firefox.waitFor(`document.body.textContent.includes('The code for fox@example.test expires in')`)
    await firefox.click('input[autocomplete=one-time-code]')
    await firefox.type(await service.mailedCode('fox@example.test'))
    await firefox.waitFor(`location.pathname === '/sites' && document.body.textContent.includes('Bakery')`)
    assert.deepEqual(firefox.complaints, [])
  },
)
