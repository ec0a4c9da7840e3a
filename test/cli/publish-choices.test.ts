import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { toFiles } from '../api/content.ts'
import { makeSecret } from '../api/planted-secrets.ts'
import { slugOf, useRealService } from './real-cli.ts'

const PROJECT = { 'package.json': '{}', 'src/main.js': 'x', 'dist/index.html': 'built' }
const SITE = { 'site/index.html': 'home', 'site/a.txt': 'a', 'site/b.txt': 'b', 'site/c.txt': 'c' }
const ALL = ['a.txt', 'b.txt', 'c.txt', 'index.html']

/** A choice: arguments after `publish`, typed lines at a terminal, and the exit code. */
type Choice = [name: string, args: string[], typed: string[] | undefined, code: number]

describe('publish', () => {
  const start = useRealService()

  describe('without a folder', () => {
    it('ends with exit code 2 in a project with a built site', async () => {
      using fixture = start(PROJECT)
      for (const args of [['publish'], ['publish', '--dry-run']]) {
        const { code, stdout, stderr } = await fixture.cli.run(args)
        assert.deepEqual([code, stdout], [2, ''])
        assert.match(stderr, /Its built site is in dist\n/)
        assert.match(stderr, /slipway publish dist\n[\s\S]*slipway publish \.\n/)
      }
    })

    const choices: [...Choice, path: string][] = [
      ['publishes a project with a dot', ['.'], undefined, 0, '/src/main.js'],
      ['publishes the built site after 1', [], ['1'], 0, '/index.html'],
      ['publishes the project after 2', [], ['2'], 0, '/src/main.js'],
      ['publishes nothing after 3', [], ['3'], 6, ''],
    ]
    for (const [name, args, typed, code, path] of choices) {
      it(name, async () => {
        using fixture = start(PROJECT)
        const run = await fixture.cli.run(['publish', ...args], { ...(typed && { typed }) })
        assert.equal(run.code, code, run.stderr)
        assert.equal(run.stdout !== '', code === 0)
        if (code === 0) assert.equal(await fixture.status(run.stdout, path), 200)
      })
    }

    it('publishes the folder that was published last, to the same server', async () => {
      using fixture = start(PROJECT)
      const { cli } = fixture
      const first = await cli.run(['publish', 'dist'])
      cli.write({ 'dist/more.html': 'more' })
      cli.env = {}
      const second = await cli.run(['publish'])
      assert.deepEqual([second.code, second.stdout], [0, first.stdout])
      assert.match(second.stderr, /^Using dist, like last time\.$/m)
    })

    it('does not publish this folder as a site of an unknown name when another one was published from here', async () => {
      using fixture = start({ 'site/index.html': 'x', 'notes.txt': 'private' })
      const client = await fixture.signIn()
      const { stdout } = await fixture.cli.run(['publish', 'site'])
      const { slug } = await client.renameSite(slugOf(stdout), 'renamed-elsewhere')
      const { code, stderr } = await fixture.cli.run(['publish', '--site', slug])
      assert.equal(code, 2)
      assert.match(stderr, /Name the folder as well, such as site, or \. for this one\n/)
      assert.equal((await fixture.cli.run(['publish', 'site', '--site', slug])).code, 0)
    })

    const questions: [...Choice, asked: boolean][] = [
      ['publishes a folder without index.html after a yes, which it asks for once', [], ['y'], 0, true],
      ['publishes nothing after a no', [], ['n'], 6, true],
      ['publishes it in a script', [], undefined, 0, false],
      ['publishes it when it is named', ['.'], [], 0, false],
      ['asks nothing when nothing would be published', ['--dry-run'], [], 0, false],
    ]
    for (const [name, args, typed, code, asked] of questions) {
      it(name, async () => {
        using fixture = start({ 'work/index.html': 'x', 'notes.txt': 'y' })
        const run = await fixture.cli.run(['publish', ...args], { ...(typed && { typed }) })
        assert.equal(run.code, code, run.stderr)
        assert.equal(run.stderr.includes('Publish this folder (2 files, no index.html)? [Y/n]'), asked)
        if (asked && code === 0) assert.equal((await fixture.cli.run(['publish'], { typed: [] })).code, 0)
      })
    }

    it('publishes this folder when it is no project, or has no built site', async () => {
      using page = start({ 'index.html': 'x', 'dist/index.html': 'y' })
      using unbuilt = start({ 'package.json': '{}', 'a.html': 'x' })
      for (const { cli } of [page, unbuilt]) assert.equal((await cli.run(['publish'])).code, 0)
    })
  })

  const choices: [...Choice, isOwned: boolean][] = [
    ['makes it a site of the account', [], undefined, 0, true],
    ['makes it a site of the account after a yes on a terminal', [], [''], 0, true],
    ['leaves it without an owner after a no', [], ['n'], 0, false],
  ]
  for (const [name, , typed, code, isOwned] of choices) {
    it(`of a site that was published before the user signed in ${name}`, async () => {
      using fixture = start({ 'site/index.html': 'x' })
      const { cli } = fixture
      const { stdout: address } = await cli.run(['publish', 'site'])
      const client = await fixture.signIn()
      cli.write({ 'site/index.html': 'y' })
      fixture.pass()
      const run = await cli.run(['publish', 'site'], { ...(typed && { typed }) })
      assert.deepEqual([run.code, run.stdout], [code, address])
      assert.equal(/http:\S+ is now yours and won't expire\.$/m.test(run.stderr), isOwned)
      assert.equal(/^Expires: in /m.test(run.stderr), !isOwned)
      const sites = await Array.fromAsync(client.sites())
      const isListed = sites.some(({ slug }) => slug === slugOf(address))
      assert.equal(isListed, isOwned)
      cli.write({ 'site/index.html': 'z' })
      if (isOwned) assert.equal((await cli.run(['publish', 'site'])).stdout, address)
    })
  }

  describe('of an update that removes most of a site', () => {
    /** A published site of four files, of which the folder has lost all but these, and has a new one. */
    async function startShrunken(kept = ['site/a.txt']) {
      const fixture = start(SITE)
      const client = await fixture.signIn()
      const { stdout } = await fixture.cli.run(['publish', 'site'])
      for (const path of Object.keys(SITE)) {
        if (!kept.includes(path)) rmSync(join(fixture.cli.cwd, path))
      }
      fixture.cli.write({ 'site/new.txt': 'new' })
      fixture.pass()
      const paths = async () => (await client.details(slugOf(stdout))).files.map(({ path }) => path).sort()
      return { ...fixture, client, slug: slugOf(stdout), paths }
    }

    it('leaves nothing that counts against the quota of a job', async () => {
      using fixture = await startShrunken()
      const { cli, client, slug } = fixture
      const { apiKey: SLIPWAY_KEY } = await client.createKey({ name: 'ci', scope: 'publish', sites: [slug] })
      const env = { SLIPWAY_KEY }
      const heldBytes = async () => (await client.me()).usage.heldBytes
      const before = await heldBytes()
      assert.equal((await cli.run(['publish', 'site', '--site', slug], { env })).code, 2)
      assert.equal(await heldBytes(), before)
    })

    it('ends with exit code 2 without a terminal, and names the options', async () => {
      using fixture = await startShrunken()
      const { code, stdout, stderr } = await fixture.cli.run(['publish', 'site'])
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /This update removes 3 of the 4 files of http:\S+, including index\.html\n/)
      assert.match(stderr, /--merge[\s\S]*--replace/)
      assert.deepEqual(await fixture.paths(), ALL)
      const again = await fixture.cli.run(['publish', 'site', '--json'])
      const { code: name } = JSON.parse(again.stdout)
      assert.deepEqual([again.code, name], [2, 'USAGE'], 'the resumed version is checked as well')
    })

    const choices: [...Choice, paths: string[]][] = [
      ['replaces everything with --replace', ['--replace'], undefined, 0, ['a.txt', 'new.txt']],
      ['adds the files with --merge', ['--merge'], undefined, 0, [...ALL, 'new.txt']],
      ['adds the files after 1', [], ['1'], 0, [...ALL, 'new.txt']],
      ['replaces everything after 2', [], ['x', '', '2'], 0, ['a.txt', 'new.txt']],
      ['publishes nothing after 3', [], ['3'], 6, ALL],
      ['publishes nothing at the end of input', [], [], 1, ALL],
      ['asks nothing about a draft', ['--draft'], undefined, 0, ALL],
    ]
    for (const [name, args, typed, expected, paths] of choices) {
      it(name, async () => {
        using fixture = await startShrunken()
        const run = await fixture.cli.run(['publish', 'site', ...args], { ...(typed && { typed }) })
        assert.equal(run.code, expected, run.stderr)
        assert.deepEqual(await fixture.paths(), paths)
        if (typed) assert.match(run.stderr, /Replace all 4 files with 2\?\n {2}1 {2}Add to the site\n/)
      })
    }

    it('leaves the folder the site that it was, when the site was named', async () => {
      using fixture = await startShrunken()
      const { cli, client, slug } = fixture
      const other = await client.publish({ files: toFiles({ 'index.html': 'x', b: 'y', c: 'z' }) })
      const args = ['publish', 'site', '--site', other.slug]
      assert.equal((await cli.run(args)).code, 2)
      assert.equal((await cli.run(args, { typed: ['3'] })).code, 6)
      const again = await cli.run(['publish', 'site', '--replace'])
      assert.deepEqual([again.code, slugOf(again.stdout)], [0, slug])
    })

    it('counts less than half of the files as few, also with index.html', async () => {
      using fixture = await startShrunken(['site/index.html'])
      assert.equal((await fixture.cli.run(['publish', 'site'])).code, 2)
      fixture.cli.write({ 'site/a.txt': 'a' })
      assert.equal((await fixture.cli.run(['publish', 'site'])).code, 0)
    })
  })

  it('--merge needs a site, and no --replace or --new, and counts what it adds and changes', async () => {
    using fixture = start({ 'site/index.html': 'home', 'site/a.txt': 'a' })
    const publish = (...args: string[]) => fixture.cli.run(['publish', 'site', ...args])
    for (const args of [['--merge'], ['--merge', '--replace']]) assert.equal((await publish(...args)).code, 2)
    await publish()
    assert.equal((await publish('--merge', '--new')).code, 2)
    rmSync(join(fixture.cli.cwd, 'site/index.html'))
    assert.match((await publish('--merge')).stderr, /No changes/)
    fixture.cli.write({ 'site/b.txt': 'b' })
    assert.match(
      (await publish('--merge')).stderr,
      /✓ Merged 2 files \(2 bytes\): 1 added, 1 unchanged, in 0/,
    )
    fixture.cli.write({ 'site/a.txt': 'b', 'site/c.txt': 'a', 'site/d.txt': 'd' })
    assert.match((await publish('--merge')).stderr, /: 2 added, 1 changed, 1 unchanged, in 0/)
  })

  it('--site with --create creates a site again whose server was set up again, from a folder that knows it', async () => {
    using fixture = start({ 'site/index.html': 'home' })
    const { cli } = fixture
    await fixture.signIn()
    const server = cli.env.SLIPWAY_URL!
    cli.siteMemory.remember(join(cli.cwd, 'site'), { server, slug: 'old-bakery', liveVersionId: 'of-before' })
    const { code, stdout, stderr } = await cli.run(['publish', 'site', '--site', 'old-bakery', '--create'])
    assert.equal(code, 0, stderr)
    assert.equal(slugOf(stdout), 'old-bakery')
    assert.equal(await fixture.status(stdout, '/index.html'), 200)
    cli.write({ 'site/index.html': 'changed' })
    assert.equal((await cli.run(['publish', 'site'])).code, 0)
  })

  it('--site with --create creates the site of this name and then updates it, from any folder', async () => {
    using fixture = start({ 'site/index.html': 'home' })
    const { cli } = fixture
    const publish = (...args: string[]) => cli.run(['publish', 'site', ...args])
    const byName = ['--site', 'corner-bakery', '--create']
    assert.match((await publish(...byName)).stderr, /Choosing a name needs an account\n.*slipway login/)
    for (const [impossible, similar] of [
      ['Bad Name', 'bad-name'],
      ['http://bakery.sites.test:8080/', 'bakery'],
      ['bakery.sites.test', 'bakery'],
    ]) {
      const { code, stderr } = await publish('--site', impossible!)
      assert.equal(code, 2)
      const [what, , meant] = stderr.split('\n')
      assert.equal(what, `Error: "${impossible}" is not the name of a site`)
      assert.equal(meant, `  Did you mean: --site ${similar}`)
    }
    const client = await fixture.signIn()
    for (const args of [['--create'], [...byName, '--new'], [...byName, '--name', 'x']])
      assert.equal((await publish(...args)).code, 2, args.join(' '))
    assert.match((await publish(...byName, '--dry-run')).stderr, /1 file \(4 bytes\) would be published/)
    const { stdout } = await publish(...byName)
    assert.equal(slugOf(stdout), 'corner-bakery')
    cli.write({ 'site/index.html': 'fresh checkout', 'other/index.html': 'other folder' })
    rmSync(join(cli.cwd, '.slipway'), { recursive: true })
    const outcomes = [
      await publish(...byName),
      await publish(),
      await cli.run(['publish', 'other', ...byName]),
    ]
    for (const { code, stdout: address, stderr } of outcomes)
      assert.deepEqual([code, address], [0, stdout], stderr)
    assert.match(outcomes[1]!.stderr, /No changes/)
    assert.equal((await client.versions('corner-bakery')).versions.length, 3)
    await fixture.signIn()
    const { code, stderr } = await publish(...byName)
    assert.deepEqual([code, /'corner-bakery' is taken\n.*--site/.test(stderr)], [6, true], stderr)
  })

  it('names the place of a secret, and publishes what --allow-secret accepts, without uploading again', async () => {
    const made = Array.from({ length: 2 }, () => makeSecret('Slipway key'))
    using fixture = start({ 'site/index.html': 'x', 'site/app.js': `\na("${made[0]}")\nb("${made[1]}")` })
    const publish = (...args: string[]) => fixture.cli.run(['publish', 'site', ...args])
    const { code, stdout, stderr } = await publish()
    assert.deepEqual([code, stdout], [6, ''], stderr)
    const found = [
      ...stderr.matchAll(/^ {2}app\.js:(\d): Slipway key sl_live_… \(fingerprint ([0-9a-f]{20})\)$/gm),
    ]
    assert.deepEqual(
      found.map(([, line]) => line),
      ['2', '3'],
    )
    const [first, second] = found.map(([, , fingerprint]) => fingerprint!)
    assert.match(stderr, new RegExp(`If one may be public, add: --allow-secret ${first}`))
    assert.equal((await publish('--allow-secret', first!)).code, 6)
    const accepted = await publish('--allow-secret', first!, '--allow-secret', second!)
    assert.equal(accepted.code, 0, accepted.stderr)
    assert.match(accepted.stderr, /Resuming/)
    fixture.cli.write({ 'site/other.js': made.join(' ') })
    assert.equal((await publish()).code, 0)
  })

  it('says that the password of a site was set when the update fails after that', async () => {
    using fixture = start({ 'site/index.html': 'x' })
    const client = await fixture.signIn()
    const publish = (...args: string[]) =>
      fixture.cli.run(['publish', 'site', '--password', ...args], {
        env: { SLIPWAY_SITE_PASSWORD: 'sourdough' },
      })
    const slug = slugOf((await fixture.cli.run(['publish', 'site'])).stdout)
    fixture.cli.write({ 'site/app.js': `a("${makeSecret('Slipway key')}")` })
    const refused = await publish()
    assert.equal(refused.code, 6)
    assert.match(refused.stderr, /The password was set: visitors need it from now on\.\n/)
    assert.equal((await client.details(slug)).hasPassword, true)
    assert.doesNotMatch((await publish('--new')).stderr, /The password was set/)
  })

  it('without a change creates no version and exits with 0, but creates one for a new title', async () => {
    using fixture = start({ 'site/index.html': 'x', 'site/style.css': 'y' })
    const { cli } = fixture
    const client = await fixture.signIn()
    const first = await cli.run(['publish', 'site'])
    const second = await cli.run(['publish', 'site'])
    assert.deepEqual([second.code, second.stdout], [0, first.stdout])
    assert.match(second.stderr, /^✓ No changes\. Already live\.$/m)
    const json = JSON.parse((await cli.run(['publish', 'site', '--json'])).stdout)
    assert.equal(json.unchanged, true)
    assert.equal((await client.versions(json.slug)).versions.length, 1)
    assert.match((await cli.run(['publish', 'site', '--title', 'New'])).stderr, /Published 2 files /)
  })
})
