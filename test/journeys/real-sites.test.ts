import assert from 'node:assert/strict'
import { cpSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { useRealService } from '../cli/real-cli.ts'
import { openBrowser } from '../support/browser.ts'
import { getUrl } from '../support/http-client.ts'
import type { RunningService } from '../support/service.ts'
import { ALL_VARIANTS } from '../support/variants.ts'
import { requires } from '../tools/part.ts'

/** Sites from npm packages, as they are in the registry. */
interface RealSite {
  /** A file to edit, and its edited contents. */
  edited: string
  edit(text: string, service: RunningService): string
  /** Checks the edited site in a browser. */
  visit(page: Page): Promise<void>
}

const SITES: Record<string, RealSite> = {
  'swagger-ui-dist': {
    edited: 'swagger-initializer.js',
    edit: (text, { baseUrl }) => text.replace(/url: ".*"/, `url: "${baseUrl}/api/openapi.json"`),
    async visit(page) {
      await page.locator('.info .title', { hasText: 'Slipway' }).waitFor()
      await page.locator('.opblock-summary-path', { hasText: /^\/api\/v1\/publishes$/ }).click()
      await page.locator('.opblock.is-open .parameters').first().waitFor()
    },
  },
  'reveal.js': {
    edited: 'index.html',
    edit: (text) =>
      text
        .replace('</title>', '</title>\n\t\t<link rel="icon" href="data:," />')
        .replace('<section>Slide 2</section>', '<section>The end</section>'),
    async visit(page) {
      await page.locator('section.present', { hasText: 'Slide 1' }).waitFor()
      await page.keyboard.press('ArrowRight')
      await page.locator('section.present', { hasText: 'The end' }).waitFor()
    },
  },
}

describe('a real site', requires('chromium'), () => {
  const start = useRealService()
  for (const [name, { edited, edit, visit }] of Object.entries(SITES)) {
    if (!ALL_VARIANTS && name !== 'reveal.js') continue
    it(`${name} is served byte for byte, uploads one changed file when updated, and works in a browser`, async () => {
      using user = start({})
      const folder = join(user.cli.cwd, 'site')
      cpSync(join(import.meta.dirname, '../../node_modules', name), folder, { recursive: true })
      const original = filesIn(folder)
      const { code, stdout, stderr } = await user.cli.run(['publish', 'site'])
      assert.equal(code, 0, stderr)
      assert.doesNotMatch(stderr, /Skipped/)
      assert.match(stderr, new RegExp(`Published ${original.size} files`))
      await assertServes(stdout.trim(), original)

      user.service.clock.now += 60_000
      const text = original.get(edited)!.toString()
      assert.notEqual(edit(text, user.service), text)
      user.cli.write({ [`site/${edited}`]: edit(text, user.service) })
      const updated = await user.cli.run(['publish', 'site'])
      assert.equal(updated.stdout, stdout)
      assert.match(updated.stderr, / s \(1 uploaded, /)
      await assertServes(stdout.trim(), filesIn(folder))

      await using browser = await openBrowser()
      await browser.page.goto(stdout.trim())
      await visit(browser.page)
      assert.deepEqual(browser.complaints, [])
    })
  }
})

/** Every file below a folder, including hidden ones, by its path. */
function filesIn(folder: string): Map<string, Buffer> {
  const paths = globSync('{**,.**}/{*,.*}', { cwd: folder }).filter((path) =>
    statSync(join(folder, path)).isFile(),
  )
  return new Map(paths.sort().map((path) => [path, readFileSync(join(folder, path))]))
}

async function assertServes(siteUrl: string, files: Map<string, Buffer>): Promise<void> {
  const index = await getUrl(siteUrl)
  assert.equal(index.headers['content-type'], 'text/html; charset=utf-8')
  assert.ok(index.body.equals(files.get('index.html')!), 'the root is index.html')
  for (const [path, bytes] of files) {
    const { status, body } = await getUrl(siteUrl + path.split('/').map(encodeURIComponent).join('/'))
    assert.ok(status === 200 && body.equals(bytes), `${path}: ${status}, ${body.length} bytes`)
  }
}
