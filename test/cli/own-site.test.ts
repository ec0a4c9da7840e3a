import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SiteMemory } from '../../client/cli/state/site-memory.ts'
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
    assert.match(stdout, /^v2 +draft +2030-01-02 00:00 UTC +– +– +2 +9 bytes +http:\/\/v2--otter/m)
    assert.match(stdout, /^v1 +live /m)
    assert.match(stderr, /slipway restore VERSION/)
  })

  it('versions shows the publisher and the changes of each', async () => {
    const counts = (added: number, changed: number, removed: number) => ({ added, changed, removed })
    const cases: [by: string | null, made: string | null, changes: object | null, words: RegExp][] = [
      ['ann@example.test', 'key', counts(1, 2, 3), /you, with a key +1 new, 2 changed, 3 gone /],
      ['ann@example.test', 'dashboard', counts(0, 0, 1000), /you, in the dashboard +1,000 gone /],
      [null, 'key', counts(0, 0, 0), /somebody else +none /],
      [null, 'anonymous', null, /not signed in +– /],
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
    assert.match(stderr, /v2 is live\.\nCareful: _redirects:3: has no target\n/)
    assert.equal((await fixture.cli.run(['restore'], keyed)).code, 2)
  })

  it('delete requires typing the name', async () => {
    fixture.remember('otter')
    const wrong = await fixture.cli.run(['delete'], { ...keyed, typed: ['oter'] })
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /so nothing was deleted/)
    assert.equal(fixture.server.calls.length, 0)
    const right = await fixture.cli.run(['delete'], { ...keyed, typed: ['otter'] })
    assert.equal(right.code, 0)
    assert.match(right.stderr, /otter is deleted/)
  })

  it('delete stops at Ctrl-C, on a line of its own', async () => {
    fixture.remember('otter')
    const stop = new AbortController()
    const onStderr = (stderr: string) => stderr.endsWith('go on: ') && stop.abort()
    const { code, stderr } = await fixture.cli.run(['delete'], {
      ...keyed,
      typed: [],
      signal: stop.signal,
      onStderr,
    })
    assert.equal(code, 1)
    assert.match(stderr, /go on: \n\S*Error:\S* Stopped\n$/)
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
    assert.equal(code, 1)
    assert.match(stderr, /has no owner yet\n {2}Make it yours first: slipway claim/)
  })

  it('claim moves it to the account and removes the token', async () => {
    fixture.remember('otter', { claimToken: 'secret', claimUrl: 'x', expiresAt: 'y' })
    const { code, stdout, stderr } = await fixture.cli.run(['claim'], keyed)
    assert.equal(code, 0)
    assert.equal(stdout, 'http://otter.sites.test/\n')
    assert.match(stderr, /otter is yours now and does not expire/)
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
    assert.equal(code, 1)
    assert.match(stderr, /The server says NOT_FOUND/)
    assert.deepEqual(fixture.server.log, ['POST /api/v1/publish/otter/claim/preview'])
  })

  it('claim reports a site that is already claimed', async () => {
    await using fixture = await startScriptedCli()
    fixture.remember('otter')
    const { code, stderr } = await fixture.cli.run(['claim'], keyed)
    assert.equal(code, 1)
    assert.match(stderr, /otter\.sites\.test\/ has an owner already/)
  })

  it('claim accepts a link of any server, and sends its token to that server only', async () => {
    const link = `${fixture.server.url}/claim?slug=otter&token=secret`
    const { code } = await fixture.cli.run(['claim', link], keyed)
    assert.equal(code, 0)
    const { code: other, stderr } = await fixture.cli.run(['claim', link], {
      env: { SLIPWAY_KEY: KEY, SLIPWAY_URL: 'http://localhost:1' },
    })
    assert.equal(other, 1)
    assert.match(stderr, /SLIPWAY_KEY is not sent to http:\/\/127\.0\.0\.1/)
    assert.match(stderr, /You are not signed in at http:\/\/127\.0\.0\.1/)
    assert.equal((await fixture.cli.run(['claim', 'https://example.test/'], keyed)).code, 2)
  })
})
