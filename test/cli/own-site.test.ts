import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { SiteMemory } from '../../client/cli/state/site-memory.ts'
import { concat, padding, TAR_END, tarHeader } from '../../protocol/tar.ts'
import { startForEachTest } from '../support/each-test.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

describe('the site of this folder', () => {
  const versions = [
    {
      versionId: 'v2',
      createdAt: '2030-01-02T00:00:00.000Z',
      publishedAt: null,
      fileCount: 2,
      totalBytes: 9,
      current: false,
      previewUrl: 'http://v2--otter.sites.test/',
    },
    {
      versionId: 'v1',
      createdAt: '2030-01-01T00:00:00.000Z',
      publishedAt: '2030-01-01T00:00:00.000Z',
      fileCount: 1,
      totalBytes: 5,
      current: true,
      previewUrl: 'http://v1--otter.sites.test/',
    },
  ]
  const answers = {
    'GET /api/v1/publish/otter/versions': { versions },
    'POST /api/v1/publish/otter/versions/v2/restore': {
      versionId: 'v2',
      siteUrl: 'http://otter.sites.test/',
      warnings: [{ file: '_redirects', line: 3, message: 'has no target' }],
    },
    'DELETE /api/v1/publish/otter': { slug: 'otter', deleted: true },
    'GET /api/v1/publish/badger': { siteUrl: 'http://badger.sites.test/' },
    'POST /api/v1/publish/otter/claim/preview': { slug: 'otter' },
    'POST /api/v1/publish/otter/claim': { success: true, slug: 'otter', siteUrl: 'http://otter.sites.test/' },
  }
  const fixture = startForEachTest(() => startScriptedCli(answers))
  const keyed = { env: { SLIPWAY_KEY: KEY } }

  it('versions lists the live version, kept ones and drafts', async () => {
    fixture.remember('otter')
    const { stdout, stderr } = await fixture.cli.run(['versions'], keyed)
    assert.match(stdout, /^v2 +draft +2 Jan, 01:00 +– +– +2 +9 bytes +http:\/\/v2--otter/m)
    assert.match(stdout, /^v1 +live /m)
    assert.match(stderr, /slipway restore VERSION/)
  })

  it('versions shows the publisher and the changes of each', async () => {
    const counts = (added: number, changed: number, removed: number) => ({ added, changed, removed })
    const cases: [by: string | null, made: string | null, changes: object | null, words: RegExp][] = [
      [
        'ann@example.test',
        'key',
        counts(1, 2, 3),
        /ann@example.test, with a key +1 new, 2 changed, 3 removed /,
      ],
      [
        'ann@example.test',
        'dashboard',
        counts(0, 0, 1000),
        /ann@example.test, from the browser +1,000 removed /,
      ],
      [null, 'key', counts(0, 0, 0), /a deleted account +none /],
      [null, 'anonymous', null, /anonymous +– /],
    ]
    const made = cases.map(([publishedBy, publishedWith, changes]) => {
      return { ...versions[0], publishedBy, publishedWith, changes }
    })
    await using fixture = await startScriptedCli({ 'GET /api/v1/publish/otter/versions': { versions: made } })
    fixture.remember('otter')
    const { stdout } = await fixture.cli.run(['versions'], keyed)
    const lines = stdout.split('\n').slice(1)
    for (const [row, [, , , words]] of cases.entries()) assert.match(lines[row]!, words)
  })

  it('restore makes a version live and prints the address', async () => {
    fixture.remember('otter')
    const { stdout, stderr } = await fixture.cli.run(['restore', 'v2'], keyed)
    assert.equal(stdout, 'http://otter.sites.test/\n')
    assert.match(stderr, /v2 is live\nWarning: _redirects:3: has no target\n/)
    assert.equal((await fixture.cli.run(['restore'], keyed)).code, 2)
  })

  it('delete requires typing the name', async () => {
    fixture.remember('otter')
    const wrong = await fixture.cli.run(['delete'], { ...keyed, typed: ['oter'] })
    assert.equal(wrong.code, 6)
    assert.match(wrong.stderr, /Nothing was deleted/)
    assert.equal(fixture.server.calls.length, 0)
    const right = await fixture.cli.run(['delete'], { ...keyed, typed: ['otter'] })
    assert.equal(right.code, 0)
    assert.match(right.stderr, /Deleted otter/)
  })

  it('delete stops at Ctrl-C, on a line of its own', async () => {
    fixture.remember('otter')
    const stop = new AbortController()
    const onStderr = (stderr: string) => stderr.endsWith('confirm: ') && stop.abort()
    const { code, stderr } = await fixture.cli.run(['delete'], {
      ...keyed,
      typed: [],
      signal: stop.signal,
      onStderr,
    })
    assert.equal(code, 130)
    assert.match(stderr, /confirm: \n\S*Error:\S* Interrupted\n$/)
    assert.equal(fixture.server.calls.length, 0)
  })

  it('delete requires --yes if there is no terminal', async () => {
    fixture.remember('otter')
    assert.equal((await fixture.cli.run(['delete'], keyed)).code, 2)
    assert.equal(fixture.server.calls.length, 0)
    assert.equal((await fixture.cli.run(['delete', '--yes'], keyed)).code, 0)
    assert.equal(new SiteMemory(fixture.cli.cwd).all().length, 0)
  })

  it('open prints the address and opens a browser if there is a display', async () => {
    fixture.remember('otter')
    assert.equal((await fixture.cli.run(['open'])).stdout, 'http://otter.sites.test/\n')
    assert.deepEqual(fixture.cli.launched, [])
    await fixture.cli.run(['open'], { env: { DISPLAY: ':0' } })
    assert.deepEqual(fixture.cli.launched, [['xdg-open', 'http://otter.sites.test/']])
  })

  it('can be another one with --site', async () => {
    fixture.remember('otter')
    const { stdout } = await fixture.cli.run(['open', '--site', 'badger'], keyed)
    assert.equal(stdout, 'http://badger.sites.test/\n')
  })

  it('is asked for on a terminal when there are several', async () => {
    for (const slug of ['otter', 'badger']) fixture.remember(slug)
    const { stdout, stderr } = await fixture.cli.run(['open', '--json'], { typed: ['9', '2'] })
    assert.equal(JSON.parse(stdout).siteUrl, 'http://otter.sites.test/')
    assert.match(stderr, / {2}1 {2}http:\/\/badger\.sites\.test\/ \(badger\)\n/)
  })

  it('is not written outside its folder or over the files of git by an archive of the server', async () => {
    const paths = ['../escaped.txt', '.git/hooks/post-checkout', 'a/.GIT/config', '/etc/passwd', 'fine.txt']
    const size = 1
    const responses = {
      'GET /api/v1/publish/otter': { currentVersionId: 'v1' },
      'GET /api/v1/publish/otter/versions/v1': { files: paths.map((path) => ({ path, size })) },
    }
    await using fixture = await startScriptedCli(responses)
    fixture.remember('otter')
    const tar = concat(
      [...paths, 'unlisted.txt'].flatMap((path) => [tarHeader(path, size), Buffer.from('x'), padding(size)]),
    )
    const respond = fixture.server.intercept
    let archive: Uint8Array = concat([tar, TAR_END])
    fixture.server.intercept = (call, request, response) => {
      if (!call.path.includes('/archive')) return respond(call, request, response)
      response.end(gzipSync(archive))
      return true
    }
    const { code, stderr } = await fixture.cli.run(['pull', 'copy'], keyed)
    assert.equal(code, 0)
    assert.match(stderr, /Skipped unsafe paths: \.\.\/escaped\.txt, \.git\/hooks/)
    assert.deepEqual(readdirSync(fixture.cli.cwd).sort(), ['.slipway', 'copy'])
    assert.deepEqual(readdirSync(join(fixture.cli.cwd, 'copy')), ['fine.txt'])
    for (const broken of [tar.subarray(0, 700), Buffer.alloc(2000, 'x'), new Uint8Array()]) {
      archive = broken
      assert.equal((await fixture.cli.run(['pull', 'copy', '--force'], keyed)).code, 6)
    }
  })

  it('has to be named when there are several or none', async () => {
    assert.match((await fixture.cli.run(['open'])).stderr, /No site was published from this folder/)
    fixture.remember('otter')
    fixture.remember('badger')
    const { code, stderr } = await fixture.cli.run(['open'])
    assert.equal(code, 1)
    assert.match(stderr, /Name one:\n {2}--site badger \(badger, http\S+\)\n {2}--site otter \(otter/)
  })

  it('has to be claimed first when it is anonymous', async () => {
    fixture.remember('otter', { claimToken: 'secret' })
    const { code, stderr } = await fixture.cli.run(['versions'], keyed)
    assert.equal(code, 3)
    assert.match(stderr, /is unclaimed\n {2}Claim it first: slipway claim/)
  })

  it('claim moves it to the account and removes the token', async () => {
    fixture.remember('otter', { claimToken: 'secret', claimUrl: 'x', expiresAt: 'y' })
    const { code, stdout, stderr } = await fixture.cli.run(['claim'], keyed)
    assert.equal(code, 0)
    assert.equal(stdout, 'http://otter.sites.test/\n')
    assert.match(stderr, /otter is now yours and won't expire/)
    assert.deepEqual(fixture.bodies(), [{ claimToken: 'secret' }])
    assert.equal(new SiteMemory(fixture.cli.cwd).all()[0]!.claimToken, undefined)
  })

  it('claim signs in first when necessary', async () => {
    fixture.remember('otter', { claimToken: 'secret' })
    const { code } = await fixture.cli.run(['claim'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.equal(code, 0)
    assert.equal(fixture.server.calls.at(-1)!.key, KEY)
  })

  it('claim does not ask to sign in for a deleted site', async () => {
    await using fixture = await startScriptedCli()
    fixture.remember('otter', { claimToken: 'secret' })
    const { code, stderr } = await fixture.cli.run(['claim'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.equal(code, 6)
    assert.match(stderr, /The server says NOT_FOUND/)
    assert.deepEqual(fixture.server.log, ['POST /api/v1/publish/otter/claim/preview'])
  })

  it('claim reports a site that is already claimed', async () => {
    await using fixture = await startScriptedCli()
    fixture.remember('otter')
    const { code, stderr } = await fixture.cli.run(['claim'], keyed)
    assert.equal(code, 6)
    assert.match(stderr, /otter\.sites\.test\/ already has an owner/)
  })

  it('claim accepts a link of any server, and sends its token to that server only', async () => {
    const link = `${fixture.server.url}/claim?slug=otter&token=secret`
    const { code } = await fixture.cli.run(['claim', link], keyed)
    assert.equal(code, 0)
    const { code: other, stderr } = await fixture.cli.run(['claim', link], {
      env: { SLIPWAY_KEY: KEY, SLIPWAY_URL: 'http://localhost:1' },
    })
    assert.equal(other, 3)
    assert.match(stderr, /SLIPWAY_KEY was not sent to http:\/\/127\.0\.0\.1/)
    assert.match(stderr, /You're not signed in to http:\/\/127\.0\.0\.1/)
    assert.equal((await fixture.cli.run(['claim', 'https://example.test/'], keyed)).code, 2)
  })
})
