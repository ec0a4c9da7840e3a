import assert from 'node:assert/strict'
import { cpSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openBrowser } from '../support/browser.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'
import { CliUser, root } from './cli-user.ts'
import { httpGet, toUrl } from './http-get.ts'

/** Sites from npm packages, as they are in the registry. */
interface RealSite {
  /** The npm package. */
  name: string
  /** A file to edit, and its edited contents. */
  edited: string
  edit(text: string, service: RunningService): string
  /** Checks the edited site in a browser. */
  visit(page: Page): Promise<void>
}

const SITES: RealSite[] = [
  {
    name: 'swagger-ui-dist',
    edited: 'swagger-initializer.js',
    edit: (text, { baseUrl }) => text.replace(/url: ".*"/, `url: "${baseUrl}/api/openapi.json"`),
    async visit(page) {
      await page.locator('.info .title', { hasText: 'Slipway' }).waitFor()
      await page.locator('.opblock-summary-path', { hasText: /^\/api\/v1\/publishes$/ }).click()
      await page.locator('.opblock.is-open .parameters').first().waitFor()
    },
  },
  {
    name: 'reveal.js',
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
]

for (const site of SITES) {
  test(`${site.name} works through the whole lifecycle of a site`, async (t) => {
    await using service = await startTestService()
    using user = new CliUser(service.baseUrl)
    cpSync(join(root, 'node_modules', site.name), join(user.folder, 'site'), { recursive: true })
    await journey(t, { site, service, user })
  })
}

async function journey(
  t: TestContext,
  { site, service, user }: { site: RealSite; service: RunningService; user: CliUser },
): Promise<void> {
  const folder = join(user.folder, 'site')
  const original = filesIn(folder)
  let siteUrl = ''

  await t.test('it is served byte for byte when published without an account', async () => {
    const { code, stdout, stderr } = await user.slipway('publish', 'site')
    assert.equal(code, 0)
    assert.doesNotMatch(stderr, /Skipped/)
    siteUrl = stdout.trim()
    assert.match(stderr, new RegExp(`Published ${original.size} files`))
    assert.ok(uploads(service) > 0)
    await assertServes(siteUrl, original)
  })

  await t.test('it uploads one changed file when updated', async () => {
    service.clock.now += 60_000
    const text = original.get(site.edited)!.toString()
    user.write({ [`site/${site.edited}`]: site.edit(text, service) })
    assert.notEqual(site.edit(text, service), text)
    const { stdout, stderr } = await user.slipway('publish', 'site')
    assert.equal(stdout, `${siteUrl}\n`)
    assert.match(stderr, / s \(1 uploaded, /)
    assert.equal(uploads(service), 1)
    await assertServes(siteUrl, filesIn(folder))
  })

  await t.test('it works in a browser without errors', requires('chromium'), async () => {
    await using browser = await openBrowser()
    await browser.page.goto(siteUrl)
    await site.visit(browser.page)
    assert.deepEqual(browser.complaints, [])
  })

  const email = 'ann@example.test'
  await t.test('it has an owner and no expiry when claimed', async () => {
    await user.slipway('login', '--email', email)
    await user.slipway('login', '--email', email, '--code', await service.mailedCode(email))
    assert.equal((await user.slipway('claim')).code, 0)
    const [listed] = JSON.parse((await user.slipway('sites', '--json')).stdout)
    assert.deepEqual(
      [listed.siteUrl, listed.expiresAt, listed.fileCount],
      [siteUrl, null, filesIn(folder).size],
    )
  })

  await t.test('it is byte for byte the first version when restored', async () => {
    const versions = JSON.parse((await user.slipway('versions', '--json')).stdout)
    assert.equal((await user.slipway('restore', versions.at(-1).versionId)).code, 0)
    assert.equal(uploads(service), 0)
    await assertServes(siteUrl, original)
  })

  await t.test('it is kept in its duplicate when deleted', async () => {
    const { slug } = user.sites[0]!
    const copy = await service.client(await service.signIn(email)).duplicate(slug)
    await assertServes(copy.siteUrl, original)
    await user.slipway('login', '--email', email)
    await user.slipway('login', '--email', email, '--code', await service.mailedCode(email))
    assert.equal((await user.slipway('delete', '--yes')).code, 0)
    for (const path of ['', ...original.keys()]) {
      assert.equal((await httpGet(toUrl(siteUrl, path))).status, 404, path)
    }
    await assertServes(copy.siteUrl, original)
  })
}

/** Every file below a folder, including hidden ones, by its path. */
function filesIn(folder: string): Map<string, Buffer> {
  const paths = globSync('{**,.**}/{*,.*}', { cwd: folder }).filter((path) =>
    statSync(join(folder, path)).isFile(),
  )
  return new Map(paths.sort().map((path) => [path, readFileSync(join(folder, path))]))
}

async function assertServes(siteUrl: string, files: Map<string, Buffer>): Promise<void> {
  const index = await httpGet(siteUrl)
  assert.equal(index.headers['content-type'], 'text/html; charset=utf-8')
  assert.ok(index.body.equals(files.get('index.html')!), 'the root is index.html')
  for (const [path, bytes] of files) {
    const { status, body } = await httpGet(toUrl(siteUrl, path))
    assert.ok(
      status === 200 && body.equals(bytes),
      `${path}: ${status}, ${body.length} of ${bytes.length} bytes`,
    )
  }
}

/** Number of upload requests that the service received since the last call. */
function uploads({ log }: RunningService): number {
  return log.splice(0).filter(({ path }) => String(path).includes('/_upload/')).length
}
