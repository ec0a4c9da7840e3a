import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { answer, type FakeServer, failure } from './peer.ts'
import { SiteCliHarness } from './site-desk.ts'

const uploads = (peer: FakeServer) => peer.log.filter((line) => line.includes('/_upload/'))

describe('the first publish, without an account', () => {
  it('prints the address alone on stdout', async () => {
    await using all = await SiteCliHarness.start()
    const { code, stdout } = await all.publish()
    assert.equal(code, 0)
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.equal(all.peer.live('site-1').get('index.html')!.toString(), '<h1>hi</h1>')
  })

  it('says on stderr how it went, when the site ends, and how to keep it', async () => {
    await using all = await SiteCliHarness.start()
    const { stderr } = await all.publish()
    assert.match(stderr, /Uploading 2 files \(16 bytes\) to http/)
    assert.match(stderr, /✓ Published 2 files \(16 bytes\) in 0\.0 s; all of it uploaded\./)
    assert.match(stderr, /It has no owner and is gone in 24 hours, at 2030-01-02 00:00 UTC\./)
    assert.match(stderr, /To keep it, open http:\S+\/claim\?slug=site-1&token=\S+\nor: slipway claim\n/)
  })

  it('remembers the claim token where only its owner can read it', async () => {
    await using all = await SiteCliHarness.start()
    await all.publish()
    const [site] = all.remembered()
    assert.equal(site!.folder, 'site')
    assert.equal(site!.claimToken, all.peer.sites.get('site-1')!.claimToken)
    assert.equal(site!.pending, undefined)
    assert.equal(statSync(join(all.desk.cwd, '.slipway/site.json')).mode & 0o777, 0o600)
  })

  it('never uploads its own memory', async () => {
    await using all = await SiteCliHarness.start()
    await all.desk.run(['publish'])
    const { code, stderr } = await all.desk.run(['publish'])
    assert.equal(code, 0)
    assert.match(stderr, /Left out: \.slipway\//)
    assert.deepEqual([...all.peer.live('site-1').keys()].sort(), ['site/index.html', 'site/style.css'])
  })
})

describe('publishing again', () => {
  it('updates the same site and uploads only what changed', async () => {
    await using all = await SiteCliHarness.start()
    await all.publish()
    all.desk.write({ 'site/style.css': 'h1 { color: red }' })
    all.peer.calls.length = 0
    const { stdout, stderr } = await all.publish()
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.equal(uploads(all.peer).length, 1)
    assert.match(stderr, /1 file \(17 bytes\) uploaded, the rest was there already/)
  })

  it('makes a new site with --new, and says how to keep the old one', async () => {
    await using all = await SiteCliHarness.start()
    await all.publish()
    const { stdout, stderr } = await all.publish('--new')
    assert.equal(stdout, 'http://site-2.sites.test/\n')
    assert.match(stderr, /site-1\.sites\.test\/ has no owner; to keep it: http/)
  })

  it('takes another folder for another site', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.write({ 'other/index.html': 'other' })
    await all.publish()
    const { stdout } = await all.desk.run(['publish', 'other'])
    assert.equal(stdout, 'http://site-2.sites.test/\n')
  })

  for (const [code, status, said] of [
    ['NOT_FOUND', 404, 'is gone, or belongs to somebody else'],
    ['SITE_EXPIRED', 410, 'has expired'],
  ] as const) {
    it(`says so when the site ${said}, and makes a new one`, async () => {
      await using all = await SiteCliHarness.start()
      await all.publish()
      all.peer.misbehave = ({ method, path }, _request, response) => {
        if (method !== 'PUT' || path !== '/api/v1/publish/site-1') return false
        answer(response, ...failure(status, code))
        return true
      }
      const result = await all.publish()
      assert.equal(result.stdout, 'http://site-2.sites.test/\n')
      assert.ok(result.stderr.includes(`http://site-1.sites.test/ ${said}. This becomes a new site.\n`))
      assert.deepEqual(
        all.remembered().map(({ slug }) => slug),
        ['site-2'],
      )
    })
  }

  it('goes to the server that the folder remembers', async () => {
    await using all = await SiteCliHarness.start()
    await all.publish()
    all.desk.env = {}
    assert.equal((await all.publish()).stdout, 'http://site-1.sites.test/\n')
  })
})

describe('with a key', () => {
  it('the site has an owner from the start', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    const { stderr } = await all.publish()
    assert.doesNotMatch(stderr, /owner|claim/)
    assert.equal(all.remembered()[0]!.claimToken, undefined)
    assert.equal((await all.publish()).stdout, 'http://site-1.sites.test/\n')
  })

  it('a site that was published without one is still updated by its claim token', async () => {
    await using all = await SiteCliHarness.start()
    await all.publish()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    const { stdout, stderr } = await all.publish()
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.match(stderr, /since you are signed in: slipway claim/)
  })

  it('--site updates a site that this folder does not know', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    await all.publish()
    all.desk.write({ 'elsewhere/index.html': 'new' })
    const { stdout } = await all.desk.run(['publish', 'elsewhere', '--site', 'site-1'])
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.equal(all.peer.live('site-1').get('index.html')!.toString(), 'new')
  })
})

describe('without a key', () => {
  it('a site that was claimed meanwhile asks for its owner', async () => {
    await using all = await SiteCliHarness.start()
    await all.publish()
    all.peer.sites.get('site-1')!.claimToken = undefined
    const { code, stderr } = await all.publish()
    assert.equal(code, 1)
    assert.match(
      stderr,
      /site-1\.sites\.test\/ was claimed by somebody\n {2}Sign in as its owner: slipway login/,
    )
    assert.equal(all.peer.sites.size, 1)
  })

  it('a site of an account asks to sign in', async () => {
    await using all = await SiteCliHarness.start()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    await all.publish()
    delete all.desk.env.SLIPWAY_KEY
    const { code, stderr } = await all.publish()
    assert.equal(code, 1)
    assert.match(stderr, /belongs to an account\n {2}Sign in: slipway login/)
  })
})

describe('a publish that is interrupted', () => {
  it('by Ctrl-C says that running it again goes on, and that is true', async () => {
    await using all = await SiteCliHarness.start()
    const stop = new AbortController()
    all.peer.misbehave = (call) => {
      if (!call.path.includes('/_upload/') || !call.path.includes('style.css')) return false
      stop.abort()
      return true
    }
    const first = await all.desk.run(['publish', 'site'], { signal: stop.signal })
    assert.equal(first.code, 1)
    assert.equal(first.stdout, '')
    assert.match(first.stderr, /Error: Stopped\n {2}Run the same command again: it goes on where it was/)

    all.peer.misbehave = () => false
    all.peer.calls.length = 0
    const second = await all.publish()
    assert.equal(second.stdout, 'http://site-1.sites.test/\n')
    assert.equal(all.peer.log[0], 'POST /api/v1/publish/site-1/uploads/refresh')
    assert.equal(all.peer.sites.get('site-1')!.versions.size, 1)
  })

  it('by a network that stays away says what to do, and goes on later', async () => {
    await using all = await SiteCliHarness.start()
    all.peer.misbehave = (call, _request, response) => {
      if (call.path.includes('style.css')) response.destroy()
      return call.path.includes('style.css')
    }
    const first = await all.desk.run(['publish', 'site'])
    assert.equal(first.code, 1)
    assert.match(first.stderr, /The connection to http\S+ broke/)
    all.peer.misbehave = () => false
    all.peer.calls.length = 0
    assert.equal((await all.publish()).code, 0)
    assert.equal(uploads(all.peer).length, 1)
  })
})

describe('files that change while they are published', () => {
  it('are read again, once', async () => {
    await using all = await SiteCliHarness.start()
    const path = join(all.desk.cwd, 'site/index.html')
    all.peer.misbehave = (call) => {
      if (all.peer.calls.length === 1 && call.method === 'POST') writeFileSync(path, 'changed')
      return false
    }
    const { code, stdout, stderr } = await all.publish()
    assert.equal(code, 0)
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.match(stderr, /index\.html changed while it was being published\. Reading the files again\./)
    assert.equal(all.peer.live('site-1').get('index.html')!.toString(), 'changed')
  })

  it('are given up when they go on changing', async () => {
    await using all = await SiteCliHarness.start()
    const path = join(all.desk.cwd, 'site/index.html')
    all.peer.misbehave = (call) => {
      if (!call.path.includes('/_upload/')) writeFileSync(path, 'x'.repeat(all.peer.calls.length))
      return false
    }
    const { code, stderr } = await all.publish()
    assert.equal(code, 1)
    assert.match(stderr, /It keeps changing\. Publish again when nothing writes to it any more\./)
  })
})
