import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Exclusion } from '../../protocol/ignore/exclusions.ts'
import { describeSkipped } from '../../protocol/publish-story.ts'
import { filesIn } from '../api/archive-requests.ts'
import type { Way } from '../cases/folders.ts'
import { CliHarness } from '../cli/cli-harness.ts'
import { dropOn, liveAt } from '../dashboard/file-drop.ts'
import { type Account, WebFixture } from '../dashboard/web-fixture.ts'
import { Agent } from '../mcp/agent.ts'
import type { RunningService } from '../support/service.ts'

const run = promisify(execFile)

/** Ways that know the limits of the service and read the folder themselves. */
const LOCAL: Way[] = ['command', 'publish_folder', 'drop', 'dropped zip']

/** The result of a publish by one way. */
export interface Outcome {
  siteUrl: string
  /** Reasons, where the way tells programs; otherwise its sentences have them. */
  excluded?: Exclusion[]
  /** What a person reads. */
  text: string
}

/** A service, and an account that publishes folders there by every way. Needs Chromium, GNU tar, zip, curl and dash. */
export class FolderPublisher implements AsyncDisposable {
  readonly service: RunningService
  readonly key: string
  readonly #account: Account
  readonly #agent: Agent
  readonly #web: WebFixture

  private constructor(web: WebFixture, account: Account, key: string, agent: Agent) {
    this.service = web.service
    this.key = key
    this.#account = account
    this.#agent = agent
    this.#web = web
  }

  static async start(settings: Record<string, string> = {}): Promise<FolderPublisher> {
    const web = await new WebFixture().start(settings)
    const account = await web.createAccount()
    const key = await web.service.signIn(account.email)
    const agent = await Agent.connect(web.service.baseUrl, { key })
    return new FolderPublisher(web, account, key, agent)
  }

  /** Publishes a folder by a way; rejects with what the way shows when it is refused. */
  readonly publish: Record<Way, (folder: PackedFolder) => Promise<Outcome>> = {
    command: async ({ path }) => {
      using cli = new CliHarness()
      cli.env = { SLIPWAY_URL: this.service.baseUrl, SLIPWAY_KEY: this.key }
      const { code, stdout, stderr } = await cli.run(['publish', path, '--json'])
      if (code !== 0) throw new Error(stderr || stdout)
      const { siteUrl, skipped } = JSON.parse(stdout)
      return { siteUrl, excluded: skipped, text: stderr }
    },
    publish_folder: async ({ path }) => {
      using cli = new CliHarness()
      cli.env = { SLIPWAY_URL: this.service.baseUrl, SLIPWAY_KEY: this.key }
      const params = { name: 'publish_folder', arguments: { path, new: true } }
      const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      const { stdout } = await cli.run(['mcp'], { typed: [call] })
      const { result } = JSON.parse(stdout)
      const [{ text }] = result.content
      if (result.isError) throw new Error(text)
      const { siteUrl, skipped } = result.structuredContent
      return { siteUrl, excluded: skipped, text }
    },
    'publish.sh': async ({ path }) => {
      const script = `curl -fsSL ${this.service.baseUrl}/publish.sh | sh -s '${path}'`
      const { stdout, stderr } = await run('dash', ['-c', script], {
        env: { ...process.env, SLIPWAY_KEY: this.key },
      })
      return { siteUrl: stdout.trim(), text: stderr }
    },
    tar: async (folder) => {
      const archive = await folder.tar()
      return toOutcome(await this.#send('application/x-tar', readFileSync(archive)))
    },
    zip: async (folder) => {
      const address = `${this.service.baseUrl}/?keepTopFolder=true`
      const credential = `Authorization: Bearer ${this.key}`
      const { stdout } = await run('curl', ['-sS', '-T', await folder.zip(), '-H', credential, address])
      const [url = '', ...lines] = stdout.split('\n')
      if (!url.startsWith('http')) throw new Error(JSON.parse(stdout).error)
      return { siteUrl: url, text: lines.join('\n') }
    },
    'dropped zip': async (folder) => {
      return this.#drop(await folder.zip())
    },
    drop: ({ path }) => this.#drop(path),
    inline: async (folder) => {
      return toOutcome(await this.#send('application/json', JSON.stringify({ files: folder.contents() })))
    },
    publish_site: async (folder) => {
      const result = await this.#agent.call('publish_site', { files: folder.contents() })
      return toOutcome(result)
    },
  }

  /** The site at this URL. */
  details(siteUrl: string) {
    return this.service.client(this.key).details(new URL(siteUrl).hostname.split('.')[0]!)
  }

  /** The sites, and for a way that refuses a folder before it sends anything the files of the service. */
  async stored(way: Way): Promise<Set<string>> {
    const sites = await Array.fromAsync(this.service.client(this.key).sites())
    const files = LOCAL.includes(way) ? await filesIn(this.service, 'blobs', 'spool') : []
    return new Set([...sites.map(({ slug }) => slug), ...files])
  }

  async #send(type: string, body: Buffer | string) {
    const query = type === 'application/json' ? '' : '?keepTopFolder=true'
    const response = await fetch(`${this.service.baseUrl}/api/v1/publish${query}`, {
      method: 'POST',
      headers: { 'content-type': type, authorization: `Bearer ${this.key}` },
      body: body as BodyInit,
    })
    const json = await response.json()
    if (response.status !== 201) throw new Error(json.error)
    return json
  }

  async #drop(path: string): Promise<Outcome> {
    // A page that waits while another program builds a site would be closed as one on which nothing happens.
    await using owner = await this.#web.owner({ account: this.#account })
    const { page } = owner
    await page.goto(`${this.service.baseUrl}/`)
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent[Symbol.asyncDispose]()
    await this.#web[Symbol.asyncDispose]()
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the answer of any call that publishes
function toOutcome({ siteUrl, excluded = [], notes = [] }: any): Outcome {
  return { siteUrl, excluded, text: [...notes, describeSkipped(excluded)].join('\n') }
}

/** A folder, and its archives, which are deleted on dispose. */
export class PackedFolder implements Disposable {
  readonly path: string
  readonly #work = mkdtempSync(join(tmpdir(), 'slipway-folder-'))
  #zip: Promise<string> | undefined

  /** Without a path, that of a folder to write. */
  constructor(path?: string) {
    this.path = path ?? join(this.#work, 'site')
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
