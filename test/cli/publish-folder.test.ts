import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startRealCli } from './real-cli.ts'

const PROJECT = { 'package.json': '{}', 'src/main.js': 'x', 'dist/index.html': 'built' }

describe('publish without a folder', () => {
  it('ends with exit code 2 in a project with a built site', async () => {
    await using fixture = await startRealCli(PROJECT)
    for (const args of [['publish'], ['publish', '--dry-run']]) {
      const { code, stdout, stderr } = await fixture.cli.run(args)
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /Its built site is in dist\n/)
      assert.match(stderr, /slipway publish dist\n[\s\S]*slipway publish \.\n/)
    }
  })

  const choices: [name: string, args: string[], typed: string[] | undefined, code: number, path: string][] = [
    ['publishes a project with a dot', ['.'], undefined, 0, '/src/main.js'],
    ['publishes the built site after 1', [], ['1'], 0, '/index.html'],
    ['publishes the project after 2', [], ['2'], 0, '/src/main.js'],
    ['publishes nothing after 3', [], ['3'], 6, ''],
  ]
  for (const [name, args, typed, code, path] of choices) {
    it(name, async () => {
      await using fixture = await startRealCli(PROJECT)
      const run = await fixture.cli.run(['publish', ...args], { ...(typed && { typed }) })
      assert.equal(run.code, code, run.stderr)
      assert.equal(run.stdout !== '', code === 0)
      if (code === 0) assert.equal(await fixture.status(run.stdout.trim(), path), 200)
    })
  }

  it('publishes the folder that was published last, to the same server', async () => {
    await using fixture = await startRealCli(PROJECT)
    const { cli } = fixture
    const first = await cli.run(['publish', 'dist'])
    cli.write({ 'dist/more.html': 'more' })
    cli.env = {}
    const second = await cli.run(['publish'])
    assert.deepEqual([second.code, second.stdout], [0, first.stdout])
    assert.match(second.stderr, /^Publishing dist, like last time\.$/m)
  })

  it('publishes this folder when it is no project, or has no built site', async () => {
    for (const files of [
      { 'index.html': 'x', 'dist/index.html': 'y' },
      { 'package.json': '{}', 'a.html': 'x' },
    ]) {
      await using fixture = await startRealCli(files)
      assert.equal((await fixture.cli.run(['publish'])).code, 0)
    }
  })
})

describe('a site that was published without an account', () => {
  /** A folder that was published before its user signed in. */
  async function startSignedIn() {
    const fixture = await startRealCli({ 'site/index.html': 'x' })
    const { stdout } = await fixture.cli.run(['publish', 'site'])
    const client = await fixture.signIn()
    fixture.cli.write({ 'site/index.html': 'y' })
    fixture.pass()
    const slug = new URL(stdout.trim()).hostname.split('.')[0]!
    return {
      ...fixture,
      address: stdout,
      isOwned: async () => (await Array.fromAsync(client.sites())).some((site) => site.slug === slug),
    }
  }

  const cases: [name: string, typed: string[] | undefined, isOwned: boolean][] = [
    ['belongs to the account after the next publish', undefined, true],
    ['belongs to the account after a yes on a terminal', [''], true],
    ['stays without an owner after a no', ['n'], false],
  ]
  for (const [name, typed, isOwned] of cases) {
    it(name, async () => {
      await using fixture = await startSignedIn()
      const { code, stdout, stderr } = await fixture.cli.run(['publish', 'site'], { ...(typed && { typed }) })
      assert.deepEqual([code, stdout], [0, fixture.address])
      assert.equal(/http:\S+ is now yours and won't expire\.$/m.test(stderr), isOwned)
      assert.equal(/^Expires in /m.test(stderr), !isOwned)
      assert.equal(await fixture.isOwned(), isOwned)
      fixture.cli.write({ 'site/index.html': 'z' })
      if (isOwned) assert.equal((await fixture.cli.run(['publish', 'site'])).stdout, fixture.address)
    })
  }

  it('is replaced by a new one when it has expired', async () => {
    await using fixture = await startSignedIn()
    fixture.service.clock.now += 25 * 3_600_000
    const { code, stdout, stderr } = await fixture.cli.run(['publish', 'site'])
    assert.equal(code, 0)
    assert.notEqual(stdout, fixture.address)
    assert.match(stderr, /Publishing a new site/)
  })
})
