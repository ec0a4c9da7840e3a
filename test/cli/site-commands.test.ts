import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startRealCli } from './real-cli.ts'

const FILES = {
  'site/index.html': 'one',
  'site/a.txt': 'a',
  [`site/${'long-folder-name/'.repeat(8)}ü.txt`]: 'deep',
  'site/large.bin': Buffer.alloc(300_000, 'x').toString(),
}

/** An owned site with three versions: one, two and three. */
async function startOwned() {
  const fixture = await startRealCli(FILES)
  const client = await fixture.signIn()
  let slug = ''
  for (const text of ['one', 'two', 'three']) {
    fixture.pass()
    fixture.cli.write({ 'site/index.html': text })
    const { stdout } = await fixture.cli.run(['publish', 'site'])
    slug = new URL(stdout.trim()).hostname.split('.')[0]!
  }
  const live = async () => {
    const chunks: Uint8Array[] = []
    for await (const chunk of (await client.file(slug, 'index.html')).bytes()) chunks.push(chunk)
    return Buffer.concat(chunks).toString()
  }
  return { ...fixture, client, slug, live, json: (stdout: string) => JSON.parse(stdout) }
}

describe('a version of a site', () => {
  it('can be rolled back to, step by step, and restored by the start of its id in any case or from a list', async () => {
    await using fixture = await startOwned()
    const { cli, live } = fixture
    const [newest] = fixture.json((await cli.run(['versions', '--json'])).stdout)
    for (const text of ['two', 'one']) {
      assert.equal((await cli.run(['rollback'])).code, 0)
      assert.equal(await live(), text)
    }
    const { code, stderr } = await cli.run(['rollback'])
    assert.deepEqual([code, /There is no earlier live version/.test(stderr)], [6, true])
    const { code: restored } = await cli.run(['restore', newest.versionId.slice(0, 24).toUpperCase()])
    assert.deepEqual([restored, await live()], [0, 'three'])
    const [, second] = fixture.json((await cli.run(['versions', '--json'])).stdout)
    const picked = await cli.run(['restore', '--json'], { typed: ['1'] })
    assert.equal(fixture.json(picked.stdout).versionId, second.versionId)
    assert.equal(await live(), 'two')
    const several = await cli.run(['restore', newest.versionId.slice(0, 4)])
    assert.deepEqual([several.code, several.stderr.includes(newest.versionId)], [2, true])
    assert.equal((await cli.run(['restore', 'zz'])).code, 2)
  })

  it('can be downloaded, into a folder that is empty or with --force, with every byte verified', async () => {
    await using fixture = await startOwned()
    const { cli, slug } = fixture
    const { code, stdout, stderr } = await cli.run(['pull'])
    assert.deepEqual([code, stdout], [0, `${slug}\n`], stderr)
    const read = (path: string) => readFileSync(join(cli.cwd, path), 'utf8')
    for (const [path, text] of Object.entries(FILES))
      assert.equal(read(path.replace('site/', `${slug}/`)), path === 'site/index.html' ? 'three' : text)
    const again = await cli.run(['pull', slug, '--json'])
    assert.deepEqual([again.code, fixture.json(again.stdout).code], [6, 'REFUSED'])
    const first = fixture.json((await cli.run(['versions', '--json'])).stdout).at(-1)
    await cli.run(['pull', slug, '--force', '--version', first.versionId])
    assert.equal(read(`${slug}/index.html`), 'one')
  })
})

describe('a site', () => {
  it('has settings that change without a publish, and are shown', async () => {
    await using fixture = await startOwned()
    const { cli, client, slug } = fixture
    const env = { SLIPWAY_SITE_PASSWORD: 'secret' }
    const args = ['--title', 'Bakery', '--spa', '--password']
    const { code } = await cli.run(['settings', ...args], { env })
    assert.equal(code, 0)
    const { title, spaMode, hasPassword } = await client.details(slug)
    assert.deepEqual([title, spaMode, hasPassword], ['Bakery', true, true])
    const { stdout } = await cli.run(['settings', '--no-password', '--no-spa'])
    assert.match(stdout, /^Title +Bakery\n(?:.*\n)*Single-page app +Off\nPassword +Off\nExpires +Never$/m)
    assert.equal((await client.versions(slug)).versions.length, 3)
  })

  it('gets its name when it is created, and another one by publish or settings', async () => {
    await using fixture = await startOwned()
    const { cli, client, status } = fixture
    const site = async (...args: string[]) => (await cli.run([...args])).stdout.trim()
    const bakery = await site('publish', 'site', '--new', '--name', 'bakery', '-m', 'First day')
    assert.match(bakery, /^http:\/\/bakery\./)
    assert.equal((await client.versions('bakery')).versions[0]!.message, 'First day')
    assert.match(await site('publish', 'site', '--name', 'bread'), /^http:\/\/bread\./)
    assert.equal(await status(bakery, '/'), 308)
    assert.equal((await cli.run(['settings', '--name', 'cakes', '--title', 'Cakes'])).code, 0)
    const { title, siteUrl } = await client.details('cakes')
    assert.deepEqual([title, await site('open')], ['Cakes', siteUrl])
    const taken = await cli.run(['publish', 'site', '--new', '--name', 'cakes', '--json'])
    assert.deepEqual([taken.code, fixture.json(taken.stdout).code], [6, 'NAME_TAKEN'])
    cli.env.SLIPWAY_KEY = ''
    assert.equal((await cli.run(['publish', 'site', '--new', '--name', 'anyone'])).code, 3)
  })

  it('can be linked to another folder, which updates it from then on', async () => {
    await using fixture = await startOwned()
    const { cli, slug, live } = fixture
    rmSync(join(cli.cwd, '.slipway'), { recursive: true })
    cli.write({ 'other/index.html': 'linked' })
    assert.equal((await cli.run(['link', '--json'], { typed: [] })).code, 1)
    const { code, stdout } = await cli.run(['init', slug, 'other', '--json'])
    assert.deepEqual([code, fixture.json(stdout).folder], [0, 'other'])
    fixture.pass()
    assert.equal((await cli.run(['deploy', '--replace'])).code, 0)
    assert.equal(await live(), 'linked')
    assert.equal((await cli.run(['link', 'no-such-site'])).code, 6)
  })

  it('can be deleted, found in the trash and restored, and deleted permanently from there', async () => {
    await using fixture = await startOwned()
    const { cli, slug, live } = fixture
    const deleted = await cli.run(['delete', '--yes'])
    assert.match(deleted.stderr, new RegExp(`Deleted ${slug}\nRestore it: slipway undelete ${slug}\n`))
    assert.match((await cli.run(['trash'])).stdout, new RegExp(`^NAME .*\n${slug} +`))
    const gone = await cli.run(['versions', '--site', slug])
    assert.deepEqual([gone.code, /slipway undelete/.test(gone.stderr)], [6, true])
    assert.equal((await cli.run(['undelete'])).code, 2)
    assert.match((await cli.run(['undelete', slug])).stdout, new RegExp(`^http://${slug}\\.`))
    assert.equal(await live(), 'three')
    await cli.run(['rm', '--site', slug, '--yes'])
    const final = await cli.run(['delete', '--site', slug, '--permanent'], { typed: [slug] })
    assert.deepEqual([final.code, /permanently deletes/.test(final.stderr)], [0, true])
    assert.deepEqual(fixture.json((await cli.run(['trash', '--json'])).stdout), [])
    assert.equal((await cli.run(['undelete', slug])).code, 6)
  })

  it('can be shared, listed by its collaborators, and no longer shared', async () => {
    await using fixture = await startOwned()
    const { cli, slug } = fixture
    const added = await cli.run(['people', 'add', 'bob@example.test'])
    assert.deepEqual(
      [added.code, added.stderr.includes(`bob@example.test can publish to ${slug}`)],
      [0, true],
    )
    assert.match(
      (await cli.run(['people'])).stdout,
      /^EMAIL .*\nann@example\.test +owner\nbob@example\.test +collaborator /,
    )
    const key = await fixture.service.signIn('bob@example.test')
    const bob = { env: { SLIPWAY_KEY: key } }
    assert.match((await cli.run(['sites'], bob)).stdout, /OWNER +TITLE\n.* ann@example\.test/)
    const refused = await cli.run(['delete', '--site', slug, '--yes', '--json'], bob)
    assert.deepEqual([refused.code, fixture.json(refused.stdout).code], [6, 'OWNER_REQUIRED'])
    assert.equal((await cli.run(['people', 'remove', 'bob@example.test', '--json'])).code, 0)
    assert.equal(fixture.json((await cli.run(['sites', '--json'], bob)).stdout).length, 0)
    assert.match(
      (await cli.run(['people', 'bob@example.test'])).stderr,
      /Did you mean: slipway people add bob@/,
    )
    assert.equal((await cli.run(['people', 'add'])).code, 2)
  })

  it('shows its visits, and its account', async () => {
    await using fixture = await startOwned()
    const { cli } = fixture
    assert.match((await cli.run(['visits'])).stdout, /^No visits in the last 7 days\.\n$/)
    assert.equal(fixture.json((await cli.run(['visits', '--range', '24h', '--json'])).stdout).range, '24h')
    assert.equal((await cli.run(['visits', '--range', '1y'])).code, 2)
    assert.equal((await cli.run(['whoami'])).stdout, 'ann@example.test\n')
    assert.equal((await cli.run(['logs'])).code, 2)
  })

  it('stays as it is when a publish has warnings and --strict', async () => {
    await using fixture = await startOwned()
    const { cli, live } = fixture
    const publish = async (...args: string[]) => {
      fixture.pass()
      return cli.run(['publish', 'site', '--strict', ...args])
    }
    cli.write({ 'site/index.html': 'four', 'site/_redirects': '/a /b 999\n' })
    const refused = await publish('--json')
    assert.deepEqual([refused.code, await live()], [6, 'three'])
    const { code, hint } = fixture.json(refused.stdout)
    assert.equal(code, 'REFUSED')
    assert.match(hint, /^_redirects:1: .*\nDraft: http:/)
    cli.write({ 'site/_redirects': '/a /b 301\n' })
    assert.equal((await publish('--open')).code, 0)
    assert.equal(await live(), 'four')
    cli.write({ 'site/A.TXT': 'other case' })
    assert.equal((await publish()).code, 6)
    cli.env.SLIPWAY_KEY = ''
    const anonymous = await publish('--new', '--json')
    assert.equal(anonymous.code, 6)
    rmSync(join(cli.cwd, 'site/A.TXT'))
    const { stdout } = await publish('--new')
    assert.equal(await fixture.status(stdout.trim(), '/'), 200)
  })
})
