import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { sha256 } from '../api/content.ts'
import type { Way } from '../cases/folders.ts'
import { openBrowser } from '../support/browser.ts'
import { getUrl } from '../support/http-client.ts'
import { requires } from '../tools/part.ts'
import { BUILT_SITES } from './built-sites.ts'
import { FolderPublisher, PackedFolder } from './folder-publisher.ts'

/** Those that have no limit of 2 MB. */
const SITE_WAYS: Way[] = ['command', 'publish.sh', 'tar', 'zip', 'dropped zip', 'drop']

/** Those whose sites are opened in a browser; all have the same files. */
const BROWSED: Way[] = ['command', 'drop']

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
        const hasLinks = [...files.values()].some(({ isLink }) => isLink)
        const manifest = [...files].map(([path, { bytes }]) => `${path} ${sha256(bytes)}`)
        for (const way of SITE_WAYS) {
          publisher.service.clock.now++
          const { siteUrl } = await publisher.publish[way](folder)
          const { files: published } = await publisher.details(siteUrl)
          const hashes = new Set(published.map(({ path, hash }) => `${path} ${hash}`))
          const missing = manifest.filter((line) => !hashes.has(line))
          if (way === 'drop')
            assert.ok(
              missing.every((line) => files.get(line.slice(0, -65))!.isLink),
              way,
            )
          else assert.deepEqual(missing, [], way)
          if (way === 'command')
            for (const [path, { bytes }] of files) {
              const { status, body } = await getUrl(
                siteUrl + path.split('/').map(encodeURIComponent).join('/'),
              )
              assert.ok(status === 200 && body.equals(bytes), `${path}: ${status}, ${body.length} bytes`)
            }
          if (!BROWSED.includes(way) || (hasLinks && way === 'drop')) continue
          await using browser = await openBrowser()
          for (const [at, page] of ['', site.deepPage].entries()) {
            await browser.page.goto(siteUrl + page, { waitUntil: 'networkidle' })
            assert.match(
              (await browser.page.locator('body').textContent())!,
              site.shows[at]!,
              `${way}: ${page}`,
            )
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
