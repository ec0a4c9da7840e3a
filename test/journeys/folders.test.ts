import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { SlipwayError } from '../../client/sdk/slipway-error.ts'
import type { Exclusion } from '../../protocol/ignore/exclusions.ts'
import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import { describeExclusion, describeSkipped } from '../../protocol/publish-story.ts'
import { sha256 } from '../api/content.ts'
import { expectation, ODD_FOLDERS, type OddFolder, WAYS, type Way, writeFolder } from '../cases/folders.ts'
import { CliHarness } from '../cli/cli-harness.ts'
import { dropOn, liveAt } from '../dashboard/file-drop.ts'
import { WebFixture } from '../dashboard/web-fixture.ts'
import { Agent } from '../mcp/agent.ts'
import { requires } from '../tools/part.ts'

const run = promisify(execFile)

/** The result of a publish by one way. */
interface Outcome {
  siteUrl: string
  /** Reasons, where the way tells programs; otherwise its sentences have them. */
  excluded?: Exclusion[]
  /** What a person reads. */
  text: string
}

describe('one folder is one site', requires('chromium', 'archivers', 'busybox'), () => {
  const web = new WebFixture()
  let key: string
  let page: Page
  let agent: Agent
  before(async () => {
    await web.start()
    const owner = await web.owner()
    page = owner.page
    key = await web.service.signIn(owner.email)
    agent = await Agent.connect(web.service.baseUrl, { key })
  })
  after(async () => {
    await agent[Symbol.asyncDispose]()
    await page.context().close()
    await web[Symbol.asyncDispose]()
  })

  const alone = ODD_FOLDERS.filter(({ isTop }) => isTop)
  const shared = ODD_FOLDERS.filter(({ isTop }) => !isTop)
  for (const rows of [shared, ...alone.map((row) => [row])])
    it(`with ${rows.map(({ what }) => what).join(', ')}: the same files, names, exclusions and words by every way`, async () => {
      using folder = new TemporaryFolder(rows)
      const failures: string[] = []
      for (const way of WAYS) {
        await assertWay(way, folder, rows).catch((error: Error) => {
          failures.push(`${way}: ${error.message}`)
        })
      }
      assert.equal(failures.join('\n\n'), '')
    })

  async function assertWay(way: Way, folder: TemporaryFolder, rows: OddFolder[]): Promise<void> {
    const { files, excluded, notes, refused } = expectation(rows, way)
    web.service.clock.now++
    if (refused) {
      const error = await publish[way](folder).then(({ siteUrl }) => assert.fail(siteUrl), messageOf)
      assert.match(error, refused)
      return
    }
    const outcome = await publish[way](folder)
    const slug = new URL(outcome.siteUrl).hostname.split('.')[0]!
    const site = await web.service.client(key).details(slug)
    assertSameLines(
      site.files.map(({ path, hash }) => `${path} ${hash}`),
      [...files].map(([path, content]) => `${normalizeNfc(path)} ${sha256(content)}`),
    )
    const left = [...excluded].map(([path, reason]) => ({ path, reason }))
    if (outcome.excluded) assertSameLines(toLines(outcome.excluded), toLines(left))
    assertSkipped(outcome.text, left)
    for (const note of notes) assert.ok(outcome.text.includes(note), `${note} in ${outcome.text}`)
  }

  const publish: Record<Way, (folder: TemporaryFolder) => Promise<Outcome>> = {
    async command({ path }) {
      using cli = new CliHarness()
      cli.env = { SLIPWAY_URL: web.service.baseUrl, SLIPWAY_KEY: key }
      const { code, stdout, stderr } = await cli.run(['publish', path, '--json'])
      if (code !== 0) throw new Error(stderr || stdout)
      const { siteUrl, skipped } = JSON.parse(stdout)
      return { siteUrl, excluded: skipped, text: stderr }
    },
    async publish_folder({ path }) {
      using cli = new CliHarness()
      cli.env = { SLIPWAY_URL: web.service.baseUrl, SLIPWAY_KEY: key }
      const params = { name: 'publish_folder', arguments: { path, new: true } }
      const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      const { stdout } = await cli.run(['mcp'], { typed: [call] })
      const { result } = JSON.parse(stdout)
      const [{ text }] = result.content
      if (result.isError) throw new Error(text)
      const { siteUrl, skipped } = result.structuredContent
      return { siteUrl, excluded: skipped, text }
    },
    async 'publish.sh'({ path }) {
      const script = `curl -fsSL ${web.service.baseUrl}/publish.sh | sh -s '${path}'`
      const { stdout, stderr } = await run('dash', ['-c', script], {
        env: { ...process.env, SLIPWAY_KEY: key },
      })
      return { siteUrl: stdout.trim(), text: stderr }
    },
    async tar(folder) {
      const archive = await folder.tar()
      return toOutcome(await send('application/x-tar', readFileSync(archive)))
    },
    async zip(folder) {
      const address = `${web.service.baseUrl}/?keepTopFolder=true`
      const credential = `Authorization: Bearer ${key}`
      const { stdout } = await run('curl', ['-sS', '-T', await folder.zip(), '-H', credential, address])
      const [url = '', ...lines] = stdout.split('\n')
      if (!url.startsWith('http')) throw new Error(JSON.parse(stdout).error)
      return { siteUrl: url, text: lines.join('\n') }
    },
    async 'dropped zip'(folder) {
      return drop(await folder.zip())
    },
    drop: ({ path }) => drop(path),
    async inline(folder) {
      return toOutcome(await send('application/json', JSON.stringify({ files: folder.contents() })))
    },
    async publish_site(folder) {
      const result = await agent.call('publish_site', { files: folder.contents() })
      return toOutcome(result)
    },
  }

  async function send(type: string, body: Buffer | string) {
    const query = type === 'application/json' ? '' : '?keepTopFolder=true'
    const response = await fetch(`${web.service.baseUrl}/api/v1/publish${query}`, {
      method: 'POST',
      headers: { 'content-type': type, authorization: `Bearer ${key}` },
      body: body as BodyInit,
    })
    const json = await response.json()
    if (response.status !== 201) throw new Error(json.error)
    return json
  }

  async function drop(path: string): Promise<Outcome> {
    await page.goto(web.url('/'))
    await dropOn(page, 'main', path)
    const steps = page.getByRole('heading', {
      name: /^(Your site is live|Ready to publish\?|This can't be published yet|Not published yet)/,
    })
    await steps.waitFor()
    const step = (await steps.textContent())!
    if (/yet$/.test(step)) throw new Error((await page.locator('main').textContent())!)
    const warnings = await page.locator('.points li').allTextContents()
    if (step.startsWith('Ready')) await page.getByRole('button', { name: /^Publish \d/ }).click()
    const siteUrl = await liveAt(page)
    const lines = await page.locator('.result .names').allTextContents()
    return { siteUrl, text: [...warnings, ...lines].join('\n') }
  }
})

function messageOf(error: Error & { stderr?: string }): string {
  return error instanceof SlipwayError
    ? `${error.message} ${JSON.stringify(error.details)}`
    : (error.stderr ?? error.message)
}

// biome-ignore lint/suspicious/noExplicitAny: the answer of any call that publishes
function toOutcome({ siteUrl, excluded, notes = [] }: any): Outcome {
  return { siteUrl, excluded, text: [...notes, describeSkipped(excluded)].join('\n') }
}

function toLines(excluded: readonly Exclusion[]): string[] {
  return excluded.map(({ path, reason }) => `${normalizeNfc(path)} ${reason}`)
}

/** Compares lists in any order; an error has only the differences. */
function assertSameLines(actual: string[], expected: string[]): void {
  const without = (some: string[], others: string[]) => some.filter((line) => !others.includes(line))
  assert.deepEqual(
    { missing: without(expected, actual), surplus: without(actual, expected), count: actual.length },
    { missing: [], surplus: [], count: expected.length },
  )
}

/** Compares what the lines of a text list, which may be only the first paths of each. */
function assertSkipped(text: string, excluded: readonly Exclusion[]): void {
  const lines = [...text.matchAll(/Skipped (\d+) files?: (.*?)(?: and \d+ (?:more|others?).*)?$/gm)]
  const count = lines.reduce((sum, [, number]) => sum + Number(number), 0)
  const listed = lines.flatMap(([, , paths = '']) => paths.split(', '))
  const expected = excluded.map(describeExclusion)
  assert.deepEqual(
    { count, surplus: listed.filter((path) => !expected.includes(path)) },
    { count: expected.length, surplus: [] },
  )
}

/** A folder of the table on the disk, and its archives. */
class TemporaryFolder implements Disposable {
  readonly #work = mkdtempSync(join(tmpdir(), 'slipway-folder-'))
  readonly path: string = join(this.#work, 'site')
  #zip: Promise<string> | undefined

  constructor(rows: OddFolder[]) {
    writeFolder(this.path, rows)
  }

  async tar(): Promise<string> {
    const archive = join(this.#work, 'site.tar')
    const names = readdirSync(this.path).sort()
    await run('tar', ['-cf', archive, '-C', this.path, '--', ...names.map((name) => `./${name}`)])
    return archive
  }

  /** With links as links, as `zip -y` writes them. */
  zip(): Promise<string> {
    this.#zip ??= (async () => {
      const archive = join(this.#work, 'site.zip')
      // 18: it has left out sockets.
      await run('zip', ['-qry', archive, '.'], { cwd: this.path }).catch(({ code }) => assert.equal(code, 18))
      return archive
    })()
    return this.#zip
  }

  /** The files with their contents in base64, as a program reads them that follows no links. */
  contents(folder: string = this.path): { path: string; contentBase64: string }[] {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const file = join(folder, entry.name)
      if (entry.isDirectory()) return this.contents(file)
      if (!entry.isFile()) return []
      const isFound = existsSync(file)
      const contentBase64 = isFound ? readFileSync(file, 'base64') : 'eA=='
      return [{ path: file.slice(this.path.length + 1), contentBase64 }]
    })
  }

  [Symbol.dispose](): void {
    rmSync(this.#work, { recursive: true, force: true })
  }
}
