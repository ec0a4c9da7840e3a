import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { COMMANDS } from '../../client/cli/command-line.ts'
import { readSettings } from '../../client/cli/settings.ts'
import { pluck } from '../support/pluck.ts'
import { type RealCli, slugOf, useRealService } from './real-cli.ts'

const DOCS = readFileSync(join(import.meta.dirname, '../../docs/command.md'), 'utf8')
const [RESULTS = ''] = /^\| command \| JSON result \|\n(?:\|.*\n)+/m.exec(DOCS) ?? []

/** Commands that wait for a sign-in, or speak a protocol on stdout. */
const WITHOUT_RESULT = ['login', 'mcp']

describe('the command in a script', () => {
  const start = useRealService()
  let fixture: RealCli
  let slug: string
  before(async () => {
    fixture = start({ 'site/index.html': 'one', 'site/a.txt': 'a', 'site/.env': 'secret' })
    await fixture.cli.run(['publish', 'site'])
    await fixture.signIn()
  })
  after(() => fixture[Symbol.dispose]())

  describe('prints one JSON object on stdout with --json', () => {
    // In this order: each uses what the ones before have left.
    const lines: [command: string, field: string][] = [
      ['claim', 'siteUrl'],
      ['publish site', 'versionId'],
      ['settings', 'slug'],
      ['open', 'opened'],
      ['sites', 'sites'],
      ['link SLUG site', 'folder'],
      ['diff', 'changed'],
      ['publish site --dry-run', 'upload'],
      ['versions', 'versions'],
      ['publish site --preview pr-1', 'preview'],
      ['previews', 'previews'],
      ['feedback --preview pr-1', 'threads'],
      ['promote pr-1', 'currentVersionId'],
      ['rollback', 'currentVersionId'],
      ['restore VERSION', 'versionId'],
      ['pull copy', 'files'],
      ['visits', 'totals'],
      ['domains', 'domains'],
      ['people', 'collaborators'],
      ['keys', 'keys'],
      ['trust', 'trusts'],
      ['trash', 'sites'],
      ['delete --yes', 'deleted'],
      ['undelete SLUG', 'siteUrl'],
      ['whoami', 'email'],
      ['completion bash', 'script'],
      ['help', 'commands'],
      ['help publish', 'commands'],
      ['logout', 'signedOut'],
      ['version', 'version'],
    ]
    for (const [line, field] of lines) {
      it(line, async () => {
        const { cli } = fixture
        fixture.pass()
        if (line.startsWith('diff') || line.includes('--preview')) cli.write({ 'site/index.html': line })
        const versions = line.includes('VERSION')
          ? JSON.parse((await cli.run(['versions', '--json'])).stdout).versions
          : []
        const args = line
          .replace('SLUG', slug)
          .replace('VERSION', versions.find(({ current }: { current: boolean }) => !current)?.versionId)
          .split(' ')
        const { code, stdout, stderr } = await cli.run([...args, '--json'])
        assert.equal(code, 0, stderr)
        const result = JSON.parse(stdout)
        assert.ok(field in result, stdout)
        if (result.siteUrl !== undefined) slug = slugOf(result.siteUrl)
      })
    }

    it('every command that has a result, as docs/command.md describes', () => {
      const names = new Set(lines.map(([line]) => line.split(' ')[0]!))
      for (const name of Object.keys(COMMANDS)) {
        assert.equal(names.has(name), !WITHOUT_RESULT.includes(name), name)
        assert.ok(name === 'mcp' || RESULTS.includes(`\`${name}\``), name)
      }
    })
  })

  it('SLIPWAY_SITE names the site, unless --site or --new is given', async () => {
    using own = start({ 'site/index.html': 'x' })
    await own.signIn()
    const first = slugOf((await own.cli.run(['publish', 'site'])).stdout)
    const second = slugOf((await own.cli.run(['publish', 'site', '--new'])).stdout)
    own.cli.env.SLIPWAY_SITE = first
    const slugAfter = async (...args: string[]) =>
      slugOf((await own.cli.run(['publish', 'site', ...args])).stdout)
    assert.equal(await slugAfter(), first)
    assert.equal(await slugAfter('--site', second), second)
    assert.ok(![first, second].includes(await slugAfter('--new')))
    assert.equal(JSON.parse((await own.cli.run(['settings', '--json'])).stdout).slug, first)
  })

  it('SLIPWAY_KEY and SLIPWAY_SITE_PASSWORD may end with the line break of a file, and a key with others is refused', async () => {
    using own = start({ 'site/index.html': 'x' })
    const client = await own.signIn()
    const key = own.cli.env.SLIPWAY_KEY!
    for (const [end, code] of [
      ['\r\n', 0],
      [`\n${key}`, 3],
      ['é', 3],
    ] as const) {
      own.cli.env.SLIPWAY_KEY = key + end
      const run = await own.cli.run(['publish', 'site'])
      assert.equal(run.code, code, run.stderr)
      if (code !== 0) assert.match(run.stderr, /SLIPWAY_KEY has characters that no API key has/)
    }
    own.cli.env.SLIPWAY_KEY = ' \n'
    assert.match((await own.cli.run(['publish', 'site', '--new'])).stderr, /SLIPWAY_KEY is empty/)
    assert.deepEqual(own.cli.pauses, [])
    assert.equal((await Array.fromAsync(client.sites())).length, 1)
    for (const password of ['sourdough', 'sourdough\n', 'sourdough\r', 'sourdough\r\n'])
      assert.equal(readSettings({ SLIPWAY_SITE_PASSWORD: password }).sitePassword, 'sourdough')
  })

  it('an empty SLIPWAY_SITE means no site, unless --site or --new is given', async () => {
    using own = start({ 'site/index.html': 'x' })
    const client = await own.signIn()
    const slug = slugOf((await own.cli.run(['publish', 'site'])).stdout)
    own.cli.env.SLIPWAY_SITE = ''
    for (const args of [['publish', 'site'], ['delete', '--yes'], ['rollback']]) {
      const { code, stderr } = await own.cli.run(args)
      assert.equal(code, 2, stderr)
      assert.match(stderr, /SLIPWAY_SITE is empty.*\n.*unset SLIPWAY_SITE\n/)
    }
    assert.equal((await Array.fromAsync(client.sites())).length, 1)
    for (const args of [['publish', 'site', '--site', slug], ['publish', 'site', '--new'], ['sites']])
      assert.equal((await own.cli.run(args)).code, 0)
  })

  it('publish --dry-run says what would be uploaded, removed and left out, and why', async () => {
    using own = start({
      'site/index.html': 'x',
      'site/old.txt': 'o',
      'site/moved.txt': 'm',
      'site/.env': 's',
      'site/empty': '',
    })
    const client = await own.signIn()
    const slug = slugOf((await own.cli.run(['publish', 'site'])).stdout)
    own.cli.write({
      'site/index.html': 'changed',
      'other/index.html': 'new',
      'other/b.txt': 'm',
      'other/b/empty': '',
      'other/k.pem': 'k',
    })
    const { code, stdout, stderr } = await own.cli.run([
      'publish',
      'other',
      '--site',
      slug,
      '--dry-run',
      '--json',
    ])
    assert.equal(code, 0, stderr)
    const { upload, added, changed, removed, skipped } = JSON.parse(stdout)
    assert.deepEqual(upload, [{ path: 'index.html', size: 3 }])
    assert.deepEqual(
      [added, changed, removed],
      [['b.txt', 'b/empty'], ['index.html'], ['moved.txt', 'old.txt', 'empty']],
    )
    assert.deepEqual(skipped, [{ path: 'k.pem', reason: 'secret' }])
    assert.match(stderr, /Skipped 1 file: k\.pem \(secret\)\n[\s\S]*1 file \(3 bytes\) would be uploaded/)
    const { versions } = await client.versions(slug)
    assert.deepEqual(pluck(versions, 'publishedClient'), ['slipway-cli/1.2.3'])
    const { stdout: differences } = await own.cli.run(['diff', 'other', '--site', slug])
    assert.equal(differences, 'A b.txt\nA b/empty\nM index.html\nD moved.txt\nD old.txt\nD empty\n')
  })
})
