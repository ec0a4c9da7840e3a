import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getUrl } from '../support/http-client.ts'
import { slugOf, useRealService } from './real-cli.ts'

const FILES = { 'site/index.html': 'live', 'site/a.txt': 'a' }

describe('a preview', () => {
  const start = useRealService()

  /** A published site of an account. */
  async function startOwned() {
    const fixture = start(FILES)
    await fixture.signIn()
    const { stdout } = await fixture.cli.run(['publish', 'site'])
    const read = async (url: string) => (await getUrl(url.trim())).text
    const publish = async (text: string, ...args: string[]) => {
      fixture.pass()
      fixture.cli.write({ 'site/index.html': text })
      return fixture.cli.run(['publish', 'site', ...args])
    }
    return { ...fixture, siteUrl: stdout.trim(), slug: slugOf(stdout), read, publish }
  }

  it('is published, listed, promoted and deleted, and its URL stays the same', async () => {
    using fixture = await startOwned()
    const { cli, siteUrl, slug, read, publish } = fixture
    const first = await publish('1', '--preview', 'pr-42', '-m', 'A change')
    assert.deepEqual([first.code, slugOf(first.stdout)], [0, `pr-42--${slug}`], first.stderr)
    assert.match(first.stderr, /Published 2 files \(2 bytes\) as pr-42 in .* \(1 uploaded, 1 byte\)/)
    assert.match(first.stderr, /Make it live: slipway promote pr-42\n.*Expires in 30 days/s)
    const second = await publish('2', '--preview', 'pr-42', '--ttl', '2h')
    assert.match(second.stderr, /Expires in 2 h/)
    assert.deepEqual(
      [second.stdout, await read(second.stdout), await read(siteUrl)],
      [first.stdout, '2', 'live'],
    )
    assert.match((await publish('2', '--preview', 'pr-42')).stderr, /No changes\. pr-42 is up to date\./)
    await publish('3', '--preview', 'staging')
    const listed = await cli.run(['previews'])
    assert.match(listed.stdout, /^NAME .*\nstaging +preview .*1 changed.*\npr-42 +preview .* http:.*\n$/)
    assert.match((await cli.run(['versions'])).stdout, / pr-42 /)
    const [, { versionId }] = JSON.parse((await cli.run(['previews', '--json'])).stdout)
    assert.equal((await cli.run(['promote', 'pr-42', '--version', 'other'])).code, 6)
    const promoted = await cli.run(['promote', 'pr-42', '--version', versionId])
    assert.deepEqual([promoted.code, promoted.stdout, await read(siteUrl)], [0, `${siteUrl}\n`, '2'])
    const picked = await cli.run(['promote'], { typed: ['1'] })
    assert.deepEqual([picked.code, await read(siteUrl)], [0, '3'])
    assert.equal((await cli.run(['previews', 'delete', 'pr-42'])).code, 0)
    assert.notEqual(await read(first.stdout), '2')
    const again = await cli.run(['previews', 'delete', 'pr-42', '--json'])
    assert.deepEqual([again.code, JSON.parse(again.stdout).hint], [6, 'List the previews: slipway previews'])
    assert.match((await cli.run(['previews'])).stdout, /staging +live /)
  })

  it('needs an account, and refuses what would change the site', async () => {
    using fixture = await startOwned()
    const { cli, publish, siteUrl, read } = fixture
    for (const args of [['--draft'], ['--name', 'bakery'], ['--password']])
      assert.equal((await publish('1', '--preview', 'pr-1', ...args)).code, 2)
    assert.equal((await publish('1', '--preview', 'PR 1')).code, 2)
    cli.write({ 'site/_redirects': '/a /b 999\n' })
    const strict = await publish('1', '--preview', 'pr-1', '--strict')
    assert.deepEqual([strict.code, await read(siteUrl)], [6, 'live'], strict.stderr)
    assert.match(strict.stderr, /The preview has warnings\n.*_redirects:1/)
    assert.equal((await cli.run(['previews', 'delete'])).code, 2)
    assert.equal((await cli.run(['promote'])).code, 2)
    cli.env.SLIPWAY_KEY = ''
    const refused = await publish('1', '--preview', 'pr-1', '--new')
    assert.match(refused.stderr, /Previews need an account\n.*First: slipway login/)
  })
})
