import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Api } from '../api/api.ts'
import { makeSecret } from '../api/planted-secrets.ts'
import { Agent } from './agent.ts'

const PROGRAM = join(import.meta.dirname, '../../client/bin/slipway.js')

describe('slipway mcp', () => {
  let api: Api
  let home: string
  before(async () => {
    api = await Api.start()
    home = await mkdtemp(join(tmpdir(), 'slipway-mcp-'))
  })
  after(async () => {
    await api[Symbol.asyncDispose]()
    await rm(home, { recursive: true, force: true })
  })

  const environment = (key?: string, url = api.baseUrl) => ({
    PATH: process.env.PATH!,
    HOME: home,
    SLIPWAY_URL: url,
    ...(key === undefined ? {} : { SLIPWAY_KEY: key }),
  })
  const start = (key?: string, mode?: 'auto' | 'legacy', url?: string) =>
    Agent.over(
      new StdioClientTransport({
        command: process.execPath,
        args: [PROGRAM, 'mcp'],
        cwd: home,
        env: environment(key, url),
      }),
      mode,
    )
  const writeSite = async (name: string, files: Record<string, string>) => {
    await mkdir(join(home, name), { recursive: true })
    for (const [path, content] of Object.entries(files)) await writeFile(join(home, name, path), content)
    return join(home, name)
  }

  for (const mode of ['auto', 'legacy'] as const) {
    test(`publishes a folder of the machine, then its changes, to a client of mode ${mode}`, async () => {
      const { key } = await api.account()
      await using agent = await start(key, mode)
      const maps = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`${at}.map`, '{}']))
      const site = { 'index.html': '<h1>One</h1>', 'a.txt': 'a', '.slipwayignore': '*.map' }
      const path = await writeSite(mode, { ...site, ...maps })
      api.pass()
      const published = await agent.call('publish_folder', { path, title: 'Title' })
      const { slug, siteUrl, skipped, skippedCount } = published
      assert.deepEqual([skipped.length, skippedCount], [50, 61])
      assert.match((await api.visit(siteUrl)).text, /<title>Title<\/title>/)
      await writeSite(mode, { 'a.txt': 'b' })
      api.pass()
      assert.equal((await agent.call('publish_folder', { path })).slug, slug)
      assert.equal((await api.visit(siteUrl, '/a.txt')).text, 'b')
      const { versions } = await agent.call('list_versions', { slug })
      await agent.call('restore_version', { slug, versionId: versions[1].versionId })
      assert.equal((await api.visit(siteUrl, '/a.txt')).text, 'a')
    })
  }

  test('publishes a folder as a preview of a site, and a secret only when it is allowed', async () => {
    const { key } = await api.account()
    await using agent = await start(key)
    const path = await writeSite('previewed', { 'index.html': 'live' })
    const { slug, siteUrl } = await agent.call('publish_folder', { path })
    await writeSite('previewed', { 'index.html': 'next', 'a.js': `x = '${makeSecret()}'` })
    api.pass()
    const next = { path, slug, preview: 'next' }
    const refusal = await agent.refusal('publish_folder', next)
    assert.match(refusal, /^SECRET_DETECTED: .*a\.js:1/)
    const allowSecrets = `${'0'.repeat(20)},${/\b[0-9a-f]{20}\b/.exec(refusal)![0]}`
    await agent.call('publish_folder', { ...next, allowSecrets })
    const { previews } = await agent.call('list_previews', { slug: siteUrl })
    assert.equal((await api.visit(previews[0].url)).text, 'next')
    assert.equal((await api.visit(siteUrl)).text, 'live')
  })

  test('publishes without an account, says how to sign in where one is needed, and refuses other folders', async () => {
    await using agent = await start()
    const path = await writeSite('anonymous', { 'index.html': '<h1>One</h1>' })
    const { claimUrl } = await agent.call('publish_folder', { path })
    assert.match(claimUrl, /\/claim\?slug=/)
    assert.match(await agent.refusal('list_sites'), /^UNAUTHORIZED: .*\n.*slipway login/)
    const secrets = ['.aws/cli/cache', '.ssh/.slipway', '.git/logs', '.SSH']
    for (const folder of secrets) await writeSite(folder, { 'index.html': 'private' })
    await symlink(join(home, '.aws/cli'), join(home, '.aws/linked'))
    const isPrivate = ['.aws/cli/cache', '.ssh', '.git/logs', '.SSH', '.aws/linked'].map(
      (folder): [object, RegExp] => [{ path: join(home, folder) }, /^REFUSED: Refusing to publish/],
    )
    execFileSync('mkfifo', [join(home, 'pipe.html')])
    // The variables of a process, among them keys; and what may have no end.
    const system = existsSync('/proc/self/environ') ? ['/proc/self/environ', '/proc/self'] : []
    const isSystem = [...system, '/dev/null', join(home, 'pipe.html')].map((path): [object, RegExp] => [
      { path },
      /^REFUSED: Refusing to publish/,
    ])
    const refused: [args: object, refusal: RegExp][] = [
      ...isPrivate,
      ...isSystem,
      [{ path: home }, /^REFUSED: Refusing to publish/],
      [{ path: join(home, 'nothing') }, /^USAGE: Folder not found/],
      [{}, /^USAGE: path must be/],
      [{ path: home, mode: 'all' }, /^USAGE: mode must be/],
      [{ path: home, site: 'a' }, /^USAGE: site is not an argument of publish_folder, which has path, slug/],
      [{ path: home, slug: 'https://a.example.com/' }, /^USAGE: slug must be the first label/],
      [{ path: home, slug: '' }, /^USAGE: slug must not be empty/],
      [{ path: home, slug: 7 }, /^USAGE: slug must be a string/],
    ]
    for (const [args, refusal] of refused) assert.match(await agent.refusal('publish_folder', args), refusal)
  })

  test('publishes nothing without an account when SLIPWAY_KEY is empty, as from a secret that is not set', async () => {
    await using agent = await start('')
    const path = await writeSite('empty-key', { 'index.html': 'private' })
    const contents = { files: [{ path: 'index.html', content: 'private' }] }
    for (const [tool, args] of [
      ['publish_folder', { path }],
      ['publish_site', contents],
    ] as const)
      assert.match(await agent.refusal(tool, args), /SLIPWAY_KEY is empty/)
  })

  test('does not tell a signed-in user to sign in when the account has reached its limit', async () => {
    await using limited = await Api.start({ RATE_FREE: '1' })
    const { key, client } = await limited.account()
    await using agent = await start(key, 'auto', limited.baseUrl)
    const path = await writeSite('limited', { 'index.html': '1' })
    await client.list()
    const refusal = await agent.refusal('publish_folder', { path })
    assert.match(refusal, /^RATE_LIMITED: /)
    assert.doesNotMatch(refusal, /login/)
  })

  test('answers what is no message with an error, and ends with its input', async () => {
    const { stdout, status } = spawnSync(
      process.execPath,
      [PROGRAM, 'mcp', '--server', 'http://127.0.0.1:1'],
      {
        cwd: home,
        env: environment(),
        input:
          'no JSON\nnull\n[]\n7\r\n{"jsonrpc":"2.0","id":"\u2028\u2029😀","method":"ping"}\n{"jsonrpc":"2.0","method":"notifications/x"}\n[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},7]',
        encoding: 'utf8',
      },
    )
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const errors = answers.map((answer) =>
      [answer]
        .flat()
        .map(({ id, error }) => `${id} ${error.code}`)
        .join(),
    )
    const refused = ['null -32700', 'null -32600', 'null -32600', 'null -32600']
    assert.deepEqual(errors.sort(), [...refused, '\u2028\u2029😀 -32000', '2 -32000,null -32600'].sort())
    assert.equal(status, 0)
    await mkdir(join(home, '.config/slipway'), { recursive: true })
    const config = join(home, '.config/slipway/config.json')
    await writeFile(config, 'broken', { mode: 0o600 })
    const broken = spawnSync(process.execPath, [PROGRAM, 'mcp', '--server', 'http://127.0.0.1:1'], {
      cwd: home,
      env: environment(),
      input: '{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
      encoding: 'utf8',
    })
    await rm(config)
    assert.match(JSON.parse(broken.stdout).error.message, /config\.json/, broken.stderr)
    await assert.rejects(readFile(join(home, '.slipway')))
  })
})
