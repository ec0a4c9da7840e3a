import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { RememberedSite } from '../../client/cli/memory/site-memory.ts'
import { Desk } from './desk.ts'
import { answer, failure, Peer } from './peer.ts'

async function setting() {
  const peer = await Peer.start()
  const desk = new Desk()
  desk.env.SLIPWAY_URL = peer.url
  desk.write({ 'site/index.html': '<h1>hi</h1>', 'site/style.css': 'h1 {}' })
  return {
    peer,
    desk,
    publish: (...args: string[]) => desk.run(['publish', 'site', ...args]),
    remembered: (): RememberedSite[] =>
      JSON.parse(readFileSync(join(desk.cwd, '.slipway/site.json'), 'utf8')).sites,
    async [Symbol.asyncDispose]() {
      desk[Symbol.dispose]()
      await peer[Symbol.asyncDispose]()
    },
  }
}

const ESCAPE = '\u001b'

const uploads = (peer: Peer) => peer.log.filter((line) => line.includes('/_upload/'))

describe('the first publish, without an account', () => {
  it('prints the address alone on stdout', async () => {
    await using all = await setting()
    const { code, stdout } = await all.publish()
    assert.equal(code, 0)
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.equal(all.peer.live('site-1').get('index.html')!.toString(), '<h1>hi</h1>')
  })

  it('says on stderr how it went, when the site ends, and how to keep it', async () => {
    await using all = await setting()
    const { stderr } = await all.publish()
    assert.match(stderr, /Uploading 2 files \(16 bytes\) to http/)
    assert.match(stderr, /✓ Published 2 files \(16 bytes\) in 0\.0 s; all of it uploaded\./)
    assert.match(stderr, /It has no owner and is gone in 24 hours, at 2030-01-02 00:00 UTC\./)
    assert.match(stderr, /To keep it, open http:\S+\/claim\?slug=site-1&token=\S+\nor: slipway claim\n/)
  })

  it('remembers the claim token where only its owner can read it', async () => {
    await using all = await setting()
    await all.publish()
    const [site] = all.remembered()
    assert.equal(site!.folder, 'site')
    assert.equal(site!.claimToken, all.peer.sites.get('site-1')!.claimToken)
    assert.equal(site!.pending, undefined)
    assert.equal(statSync(join(all.desk.cwd, '.slipway/site.json')).mode & 0o777, 0o600)
  })

  it('never uploads its own memory', async () => {
    await using all = await setting()
    await all.desk.run(['publish'])
    const { code, stderr } = await all.desk.run(['publish'])
    assert.equal(code, 0)
    assert.match(stderr, /Left out: \.slipway\//)
    assert.deepEqual([...all.peer.live('site-1').keys()].sort(), ['site/index.html', 'site/style.css'])
  })
})

describe('publishing again', () => {
  it('updates the same site and uploads only what changed', async () => {
    await using all = await setting()
    await all.publish()
    all.desk.write({ 'site/style.css': 'h1 { color: red }' })
    all.peer.calls.length = 0
    const { stdout, stderr } = await all.publish()
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.equal(uploads(all.peer).length, 1)
    assert.match(stderr, /1 file \(17 bytes\) uploaded, the rest was there already/)
  })

  it('makes a new site with --new, and says how to keep the old one', async () => {
    await using all = await setting()
    await all.publish()
    const { stdout, stderr } = await all.publish('--new')
    assert.equal(stdout, 'http://site-2.sites.test/\n')
    assert.match(stderr, /site-1\.sites\.test\/ has no owner; to keep it: http/)
  })

  it('takes another folder for another site', async () => {
    await using all = await setting()
    all.desk.write({ 'other/index.html': 'other' })
    await all.publish()
    const { stdout } = await all.desk.run(['publish', 'other'])
    assert.equal(stdout, 'http://site-2.sites.test/\n')
  })

  for (const code of ['NOT_FOUND', 'SITE_EXPIRED']) {
    it(`says so when the site is gone (${code}), and makes a new one`, async () => {
      await using all = await setting()
      await all.publish()
      all.peer.misbehave = ({ method, path }, _request, response) => {
        if (method !== 'PUT' || path !== '/api/v1/publish/site-1') return false
        answer(response, ...failure(code === 'NOT_FOUND' ? 404 : 410, code))
        return true
      }
      const result = await all.publish()
      assert.equal(result.stdout, 'http://site-2.sites.test/\n')
      assert.match(
        result.stderr,
        /site-1\.sites\.test\/ is gone, or belongs to somebody else\. This becomes a new site/,
      )
      assert.deepEqual(
        all.remembered().map(({ slug }) => slug),
        ['site-2'],
      )
    })
  }

  it('goes to the server that the folder remembers', async () => {
    await using all = await setting()
    await all.publish()
    all.desk.env = {}
    assert.equal((await all.publish()).stdout, 'http://site-1.sites.test/\n')
  })
})

describe('with a key', () => {
  it('the site has an owner from the start', async () => {
    await using all = await setting()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    const { stderr } = await all.publish()
    assert.doesNotMatch(stderr, /owner|claim/)
    assert.equal(all.remembered()[0]!.claimToken, undefined)
    assert.equal((await all.publish()).stdout, 'http://site-1.sites.test/\n')
  })

  it('a site that was published without one is still updated by its claim token', async () => {
    await using all = await setting()
    await all.publish()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    const { stdout, stderr } = await all.publish()
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.match(stderr, /since you are signed in: slipway claim/)
  })

  it('a site that was claimed meanwhile is updated as its owner, and the token is forgotten', async () => {
    await using all = await setting()
    await all.publish()
    all.peer.sites.get('site-1')!.claimToken = undefined
    all.desk.env.SLIPWAY_KEY = all.peer.key
    const { code, stdout } = await all.publish()
    assert.equal(code, 0)
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.equal(all.remembered()[0]!.claimToken, undefined)
  })

  it('--site updates a site that this folder does not know', async () => {
    await using all = await setting()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    await all.publish()
    all.desk.write({ 'elsewhere/index.html': 'new' })
    const { stdout } = await all.desk.run(['publish', 'elsewhere', '--site', 'site-1'])
    assert.equal(stdout, 'http://site-1.sites.test/\n')
    assert.equal(all.peer.live('site-1').get('index.html')!.toString(), 'new')
  })

  it('--site never makes a new site in place of one that is missing', async () => {
    await using all = await setting()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    const { code, stderr } = await all.publish('--site', 'missing')
    assert.equal(code, 1)
    assert.match(stderr, /Error: The peer says NOT_FOUND/)
    assert.equal(all.peer.sites.size, 0)
  })
})

describe('without a key', () => {
  it('a site that was claimed meanwhile asks for its owner', async () => {
    await using all = await setting()
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
    await using all = await setting()
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
    await using all = await setting()
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
    await using all = await setting()
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

  it('starts a new version when the files are not the same any more', async () => {
    await using all = await setting()
    all.peer.misbehave = (call, _request, response) => {
      if (call.path.includes('style.css')) response.destroy()
      return call.path.includes('style.css')
    }
    await all.publish()
    all.peer.misbehave = () => false
    all.desk.write({ 'site/index.html': 'changed' })
    all.peer.calls.length = 0
    assert.equal((await all.publish()).stdout, 'http://site-1.sites.test/\n')
    assert.equal(all.peer.log[0], 'PUT /api/v1/publish/site-1')
    assert.equal(all.peer.live('site-1').get('index.html')!.toString(), 'changed')
  })
})

describe('files that change while they are published', () => {
  it('are read again, once', async () => {
    await using all = await setting()
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
    await using all = await setting()
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

describe('what cannot be published', () => {
  it('is said before anything is sent, with names', async () => {
    await using all = await setting()
    all.desk.write(Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`site/img/${at}.png`, 'x'])))
    const { code, stderr } = await all.publish()
    assert.equal(code, 1)
    assert.match(stderr, /1,003 files; a site can have at most 1,000 \(img\/ has 1,001\)/)
    assert.equal(all.peer.calls.length, 0)
  })

  it('an empty folder, a missing one, and the home folder', async () => {
    await using all = await setting()
    all.desk.write({ 'empty/.keep': 'x', 'void/nothing.txt': '' })
    assert.match((await all.desk.run(['publish', 'empty'])).stderr, /There is nothing to publish in /)
    assert.match((await all.desk.run(['publish', 'void'])).stderr, /Left out, being empty: nothing\.txt/)
    assert.match((await all.desk.run(['publish', 'missing'])).stderr, /There is no missing here/)
    assert.match((await all.desk.run(['publish', all.desk.home])).stderr, /holds more than a site/)
    assert.equal(all.peer.calls.length, 0)
  })
})

describe('what is left out', () => {
  it('is named in a short line', async () => {
    await using all = await setting()
    all.desk.write({
      'site/.env': 'SECRET=1',
      'site/node_modules/a.js': 'x',
      'site/empty.txt': '',
      'site/draft.md': 'x',
      'site/.slipwayignore': 'draft.md\n',
      'site/.well-known/security.txt': 'Contact: us',
    })
    const { stderr } = await all.publish()
    assert.match(stderr, /Left out: \.env, \.slipwayignore, draft\.md, node_modules\/\n/)
    assert.match(stderr, /Left out, being empty: empty\.txt\n/)
    assert.deepEqual([...all.peer.live('site-1').keys()].sort(), [
      '.well-known/security.txt',
      'index.html',
      'style.css',
    ])
  })

  it('--dry-run lists what would be published, and sends nothing', async () => {
    await using all = await setting()
    all.desk.write({ 'site/.env': 'SECRET=1' })
    const { code, stdout, stderr } = await all.publish('--dry-run')
    assert.equal(code, 0)
    assert.equal(stdout, 'index.html\nstyle.css\n')
    assert.match(stderr, /Left out by name: \.env\n2 files \(16 bytes\) would be published\./)
    assert.equal(all.peer.calls.length, 0)
  })

  it('a folder without index.html is pointed to the built one', async () => {
    await using all = await setting()
    all.desk.write({ 'project/package.json': '{}', 'project/a.js': 'x', 'project/dist/index.html': 'x' })
    const { stderr } = await all.desk.run(['publish', 'project'])
    assert.match(stderr, /Did you mean the folder \S+project\/dist\?/)
  })
})

describe('options', () => {
  it('travel with the manifest', async () => {
    await using all = await setting()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    await all.publish('--title', 'Hello', '--description', '', '--spa', '--ttl', '3600')
    const { files, ...viewer } = JSON.parse(all.peer.calls[0]!.body.toString())
    assert.equal(files.length, 2)
    assert.deepEqual(viewer, { title: 'Hello', description: null, spaMode: true, ttlSeconds: 3600 })
  })

  it('--draft prints the address of the version and how to make it live', async () => {
    await using all = await setting()
    const { stdout, stderr } = await all.publish('--draft')
    assert.match(stdout, /^http:\/\/\S+--site-1\.sites\.test\/\n$/)
    assert.match(stderr, /To make it live: slipway restore \S+/)
    assert.equal(all.peer.sites.get('site-1')!.live, undefined)
  })

  it('--json prints all of it in place of the address', async () => {
    await using all = await setting()
    const { siteUrl, claimUrl, files, live } = JSON.parse((await all.publish('--json')).stdout)
    assert.deepEqual({ siteUrl, files, live }, { siteUrl: 'http://site-1.sites.test/', files: 2, live: true })
    assert.match(claimUrl, /\/claim\?/)
  })

  it('--password asks on a terminal, without showing it, and is set once the site is there', async () => {
    await using all = await setting()
    all.desk.env.SLIPWAY_KEY = all.peer.key
    let change: unknown
    all.peer.misbehave = ({ method, path, body }, _request, response) => {
      if (method !== 'PATCH') return false
      change = [path, JSON.parse(body.toString())]
      answer(response, 200, {})
      return true
    }
    const { code, stderr } = await all.desk.run(['publish', 'site', '--password'], { typed: ['open sesame'] })
    assert.equal(code, 0)
    assert.doesNotMatch(stderr, /sesame/)
    assert.deepEqual(change, ['/api/v1/publish/site-1/metadata', { password: 'open sesame' }])
  })

  it('--password needs an account, and says so before anything is sent', async () => {
    await using all = await setting()
    const { code, stderr } = await all.publish('--password')
    assert.equal(code, 1)
    assert.match(stderr, /Only a site with an owner can have a password/)
    assert.equal(all.peer.calls.length, 0)
  })

  it('that make no sense give exit code 2', async () => {
    await using all = await setting()
    for (const args of [
      ['--ttl', 'soon'],
      ['--spa', '--no-spa'],
      ['--new', '--site', 'x'],
      ['--wat'],
      ['a', 'b'],
    ]) {
      const { code, stdout } = await all.publish(...args)
      assert.equal(code, 2, args.join(' '))
      assert.equal(stdout, '')
    }
    assert.equal(all.peer.calls.length, 0)
  })
})

describe('what the server says', () => {
  it('is repeated in its own words, every point of it', async () => {
    await using all = await setting()
    all.peer.misbehave = (_call, _request, response) => {
      const details = [
        { field: 'files[0].path', message: 'is odd' },
        { field: 'title', message: 'is too long' },
      ]
      answer(response, ...failure(400, 'VALIDATION_ERROR', details))
      return true
    }
    const { stderr } = await all.publish()
    assert.match(
      stderr,
      /Error: The peer says VALIDATION_ERROR\n {2}files\[0\]\.path: is odd\n {2}title: is too long\n/,
    )
  })

  it('about a rate limit comes with the time when it ends', async () => {
    await using all = await setting()
    all.peer.misbehave = (_call, _request, response) => {
      answer(response, ...failure(429, 'RATE_LIMITED'), { 'Retry-After': '1500' })
      return true
    }
    const { code, stderr } = await all.publish()
    assert.equal(code, 1)
    assert.match(
      stderr,
      /starts again in 25 min, at 2030-01-01 00:25 UTC\n {2}An account can do more: slipway login/,
    )
  })

  it('about the files, such as a broken redirect, is passed on', async () => {
    await using all = await setting()
    all.peer.misbehave = ({ path }, _request, response) => {
      if (!path.endsWith('/finalize')) return false
      const warnings = ['A plain one', { file: '_redirects', line: 3, message: 'has no target' }]
      answer(response, 200, {
        slug: 'site-1',
        siteUrl: 'http://site-1.sites.test/',
        versionId: 'v',
        warnings,
      })
      return true
    }
    const { stderr } = await all.publish()
    assert.match(stderr, /Careful: A plain one\nCareful: _redirects:3: has no target\n/)
  })

  it('when nothing answers, the next step is said', async () => {
    await using all = await setting()
    await all.peer[Symbol.asyncDispose]()
    const { code, stderr } = await all.publish()
    assert.equal(code, 1)
    assert.match(
      stderr,
      /Error: Nothing answers at http\S+ \(connection refused\)\n {2}Is the server running/,
    )
  })

  it('cannot move the cursor', async () => {
    await using all = await setting()
    all.peer.misbehave = (_call, _request, response) => {
      answer(response, 400, { error: '\u001b[2Jgone', code: 'VALIDATION_ERROR', status: 400 })
      return true
    }
    assert.ok(!(await all.publish()).stderr.includes(ESCAPE))
  })
})

describe('on a terminal', () => {
  it('a bar is drawn on stderr and wiped away before the address', async () => {
    await using all = await setting()
    const { stdout, stderr } = await all.desk.run(['publish', 'site'], { typed: [] })
    assert.ok(stderr.includes(`\r${ESCAPE}[KUploading █`))
    assert.ok(stderr.includes(`\r${ESCAPE}[K${ESCAPE}[32m✓${ESCAPE}[39m Published`))
    assert.equal(stdout, 'http://site-1.sites.test/\n')
  })

  it('NO_COLOR means no colours', async () => {
    await using all = await setting()
    const { stderr } = await all.desk.run(['publish', 'site'], { typed: [], env: { NO_COLOR: '1' } })
    assert.ok(!stderr.includes(`${ESCAPE}[3`))
  })
})
