import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startRealCli } from './real-cli.ts'

const SITE = { 'site/index.html': 'home', 'site/a.txt': 'a', 'site/b.txt': 'b', 'site/c.txt': 'c' }

/** A published site of four files, of which the folder has lost all but one. */
async function startShrunken(kept = 'site/a.txt') {
  const fixture = await startRealCli(SITE)
  const client = await fixture.signIn()
  const { stdout } = await fixture.cli.run(['publish', 'site'])
  for (const path of Object.keys(SITE)) if (path !== kept) rmSync(join(fixture.cli.cwd, path))
  fixture.cli.write({ 'site/new.txt': 'new' })
  fixture.pass()
  const slug = new URL(stdout.trim()).hostname.split('.')[0]!
  return {
    ...fixture,
    paths: async () => (await client.details(slug)).files.map(({ path }) => path).sort(),
  }
}

const ALL = ['a.txt', 'b.txt', 'c.txt', 'index.html']

describe('an update that removes most of a site', () => {
  it('ends with exit code 2 without a terminal, and names the options', async () => {
    await using fixture = await startShrunken()
    const { code, stdout, stderr } = await fixture.cli.run(['publish', 'site'])
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /This update removes 3 of the 4 files of http:\S+, including index\.html\n/)
    assert.match(stderr, /--merge[\s\S]*--replace/)
    assert.deepEqual(await fixture.paths(), ALL)
    const again = await fixture.cli.run(['publish', 'site'])
    assert.equal(again.code, 2, 'the resumed version is checked as well')
  })

  const choices: [
    name: string,
    args: string[],
    typed: string[] | undefined,
    code: number,
    paths: string[],
  ][] = [
    ['--replace replaces everything', ['--replace'], undefined, 0, ['a.txt', 'new.txt']],
    ['--merge adds the files', ['--merge'], undefined, 0, [...ALL, 'new.txt']],
    ['1 adds the files', [], ['1'], 0, [...ALL, 'new.txt']],
    ['2 replaces everything', [], ['x', '', '2'], 0, ['a.txt', 'new.txt']],
    ['3 cancels', [], ['3'], 6, ALL],
    ['the end of input cancels', [], [], 1, ALL],
    ['a draft asks nothing', ['--draft'], undefined, 0, ALL],
  ]
  for (const [name, args, typed, expected, paths] of choices) {
    it(name, async () => {
      await using fixture = await startShrunken()
      const run = await fixture.cli.run(['publish', 'site', ...args], { ...(typed && { typed }) })
      assert.equal(run.code, expected, run.stderr)
      assert.deepEqual(await fixture.paths(), paths)
      if (typed) assert.match(run.stderr, /Replace all 4 files with 2\?\n {2}1 {2}Add to the site\n/)
    })
  }

  it('is one that keeps index.html and less than half of the files', async () => {
    await using fixture = await startShrunken('site/index.html')
    assert.equal((await fixture.cli.run(['publish', 'site'])).code, 2)
  })

  it('is not one that keeps half of the files', async () => {
    await using fixture = await startShrunken('site/index.html')
    fixture.cli.write({ 'site/a.txt': 'a' })
    assert.equal((await fixture.cli.run(['publish', 'site'])).code, 0)
  })
})

describe('--merge', () => {
  it('needs a site, and no --replace or --new', async () => {
    await using fixture = await startRealCli(SITE)
    for (const args of [['--merge'], ['--merge', '--replace']])
      assert.equal((await fixture.cli.run(['publish', 'site', ...args])).code, 2)
    await fixture.cli.run(['publish', 'site'])
    assert.equal((await fixture.cli.run(['publish', 'site', '--merge', '--new'])).code, 2)
  })

  it('adds files to an anonymous site', async () => {
    await using fixture = await startRealCli({ 'site/index.html': 'home', 'site/a.txt': 'a' })
    await fixture.cli.run(['publish', 'site'])
    rmSync(join(fixture.cli.cwd, 'site/index.html'))
    const { code, stderr } = await fixture.cli.run(['publish', 'site', '--merge'])
    assert.equal(code, 0)
    assert.match(stderr, /No changes/)
    fixture.cli.write({ 'site/b.txt': 'b' })
    assert.match((await fixture.cli.run(['publish', 'site', '--merge'])).stderr, /✓ Added 2 files/)
  })
})
