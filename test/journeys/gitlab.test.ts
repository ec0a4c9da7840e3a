import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { promisify } from 'node:util'
import { parseYaml } from '@redocly/openapi-core'
import { GITLAB_TOKENS } from '../recorded/gitlab.ts'
import { getUrl } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { GitLab } from '../tools/gitlab.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { OidcIssuer } from '../tools/oidc-issuer.ts'

interface Job {
  extends: string
  before_script: string[]
  script: string[]
  id_tokens: Record<string, { aud: string }>
}

const TEMPLATE = parseYaml(
  readFileSync(join(import.meta.dirname, '../../action/gitlab.yml'), 'utf8'),
) as Record<string, Job>

it('the GitLab template gives the client the token for its server, and no other variable of the job', async () => {
  await using home = await memoryFolder()
  const program = join(home.path, 'client.mjs')
  writeFileSync(program, "console.log(Object.keys(process.env).sort().join(' '))")
  const env = {
    ...{ PATH: process.env.PATH, HOME: home.path, SLIPWAY_URL: 'https://x.test', SLIPWAY_PROGRAM: program },
    ...{ SLIPWAY_ID_TOKEN: 'token', SLIPWAY_COMMENT_TOKEN: 'secret', DEPLOY_KEY: 'secret' },
  }
  const [, definition] = TEMPLATE['.slipway']!.before_script
  const { stdout } = await promisify(execFile)('sh', ['-c', `${definition}\nslipway`], { env })
  assert.equal(stdout, 'CI HOME PATH SLIPWAY_ID_TOKEN SLIPWAY_URL\n')
})

it('the GitLab template publishes the default branch, and a preview of each merge request with one comment', async () => {
  await using stack = new AsyncDisposableStack()
  const issuer = stack.use(await OidcIssuer.start())
  const gitlab = stack.use(await GitLab.start())
  const service = stack.use(await startTestService({ OIDC_ISSUERS: `gitlab=${issuer.url}` }))
  const { path: home } = stack.use(await memoryFolder())
  const client = service.client(await service.signIn('ann@example.test'))
  const { slug: site } = await client.publishContents({ files: [{ path: 'index.html', content: 'live' }] })
  await client.createTrust({
    ...{ forge: 'gitlab', repository: 'ann/bakery', site, branch: 'main', pullRequests: true },
  })
  mkdirSync(join(home, 'dist'))
  /** Runs a job as a runner does: the lines of its scripts in one shell, with the tokens that it asks for. */
  const run = async (name: string, page: string, path: string, changed: object = {}) => {
    service.clock.now++
    writeFileSync(join(home, 'dist/index.html'), page)
    const job = { ...TEMPLATE[TEMPLATE[name]!.extends]!, ...TEMPLATE[name]! }
    const claims = {
      ...GITLAB_TOKENS.push.claims,
      project_path: 'ann/bakery',
      project_id: '42',
      ref_path: path,
    }
    const variables = { SLIPWAY_URL: service.baseUrl, SLIPWAY_SITE: site, SLIPWAY_FOLDER: 'dist' }
    const audience = job.id_tokens.SLIPWAY_ID_TOKEN!.aud.replace('$SLIPWAY_URL', variables.SLIPWAY_URL)
    const issuedAt = Math.floor(service.clock.now / 1000)
    const env = {
      ...{ PATH: process.env.PATH, HOME: home, TMPDIR: home, CI: 'true', GITLAB_CI: 'true' },
      ...{ ...variables, CI_MERGE_REQUEST_IID: '42', CI_PROJECT_ID: '42', CI_API_V4_URL: gitlab.url },
      SLIPWAY_COMMENT_TOKEN: 'project token',
      SLIPWAY_ID_TOKEN: await issuer.sign(claims, { issuedAt, audience }),
      ...changed,
    }
    const script = ['set -e', ...job.before_script, ...job.script].join('\n')
    return promisify(execFile)('sh', ['-c', script], { cwd: home, env })
  }
  const jobNode = parseInt(execFileSync('node', ['-p', 'process.versions.node'], { encoding: 'utf8' }), 10)
  const { siteUrl } = await client.details(site)
  assert.equal((await run('slipway', 'from main', 'refs/heads/main')).stdout, `${siteUrl}\n`)
  assert.equal((await getUrl(siteUrl)).text, 'from main')
  for (const [changed, reason] of [
    [{ SLIPWAY_URL: `${service.baseUrl}/` }, /^Error: SLIPWAY_URL must not end with a slash: /m],
    [{ SLIPWAY_URL: 'http://slipway.example' }, /^Error: SLIPWAY_URL must begin with https:\/\/, /m],
    // Older ones know no proxies (docs/ci.md).
    ...(jobNode >= 24
      ? ([[{ HTTP_PROXY: 'http://127.0.0.1:1' }, /^Error: Cannot download \S+: ECONNREFUSED$/m]] as const)
      : []),
    [
      { SLIPWAY_CLIENT_SHA256: 'a' },
      /^Error: The client of \S+ has the SHA-256 \w{64}, not SLIPWAY_CLIENT_SHA256$/m,
    ],
  ] as const)
    await assert.rejects(run('slipway', 'x', 'refs/heads/main', changed), ({ stderr }) => reason.test(stderr))
  assert.equal((await getUrl(siteUrl)).text, 'from main')
  const merge = 'refs/merge-requests/42/head'
  const marker = `<!-- slipway ${site} -->`
  // Of people, one of whom imitates the comment.
  for (let id = 1; id <= 120; id++) gitlab.notes.push({ id, body: marker, author: { id: 8 } })
  gitlab.refuses = true
  const { stderr } = await run('slipway_preview', '1', merge)
  assert.match(stderr, /^Warning: The comment .* was not written: GET \/user returned 403$/m)
  gitlab.refuses = false
  await run('slipway_preview', '2', merge)
  const [preview] = (await client.previews(site)).previews
  assert.deepEqual([preview?.name, (await getUrl(preview!.url)).text], ['mr-42', '2'])
  assert.equal(readFileSync(join(home, 'slipway.env'), 'utf8'), `PREVIEW_URL=${preview!.url}\n`)
  const written = () => gitlab.notes.slice(120).map(({ body }) => body)
  assert.deepEqual(written(), [`${marker}\nPreview of ${site} - ${preview!.url}`])
  // The merge request may be closed again, or before a job has published its preview.
  for (let ending = 1; ending <= 2; ending++) await run('slipway_preview_end', '', merge)
  assert.deepEqual(written(), [`${marker}\nThe preview of ${site} was deleted.`])
  assert.deepEqual((await client.previews(site)).previews, [])
  assert.equal((await getUrl(siteUrl)).text, 'from main')
  const evil = String.raw`http://x.test/\nNODE_OPTIONS=--import=evil`
  const functions = `slipway() { printf '%s\\n' '${evil}'; }; comment() { :; }`
  const lines = [functions, ...TEMPLATE.slipway_preview!.script].join('\n')
  await promisify(execFile)('sh', ['-c', lines], { cwd: home })
  const env = readFileSync(join(home, 'slipway.env'), 'utf8')
  assert.equal(env, `PREVIEW_URL=${evil}\n`, 'a server adds no variable for later jobs')
})
