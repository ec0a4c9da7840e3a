import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { WAYS, type Way } from '../cases/folders.ts'
import { openBrowser } from '../support/browser.ts'
import { getUrl } from '../support/http-client.ts'
import { requires } from '../tools/part.ts'
import { BUILT_SITES } from './built-sites.ts'
import { FolderPublisher, PackedFolder } from './folder-publisher.ts'

/** Ways that do not follow links: Chromium does not hand them over, and a request of contents has none. */
const WITHOUT_LINKS: Way[] = ['drop', 'inline', 'publish_site']

/** What a request of contents may have, in bytes of their text. */
const CONTENT_LIMITS: Partial<Record<Way, number>> = { inline: 2 * 2 ** 20, publish_site: 4 * 2 ** 20 }

/** Folders of sites that were built before, by name; they are built in a temporary folder otherwise. */
const built = process.env.BUILT_SITES ?? join(tmpdir(), 'slipway-built-sites')

describe(
  'a site that another program has built',
  requires('chromium', 'archivers', 'busybox', 'site-builders'),
  () => {
    let publisher: FolderPublisher
    before(async () => {
      publisher = await FolderPublisher.start()
    })
    after(async () => {
      await publisher[Symbol.asyncDispose]()
      if (process.env.BUILT_SITES === undefined) rmSync(built, { recursive: true, force: true })
    })

    for (const [name, site] of Object.entries(BUILT_SITES))
      it(`of ${name} is served byte for byte by every way, and its pages load without an error`, async () => {
        using folder = new PackedFolder(build(name, site.build))
        const files = filesIn(folder.path)
        const bytes = folder
          .contents()
          .reduce((sum, { contentBase64 }) => sum + contentBase64.length * 0.75, 0)
        for (const way of WAYS) {
          publisher.service.clock.now++
          if (bytes > (CONTENT_LIMITS[way] ?? Infinity)) {
            await assert.rejects(publisher.publish[way](folder), /limit is|at most/, way)
            continue
          }
          const { siteUrl } = await publisher.publish[way](folder)
          const expected = [...files].filter(([, { isLink }]) => !isLink || !WITHOUT_LINKS.includes(way))
          for (const [path, file] of expected) {
            const address = siteUrl + path.split('/').map(encodeURIComponent).join('/')
            const { status, body } = await getUrl(address)
            assert.ok(
              status === 200 && body.equals(file.bytes),
              `${way}: ${path}: ${status}, ${body.length} bytes`,
            )
          }
          if (expected.length < files.size) continue
          await using browser = await openBrowser()
          for (const [at, page] of ['', site.deepPage].entries()) {
            await browser.page.goto(siteUrl + page, { waitUntil: 'networkidle' })
            const text = (await browser.page.locator('body').textContent())!
            assert.match(text, site.shows[at]!, `${way}: ${page}`)
          }
          // A page that is left ends its requests, browsers ask for an icon, and examples ask other servers.
          const isExpected = (line: string) =>
            /ERR_ABORTED|favicon\.ico|https:\/\//.test(line) || site.errors?.test(line)
          const complaints = browser.complaints.filter((line) => !isExpected(line))
          assert.deepEqual(complaints, [], way)
        }
      })
  },
)

/** The folder of a site, which is built once. */
function build(name: string, command: string): string {
  const out = join(built, name.replaceAll(/\W+/g, '-'))
  if (existsSync(out)) return out
  const work = `${out}.work`
  mkdirSync(work, { recursive: true })
  const env = { ...process.env, OUT: out, CI: '1', NEXT_TELEMETRY_DISABLED: '1', NG_CLI_ANALYTICS: 'false' }
  execFileSync('bash', ['-euc', command], { cwd: work, env, stdio: 'pipe' })
  rmSync(work, { recursive: true })
  return out
}

/** What the command publishes of a folder: its files, and links to those inside. */
function filesIn(top: string): Map<string, { bytes: Buffer; isLink: boolean }> {
  const files = new Map<string, { bytes: Buffer; isLink: boolean }>()
  const walk = (folder: string, isLinked: boolean) => {
    for (const entry of readdirSync(join(top, folder), { withFileTypes: true })) {
      const path = folder + entry.name
      if (entry.name.startsWith('.') && entry.name !== '.well-known') continue
      const isLink = isLinked || entry.isSymbolicLink()
      const target = existsSync(join(top, path)) ? realpathSync(join(top, path)) : ''
      if (!target.startsWith(`${realpathSync(top)}/`)) continue
      if (statSync(target).isDirectory()) walk(`${path}/`, isLink)
      else files.set(path, { bytes: readFileSync(target), isLink })
    }
  }
  walk('', false)
  return files
}
