import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { errorResponse } from './fake-server.ts'
import { useSiteCli } from './site-cli-harness.ts'

const fixture = useSiteCli()

describe('the first publish, without an account', () => {
  it('prints only the address on stdout', async () => {
    const { code, stdout } = await fixture.publish()
    assert.equal(code, 0)
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.equal(fixture.server.live('site-1').get('index.html')!.toString(), '<h1>hi</h1>')
  })

  it('prints on stderr the result, the expiry of the site, and how to keep it', async () => {
    const { stderr } = await fixture.publish()
    assert.match(stderr, /Uploading 2 files \(16 bytes\) to http/)
    assert.match(stderr, /✓ Published 2 files \(16 bytes\) in 0\.0 s\n/)
    assert.match(stderr, /^Expires in 24 hours \(2 Jan, 01:00\)\. Keep it: slipway claim, or open http/m)
    assert.match(stderr, /or open http:\S+\/claim\?slug=site-1&token=\S+\n/)
  })

  it('stores the claim token readable by its owner only', async () => {
    await fixture.publish()
    const [site] = fixture.remembered()
    assert.equal(site!.folder, 'site')
    assert.equal(site!.claimToken, fixture.server.sites.get('site-1')!.claimToken)
    assert.equal(site!.pending, undefined)
    assert.equal(statSync(join(fixture.cli.cwd, '.slipway/site.json')).mode & 0o777, 0o600)
  })

  it('never uploads or mentions its own .slipway folder', async () => {
    await fixture.cli.run(['publish'])
    const { code, stderr } = await fixture.cli.run(['publish'])
    assert.equal(code, 0)
    assert.doesNotMatch(stderr, /Skipped|\.slipway/)
    assert.deepEqual([...fixture.server.live('site-1').keys()].sort(), ['site/index.html', 'site/style.css'])
  })
})

describe('publishing again', () => {
  it('updates the same site and uploads only what changed', async () => {
    await fixture.publish()
    fixture.cli.write({ 'site/style.css': 'h1 { color: red }' })
    fixture.server.calls.length = 0
    const { stdout, stderr } = await fixture.publish()
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.equal(fixture.server.uploads.length, 1)
    assert.match(stderr, /in 0\.0 s \(1 uploaded, 17 bytes\)\n/)
  })

  it('creates a new site with --new, and explains how to keep the old one', async () => {
    await fixture.publish()
    const { stdout, stderr } = await fixture.publish('--new')
    assert.equal(stdout, 'http://site-2.sites.test/\n')
    assert.match(stderr, /Your previous site is unclaimed: http:\S+site-1\.sites\.test\/\. To keep it: http/)
  })

  it('publishes another folder as another site', async () => {
    fixture.cli.write({ 'other/index.html': 'other' })
    await fixture.publish()
    const { stdout } = await fixture.cli.run(['publish', 'other'])
    assert.equal(stdout, 'http://site-2.sites.test/\n')
  })

  for (const [code, status, reason] of [
    ['NOT_FOUND', 404, "doesn't exist, or belongs to another account"],
    ['SITE_EXPIRED', 410, 'has expired'],
  ] as const) {
    it(`reports that the site ${reason}, and creates a new one`, async () => {
      await fixture.publish()
      fixture.server.reply(/^PUT \/api\/v1\/publish\/site-1$/, errorResponse(status, code))
      const result = await fixture.publish()
      assert.equal(result.stdout, 'http://site-2.sites.test/\n')
      assert.ok(result.stderr.includes(`http://site-1.sites.test/ ${reason}. Publishing a new site.\n`))
      assert.deepEqual(
        fixture.remembered().map(({ slug }) => slug),
        ['site-2'],
      )
    })
  }

  it('uses the server that the folder remembers', async () => {
    await fixture.publish()
    fixture.cli.env = {}
    assert.equal((await fixture.publish()).stdout, 'http://site-1.sites.test/\n')
  })
})

describe('with a key', () => {
  it('the site has an owner from the start', async () => {
    fixture.cli.env.SLIPWAY_KEY = fixture.server.key
    const { stderr } = await fixture.publish()
    assert.doesNotMatch(stderr, /Expires|claim/)
    assert.equal(fixture.remembered()[0]!.claimToken, undefined)
    assert.equal((await fixture.publish()).stdout, 'http://site-1.sites.test/\n')
  })

  it('a site that was published anonymously is still updated by its claim token', async () => {
    await fixture.publish()
    fixture.cli.env.SLIPWAY_KEY = fixture.server.key
    const { stdout, stderr } = await fixture.publish()
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.match(stderr, /Keep it: slipway claim/)
  })

  it('--site updates a site that this folder does not know', async () => {
    fixture.cli.env.SLIPWAY_KEY = fixture.server.key
    await fixture.publish()
    fixture.cli.write({ 'elsewhere/index.html': 'new' })
    const { stdout } = await fixture.cli.run(['publish', 'elsewhere', '--site', 'site-1'])
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.equal(fixture.server.live('site-1').get('index.html')!.toString(), 'new')
  })
})

describe('without a key', () => {
  it('a site that was claimed since is refused with a hint to sign in', async () => {
    await fixture.publish()
    fixture.server.sites.get('site-1')!.claimToken = undefined
    const { code, stderr } = await fixture.publish()
    assert.equal(code, 3)
    assert.match(
      stderr,
      /site-1\.sites\.test\/ was claimed by another account\n {2}Sign in as its owner: slipway login/,
    )
    assert.equal(fixture.server.sites.size, 1)
  })

  it('a site of an account is refused with a hint to sign in', async () => {
    fixture.cli.env.SLIPWAY_KEY = fixture.server.key
    await fixture.publish()
    delete fixture.cli.env.SLIPWAY_KEY
    const { code, stderr } = await fixture.publish()
    assert.equal(code, 3)
    assert.match(stderr, /belongs to an account\n {2}Sign in: slipway login/)
  })
})

describe('a publish that is interrupted', () => {
  it('by Ctrl-C explains that running it again resumes, which it does', async () => {
    const stop = new AbortController()
    fixture.server.reply(/_upload.*style\.css/, () => {
      stop.abort()
      return 'none'
    })
    const first = await fixture.cli.run(['publish', 'site'], { signal: stop.signal })
    assert.equal(first.code, 130)
    assert.equal(first.stdout, '')
    assert.match(first.stderr, /Error: Interrupted\n {2}Run the same command to resume\./)

    fixture.server.intercept = () => false
    fixture.server.calls.length = 0
    const second = await fixture.publish()
    assert.equal(second.stdout, 'http://site-1.sites.test/\n')
    assert.equal(fixture.server.log[0], 'POST /api/v1/publish/site-1/uploads/refresh')
    assert.equal(fixture.server.sites.get('site-1')!.versions.size, 1)
  })

  it('by a network failure explains what to do, and resumes later', async () => {
    fixture.server.reply(/style\.css/, 'cut')
    const first = await fixture.cli.run(['publish', 'site'])
    assert.equal(first.code, 5)
    assert.match(first.stderr, /The connection to http\S+ was lost/)
    fixture.server.intercept = () => false
    fixture.server.calls.length = 0
    assert.equal((await fixture.publish()).code, 0)
    assert.equal(fixture.server.uploads.length, 1)
  })
})

describe('files that change while they are published', () => {
  it('are read again, once', async () => {
    const path = join(fixture.cli.cwd, 'site/index.html')
    fixture.server.intercept = (call) => {
      if (fixture.server.calls.length === 1 && call.method === 'POST') writeFileSync(path, 'changed')
      return false
    }
    const { code, stdout, stderr } = await fixture.publish()
    assert.equal(code, 0)
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.match(stderr, /index\.html changed while it was being published\. Reading the files again…/)
    assert.equal(fixture.server.live('site-1').get('index.html')!.toString(), 'changed')
  })

  it('are given up when they keep changing', async () => {
    const path = join(fixture.cli.cwd, 'site/index.html')
    fixture.server.intercept = (call) => {
      if (!call.path.includes('/_upload/')) writeFileSync(path, 'x'.repeat(fixture.server.calls.length))
      return false
    }
    const { code, stderr } = await fixture.publish()
    assert.equal(code, 1)
    assert.match(stderr, /The file keeps changing\. Publish again when no program is writing to it\./)
  })
})
