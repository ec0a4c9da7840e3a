import assert from 'node:assert/strict'
import { cpSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { type RunningService, startTestService } from '../service.ts'
import { openBrowser } from '../tools/chromium.ts'
import { requires } from '../tools/part.ts'
import { CliUser, root } from './person.ts'
import { served, toUrl } from './served.ts'

/** Sites that no one here wrote, as they come from the registry. */
interface RealSite {
  /** The package that is the site. */
  name: string
  /** A file that its user edits, and what becomes of it. */
  edited: string
  edit(text: string, service: RunningService): string
  /** Looks at it as a visitor, once it is edited. */
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
  test(`${site.name} goes through all that can happen to a site`, async (t) => {
    await using service = await startTestService()
    using person = new CliUser(service.baseUrl)
    cpSync(join(root, 'node_modules', site.name), join(person.folder, 'site'), { recursive: true })
    await journey(t, { site, service, person })
  })
}

async function journey(
  t: TestContext,
  { site, service, person }: { site: RealSite; service: RunningService; person: CliUser },
): Promise<void> {
  const folder = join(person.folder, 'site')
  const original = filesIn(folder)
  let siteUrl = ''

  await t.test('published without an account, it is served byte for byte', async () => {
    const { code, stdout, stderr } = await person.slipway('publish', 'site')
    assert.equal(code, 0)
    assert.doesNotMatch(stderr, /Left out/)
    siteUrl = stdout.trim()
    assert.match(stderr, new RegExp(`Published ${original.size} files`))
    assert.ok(uploads(service) > 0)
    await assertServes(siteUrl, original)
  })

  await t.test('updated, it uploads the one file that changed', async () => {
    service.clock.now += 60_000
    const text = original.get(site.edited)!.toString()
    person.write({ [`site/${site.edited}`]: site.edit(text, service) })
    assert.notEqual(site.edit(text, service), text)
    const { stdout, stderr } = await person.slipway('publish', 'site')
    assert.equal(stdout, `${siteUrl}\n`)
    assert.match(stderr, /; 1 file \(.*\) uploaded, the rest was there already/)
    assert.equal(uploads(service), 1)
    await assertServes(siteUrl, filesIn(folder))
  })

  await t.test('opened in a browser, it works and complains of nothing', requires('chromium'), async () => {
    await using browser = await openBrowser()
    await browser.page.goto(siteUrl)
    await site.visit(browser.page)
    assert.deepEqual(browser.complaints, [])
  })

  const email = 'ann@example.test'
  await t.test('claimed, it has an owner and no end', async () => {
    await person.slipway('login', '--email', email)
    await person.slipway('login', '--email', email, '--code', await service.mailedCode(email))
    assert.equal((await person.slipway('claim')).code, 0)
    const [listed] = JSON.parse((await person.slipway('sites', '--json')).stdout)
    assert.deepEqual(
      [listed.siteUrl, listed.expiresAt, listed.fileCount],
      [siteUrl, null, filesIn(folder).size],
    )
  })

  await t.test('restored, it is byte for byte what it was first', async () => {
    const versions = JSON.parse((await person.slipway('versions', '--json')).stdout)
    assert.equal((await person.slipway('restore', versions.at(-1).versionId)).code, 0)
    assert.equal(uploads(service), 0)
    await assertServes(siteUrl, original)
  })

  await t.test('duplicated and then deleted, it lives on in its copy', async () => {
    const { slug } = person.sites[0]!
    const copy = await service.client(await service.signIn(email)).duplicate(slug)
    await assertServes(copy.siteUrl, original)
    await person.slipway('login', '--email', email)
    await person.slipway('login', '--email', email, '--code', await service.mailedCode(email))
    assert.equal((await person.slipway('delete', '--yes')).code, 0)
    for (const path of ['', ...original.keys()]) {
      assert.equal((await served(toUrl(siteUrl, path))).status, 404, path)
    }
    await assertServes(copy.siteUrl, original)
  })
}

/** Every file below a folder, hidden ones too, by its path. */
function filesIn(folder: string): Map<string, Buffer> {
  const paths = globSync('{**,.**}/{*,.*}', { cwd: folder }).filter((path) =>
    statSync(join(folder, path)).isFile(),
  )
  return new Map(paths.sort().map((path) => [path, readFileSync(join(folder, path))]))
}

async function assertServes(siteUrl: string, files: Map<string, Buffer>): Promise<void> {
  const index = await served(siteUrl)
  assert.equal(index.headers['content-type'], 'text/html; charset=utf-8')
  assert.ok(index.body.equals(files.get('index.html')!), 'the root is index.html')
  for (const [path, bytes] of files) {
    const { status, body } = await served(toUrl(siteUrl, path))
    assert.ok(
      status === 200 && body.equals(bytes),
      `${path}: ${status}, ${body.length} of ${bytes.length} bytes`,
    )
  }
}

/** How many requests with uploads the service took since it was asked last. */
function uploads({ log }: RunningService): number {
  return log.splice(0).filter(({ path }) => String(path).includes('/_upload/')).length
}
