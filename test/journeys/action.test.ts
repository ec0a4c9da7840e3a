import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { GITHUB_CLAIMS, githubClaims } from '../api/trusted-job.ts'
import { tar } from '../archive/tar-file.ts'
import { GITHUB_EVENTS } from '../recorded/github.ts'
import { getUrl } from '../support/http-client.ts'
import { listen } from '../support/listen.ts'
import { pluck } from '../support/pluck.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { testVariant } from '../support/variants.ts'
import { GitHub } from '../tools/github.ts'
import { OidcIssuer } from '../tools/oidc-issuer.ts'

const MAIN = join(import.meta.dirname, '../../action/main.mjs')

interface JobOptions {
  event?: keyof typeof GITHUB_EVENTS
  variables?: object
  /** In the folder, beside the page. */
  files?: Record<string, string>
}

// With the environment that a runner gives, and the client that the service serves.

describe('the GitHub Action', () => {
  let issuer: OidcIssuer
  let service: RunningService
  let github: GitHub
  let client: Slipway
  let claims: object = GITHUB_CLAIMS
  let accounts = 0

  before(async () => {
    issuer = await OidcIssuer.start()
    service = await startTestService({ OIDC_ISSUERS: `github=${issuer.url}` })
    github = await GitHub.start((audience) =>
      issuer.sign({ ...claims }, { issuedAt: Math.floor(service.clock.now / 1000), audience }),
    )
  })

  after(async () => {
    await github[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
    await issuer[Symbol.asyncDispose]()
  })

  /** A published site that trusts pushes to main and pull requests. */
  async function createSite(): Promise<string> {
    client = service.client(await service.signIn(`ann-${++accounts}@example.test`))
    const { slug: site } = await client.publishContents({ files: [{ path: 'index.html', content: 'live' }] })
    await client.createTrust({
      ...{ forge: 'github', repository: 'ann/bakery', site, branch: 'main', pullRequests: true },
    })
    github.comments.length = 0
    return site
  }

  /** Runs a job whose folder has this page. */
  async function runJob(site: string, page: string, options: JobOptions = {}) {
    service.clock.now++
    const { event = 'push', variables, files = {} } = options
    claims = event === 'push' ? GITHUB_CLAIMS : githubClaims(event)
    const home = mkdtempSync(join(tmpdir(), 'slipway-action-'))
    const path = (name: string) => join(home, name)
    mkdirSync(path('dist'))
    for (const [name, content] of Object.entries({ 'index.html': page, ...files }))
      writeFileSync(path(`dist/${name}`), content)
    const payload = JSON.stringify(GITHUB_EVENTS[event].payload)
    for (const [name, content] of Object.entries({ event: payload, output: '', summary: '' }))
      writeFileSync(path(name), content)
    // The last two are of `npm run mutations`.
    const { PATH, MUTATION, NODE_OPTIONS } = process.env
    const env = {
      ...{ PATH, MUTATION, NODE_OPTIONS, HOME: home, RUNNER_TEMP: home, CI: 'true', GITHUB_ACTIONS: 'true' },
      ...{ GITHUB_EVENT_PATH: path('event'), GITHUB_OUTPUT: path('output') },
      ...{ GITHUB_STEP_SUMMARY: path('summary'), GITHUB_REPOSITORY: 'ann/bakery' },
      ...{
        GITHUB_API_URL: github.url,
        GITHUB_SERVER_URL: 'https://github.com',
        GITHUB_SHA: 'b8962f4eaff8e14fc646cb22c596c81e67d71362',
      },
      ...{ GITHUB_RUN_ID: '32291736541', GITHUB_RUN_NUMBER: '1' },
      ACTIONS_ID_TOKEN_REQUEST_URL: `${github.url}/token?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request token',
      ...{ INPUT_SERVER: `${service.baseUrl}/`, INPUT_SITE: site, INPUT_FOLDER: 'dist', INPUT_PREVIEW: '' },
      ...{ 'INPUT_FAIL-ON-WARNING': 'false', INPUT_TOKEN: 'job token' },
      ...variables,
    }
    const child = spawn(process.execPath, [MAIN], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const exited = new Promise<number | null>((resolve) => child.on('close', resolve))
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exited])
    const read = (name: string) => readFileSync(path(name), 'utf8')
    const outputs = Object.fromEntries(
      read('output')
        .split('\n')
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    )
    const summary = read('summary')
    rmSync(home, { recursive: true })
    return { code, stdout, log: stdout + stderr, outputs, summary }
  }

  const readPage = async (url: string) => (await getUrl(url)).text

  it('publishes a push without a stored secret, and says what changed', async () => {
    const site = await createSite()
    const { code, stdout, log, outputs, summary } = await runJob(site, 'from main')
    assert.equal(code, 0, log)
    const { siteUrl, versionId } = await client.details(site)
    assert.deepEqual([outputs.url, outputs.version, outputs['preview-url']], [siteUrl, versionId, ''])
    assert.equal(await readPage(siteUrl), 'from main')
    assert.match(summary, /\| Files \| 1 \(9 bytes\) \|\n\| Changes \| 0 added, 1 changed, 0 removed \|/)
    assert.match(withoutStopped(stdout), /^::add-mask::eyJ.*\n\n::add-mask::sl_live_\w{32}$/m)
    assert.equal(log.match(/sl_live_/g)?.length, 1)
    assert.deepEqual(github.comments, [])
  })

  it('keeps the address of a preview over pushes, also two at the same time, updates one comment unless the forge refuses it, and deletes the preview at the end', async () => {
    const site = await createSite()
    github.comments.push({ id: 1, body: `<!-- slipway ${site} -->`, user: { type: 'User' } })
    github.refusesComments = true
    const first = await runJob(site, '1', { event: 'pull request opened' })
    github.refusesComments = false
    assert.equal(first.code, 0, first.log)
    assert.match(
      first.stdout,
      /^::warning::The comment on the pull request was not written: GET .* returned 403$/m,
    )
    const { 'preview-url': url = '', url: siteUrl = '' } = first.outputs
    assert.equal(await readPage(url), '1')
    const [{ name = '' } = {}] = (await client.previews(site)).previews
    const place = { path: '/', selector: 'body', text: '1', before: '', after: '', width: 9, height: 9 }
    const text = 'Too small'
    await client.review(site, name).createThread({ versionId: first.outputs.version!, place, text })
    github.holdLists(2)
    const jobs = await Promise.all(
      ['2', '3'].map((page) => runJob(site, page, { event: 'pull request synchronized' })),
    )
    for (const { code, log, outputs } of jobs) assert.deepEqual([code, outputs['preview-url']], [0, url], log)
    assert.match(await readPage(url), /^[23]$/)
    assert.equal(await readPage(siteUrl), 'live')
    const haveUrl = github.comments.map(({ body }) => body.includes(url))
    assert.deepEqual(haveUrl, [false, true])
    assert.match(
      github.comments[1]!.body,
      /\| Review \| 1 open comment \|\n\| Commit \| ec26c3e \|\n\| Job \| \[run 1\]\(https:.*\/32291736541\) \|/,
    )
    const review = client.review(site, name)
    await review.decide({ decision: 'approved', versionId: (await review.get()).versionId })
    const page = await readPage(url)
    await runJob(site, page, { event: 'pull request synchronized' })
    assert.match(github.comments[1]!.body, /\| Review \| approved, 1 open comment \|/)
    const queued = await runJob(site, 'merged', { event: 'merge queue' })
    assert.equal(await readPage(queued.outputs['preview-url'] ?? ''), 'merged', queued.log)
    assert.equal(await readPage(siteUrl), 'live')
    // A pull request is closed by merging it, or without; the event may arrive twice.
    for (const event of ['pull request merged', 'pull request closed'] as const) {
      const { code, log } = await runJob(site, '', { event })
      assert.equal(code, 0, log)
    }
    const { previews } = await client.previews(site)
    assert.deepEqual(pluck(previews, 'name'), ['pr-104'])
    assert.deepEqual([github.comments.length, /was deleted/.test(github.comments[1]!.body)], [2, true])
  })

  it('updates its comment also with the token of a person, and none of another person', async () => {
    const site = await createSite()
    const marked = { body: `<!-- slipway ${site} -->`, user: { type: 'User', id: 8 } } as const
    github.comments.push({ id: 1, ...marked })
    const options = { event: 'pull request opened', variables: { INPUT_TOKEN: 'token of a person' } } as const
    for (const page of ['1', '2']) {
      const { code, log } = await runJob(site, page, options)
      assert.equal(code, 0, log)
    }
    assert.deepEqual([github.comments.length, github.comments[0]!.body], [2, marked.body])
  })

  it('says how the client ended when it prints no result', async () => {
    for (const [program, ended] of [
      ['process.exit(3)', 'exit code 3'],
      ["process.kill(process.pid, 'SIGKILL')", 'SIGKILL'],
    ] as const) {
      using hostile = await startHostile(program)
      const { code, stdout } = await runJob('bakery', '', hostile)
      assert.equal(code, 1)
      assert.ok(stdout.includes(`\n::error::The client ended with ${ended} and without a result\n`), stdout)
    }
  })

  it('shows warnings at their lines, fails on them if that is set, and waits for a forge that is overloaded', async () => {
    const site = await createSite()
    const files = { _redirects: '/a /b\nno rule\n' }
    github.unavailable = 1
    const image = { path: 'a,b.png', content: 'image', contentType: 'image/png' }
    await client.publishContents({ files: [image], ogImagePath: image.path }, site)
    const shown = await runJob(site, '1', { files })
    assert.equal(shown.code, 0, shown.log)
    assert.match(shown.stdout, /^::warning file=dist\/a%2Cb\.png::/m)
    assert.match(shown.stdout, /^::warning file=dist\/_redirects,line=2::/m)
    assert.match(shown.summary, /^- \\_redirects:2: /m)
    const inHere = await runJob(site, '1', { files, variables: { INPUT_FOLDER: './dist/' } })
    assert.match(inHere.stdout, /^::warning file=dist\/_redirects,line=2::/m, 'the path in the repository')
    const strict = await runJob(site, '2', { files, variables: { 'INPUT_FAIL-ON-WARNING': 'True' } })
    assert.equal(strict.code, 1, strict.log)
    assert.equal(await readPage((await client.details(site)).siteUrl), '1')
  })

  /** A server whose client is this program. */
  async function startHostile(program: string) {
    const archive = gzipSync(
      tar([
        { name: 'package/package.json', data: Buffer.from('{ "bin": "x.mjs" }') },
        { name: 'package/x.mjs', data: Buffer.from(program) },
      ]),
    )
    const hostile = createServer((_, response) => response.end(archive))
    const INPUT_SERVER = `http://127.0.0.1:${await listen(hostile)}`
    return { variables: { INPUT_SERVER, GITHUB_TOKEN: 'secret' }, [Symbol.dispose]: () => hostile.close() }
  }

  it('gives the client of a server no token of the job and nothing that requests one', async () => {
    using hostile = await startHostile(
      "console.log(JSON.stringify({ error: Object.keys(process.env).sort().join(' ') }))",
    )
    const { stdout } = await runJob('bakery', '', hostile)
    assert.match(stdout, /^::error::CI HOME PATH SLIPWAY_ID_TOKEN SLIPWAY_URL$/m)
  })

  it('follows no redirect, which could lead to the client of a server that the workflow does not name', async () => {
    await using redirecting = createServer(({ url }, response) =>
      response.writeHead(308, { Location: service.baseUrl + url }).end(),
    )
    const variables = { INPUT_SERVER: `http://127.0.0.1:${await listen(redirecting)}` }
    const { code, stdout } = await runJob('bakery', '', { variables })
    assert.equal(code, 1)
    assert.match(stdout, /^::error::Cannot reach 127\.0\.0\.1:\d+: unexpected redirect$/m)
  })

  it('takes neither a command of the runner nor an output from a text of a server or of a folder', async () => {
    const site = await createSite()
    const names = ['##[set-output name=url]x', '##[set-output name=url]X']
    const named = await runJob(site, 'x', { files: Object.fromEntries(names.map((name) => [name, 'x'])) })
    using hostile = await startHostile(`
      console.error('::set-output name=url::x')
      const published = { siteUrl: 'http://a.test/\\nversion=x', versionId: 'v1', unchanged: true }
      console.log(JSON.stringify(process.argv[2] === 'trust' ? { apiKey: 'sl_live_1' } : published))`)
    const printed = await runJob(site, '', hostile)
    for (const { code, stdout, log } of [named, printed]) {
      assert.equal(log, stdout, 'the runner reads one stream')
      assert.match(log, /^.*(##\[|::)set-output/m)
      assert.doesNotMatch(withoutStopped(log), /set-output/)
      assert.equal(code, 0, log)
    }
    assert.deepEqual([printed.outputs.url, printed.outputs.version], ['http://a.test/ version=x', 'v1'])
  })

  testVariant('publishes each of two pushes to one branch at the same time', async () => {
    const site = await createSite()
    const pushes = await Promise.all(['1', '2'].map((page) => runJob(site, page)))
    for (const { code, log } of pushes) assert.equal(code, 0, log)
    assert.match(await readPage(pushes[0]!.outputs.url ?? ''), /^[12]$/)
  })

  it('fails with the next step without a token, a trust, a site or its proxy', async () => {
    const site = await createSite()
    const [trust] = (await client.trusts()).trusts
    const wrong = 'a'.repeat(64)
    await client.removeTrust(trust!.id)
    for (const [variables, reason] of [
      [{ ACTIONS_ID_TOKEN_REQUEST_URL: '' }, /^::error::.*id-token: write/m],
      [{ INPUT_SITE: '' }, /^::error::The input site is required/m],
      [{ INPUT_FOLDER: '' }, /^::error::The input folder is required/m],
      [{ INPUT_SERVER: 'http://slipway.example' }, /^::error::The input server must begin with https:\/\//m],
      [{ INPUT_SERVER: 'slipway' }, /^::error::The input server must be a URL/m],
      [{ HTTP_PROXY: 'http://127.0.0.1:1' }, /^::error::Cannot reach localhost:\d+: ECONNREFUSED/m],
      [
        { 'INPUT_CLIENT-SHA256': wrong },
        /^::error::The client of http.* has the SHA-256 \w{64}, not that of/m,
      ],
      [{ 'INPUT_FAIL-ON-WARNING': 'yes' }, /^::error::The input fail-on-warning must be true or false/m],
      [
        {},
        /^::error::The site does not trust this job: branch main of ann\/bakery\. To trust it, run on a signed-in machine: slipway trust github ann\/bakery --site \S+ --branch main/m,
      ],
    ] as const) {
      const { code, stdout } = await runJob(site, 'p', { variables })
      assert.equal(code, 1)
      assert.match(stdout, reason)
    }
  })
})

/** The lines that the runner reads as commands. */
function withoutStopped(log: string): string {
  return log.replace(/^::stop-commands::([^\n]+)\n.*?\n::\1::$/gms, '')
}
