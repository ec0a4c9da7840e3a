import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { SiteMemory } from '../../client/cli/memory/site-memory.ts'
import { Desk } from './desk.ts'
import { answer, failure, Peer } from './peer.ts'

const KEY = 'sl_live_0123456789abcdef0123456789abcdef'

/** A desk and a server whose answers are given by "METHOD /path". */
async function setting(answers: Record<string, unknown> = {}) {
  const peer = await Peer.start()
  const desk = new Desk()
  desk.env.SLIPWAY_URL = peer.url
  const all: Record<string, unknown> = {
    'POST /api/auth/agent/request-code': {
      message: 'Sent',
      email: 'ann@example.test',
      expiresInSeconds: 600,
    },
    'POST /api/auth/agent/verify-code': {
      apiKey: KEY,
      email: 'ann@example.test',
      plan: 'free',
      isNewUser: true,
    },
    ...answers,
  }
  peer.misbehave = ({ method, path }, _request, response) => {
    const found = all[`${method} ${path}`]
    if (found === undefined) answer(response, ...failure(404, 'NOT_FOUND'))
    else answer(response, 200, found)
    return true
  }
  return {
    peer,
    desk,
    config: join(desk.home, '.config/slipway/config.json'),
    remember: (slug: string, more: object = {}) => {
      const site = { server: peer.url, slug, siteUrl: `http://${slug}.sites.test/`, ...more }
      new SiteMemory(desk.cwd).remember(join(desk.cwd, slug), site)
    },
    bodies: () => peer.calls.map(({ body }) => (body.length > 0 ? JSON.parse(body.toString()) : undefined)),
    async [Symbol.asyncDispose]() {
      desk[Symbol.dispose]()
      await peer[Symbol.asyncDispose]()
    },
  }
}

describe('login', () => {
  it('asks for the address and the code, and remembers the key for this server', async () => {
    await using all = await setting()
    const { code, stderr } = await all.desk.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.equal(code, 0)
    assert.match(stderr, /A code is on its way to ann@example\.test\. It lasts 10 min\./)
    assert.match(stderr, /Welcome\. You are signed in at http:\S+ as ann@example\.test\./)
    assert.deepEqual(all.bodies()[1], { email: 'ann@example.test', code: 'ABCD-EFGH' })
    const { server, keys } = JSON.parse(readFileSync(all.config, 'utf8'))
    assert.equal(server, all.peer.url)
    assert.equal(keys[all.peer.url].key, KEY)
    assert.equal(statSync(all.config).mode & 0o777, 0o600)
  })

  it('never shows the key', async () => {
    await using all = await setting()
    const { stdout, stderr } = await all.desk.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.ok(!`${stdout}${stderr}`.includes(KEY))
  })

  it('goes in two steps for a program', async () => {
    await using all = await setting()
    const first = await all.desk.run(['login', '--email', 'ann@example.test'])
    assert.equal(first.code, 0)
    assert.match(first.stderr, /Then: slipway login --email ann@example\.test --code CODE/)
    const second = await all.desk.run(['login', '--email', 'ann@example.test', '--code', 'ABCD-EFGH'])
    assert.equal(second.code, 0)
    assert.deepEqual(all.peer.log, ['POST /api/auth/agent/request-code', 'POST /api/auth/agent/verify-code'])
  })

  it('does not wait for an answer where nobody is', async () => {
    await using all = await setting()
    const { code, stderr } = await all.desk.run(['login'])
    assert.equal(code, 2)
    assert.match(stderr, /slipway login --email ADDRESS/)
  })

  it('says what to do about a wrong code', async () => {
    await using all = await setting()
    all.peer.misbehave = (_call, _request, response) => {
      answer(response, ...failure(400, 'INVALID_CODE'))
      return true
    }
    const { code, stderr } = await all.desk.run(['login', '--email', 'a@b.test', '--code', 'XXXX-XXXX'])
    assert.equal(code, 1)
    assert.match(stderr, /A code lasts 10 minutes and works once/)
  })

  it('stops when the keyboard goes away', async () => {
    await using all = await setting()
    const { code, stderr } = await all.desk.run(['login'], { typed: [] })
    assert.equal(code, 1)
    assert.match(stderr, /There was no answer/)
  })

  it('is what later commands go by: the server and its key', async () => {
    await using all = await setting({
      'GET /api/v1/publishes?limit=100': { publishes: [], nextCursor: null },
    })
    await all.desk.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    all.desk.env = {}
    const { code, stderr } = await all.desk.run(['sites'])
    assert.equal(code, 0)
    assert.match(stderr, /You have no sites yet/)
    assert.equal(all.peer.calls.at(-1)!.key, KEY)
  })

  it('is offered for the server that is meant, where that is another than the usual one', async () => {
    await using all = await setting()
    all.desk.env = {}
    const elsewhere = await all.desk.run(['sites', '--server', 'https://other.test'])
    assert.match(elsewhere.stderr, /Sign in: slipway login --server https:\/\/other\.test\n/)
    all.remember('otter')
    assert.match((await all.desk.run(['sites'])).stderr, /Sign in: slipway login\n/)
  })

  it('is for the server that the folder remembers', async () => {
    await using all = await setting()
    all.remember('otter')
    all.desk.env = {}
    const { stderr } = await all.desk.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.ok(stderr.includes(`You are signed in at ${all.peer.url} `))
  })

  it('and logout ends it', async () => {
    await using all = await setting()
    await all.desk.run(['login'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.match((await all.desk.run(['logout'])).stderr, /Signed out of http/)
    assert.match((await all.desk.run(['logout'])).stderr, /You were not signed in at http/)
    const { code, stderr } = await all.desk.run(['sites'])
    assert.equal(code, 1)
    assert.match(stderr, /You are not signed in at http\S+\n {2}Sign in: slipway login/)
  })
})

describe('sites', () => {
  const summary = {
    slug: 'calm-otter',
    siteUrl: 'http://calm-otter.sites.test/',
    status: 'active',
    title: 'Otters',
    fileCount: 1200,
    totalBytes: 3_900_000,
    updatedAt: '2030-01-01T10:20:30.000Z',
    expiresAt: null,
  }
  const answers = { 'GET /api/v1/publishes?limit=100': { publishes: [summary], nextCursor: null } }

  it('are listed on stdout', async () => {
    await using all = await setting(answers)
    const { stdout } = await all.desk.run(['sites'], { env: { SLIPWAY_KEY: KEY } })
    const [head, row] = stdout.split('\n')
    assert.match(head!, /^SLUG +ADDRESS +FILES +SIZE +CHANGED +EXPIRES +TITLE$/)
    assert.match(
      row!,
      /^calm-otter +http:\/\/calm-otter\.sites\.test\/ +1,200 +3\.9 MB +2030-01-01 10:20 UTC +never +Otters$/,
    )
  })

  it('are JSON when asked for', async () => {
    await using all = await setting(answers)
    const { stdout } = await all.desk.run(['sites', '--json'], { env: { SLIPWAY_KEY: KEY } })
    assert.deepEqual(JSON.parse(stdout), [summary])
  })

  it('and a key that has ended is told from no key', async () => {
    await using all = await setting()
    all.peer.misbehave = (_call, _request, response) => {
      answer(response, ...failure(401, 'UNAUTHORIZED'))
      return true
    }
    const { stderr } = await all.desk.run(['sites'], { env: { SLIPWAY_KEY: KEY } })
    assert.match(stderr, /The key is the one in SLIPWAY_KEY/)
  })
})

describe('a site of this folder', () => {
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
    'POST /api/v1/publish/otter/versions/v2/restore': { siteUrl: 'http://otter.sites.test/' },
    'DELETE /api/v1/publish/otter': { slug: 'otter', deleted: true },
    'GET /api/v1/publish/badger': { siteUrl: 'http://badger.sites.test/' },
    'POST /api/v1/publish/otter/claim': { success: true, slug: 'otter', siteUrl: 'http://otter.sites.test/' },
  }
  const keyed = { env: { SLIPWAY_KEY: KEY } }

  it('versions lists what is kept, live and draft', async () => {
    await using all = await setting(answers)
    all.remember('otter')
    const { stdout, stderr } = await all.desk.run(['versions'], keyed)
    assert.match(stdout, /^v2 +draft +2030-01-02 00:00 UTC +2 +9 bytes +http:\/\/v2--otter/m)
    assert.match(stdout, /^v1 +live /m)
    assert.match(stderr, /slipway restore VERSION/)
  })

  it('restore makes a version live and prints the address', async () => {
    await using all = await setting(answers)
    all.remember('otter')
    const { stdout, stderr } = await all.desk.run(['restore', 'v2'], keyed)
    assert.equal(stdout, 'http://otter.sites.test/\n')
    assert.match(stderr, /v2 is live/)
    assert.equal((await all.desk.run(['restore'], keyed)).code, 2)
  })

  it('delete asks to type the name', async () => {
    await using all = await setting(answers)
    all.remember('otter')
    const wrong = await all.desk.run(['delete'], { ...keyed, typed: ['oter'] })
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /so nothing was deleted/)
    assert.equal(all.peer.calls.length, 0)
    const right = await all.desk.run(['delete'], { ...keyed, typed: ['otter'] })
    assert.equal(right.code, 0)
    assert.match(right.stderr, /otter is deleted/)
  })

  it('delete never asks a program, which has to say --yes', async () => {
    await using all = await setting(answers)
    all.remember('otter')
    assert.equal((await all.desk.run(['delete'], keyed)).code, 2)
    assert.equal(all.peer.calls.length, 0)
    assert.equal((await all.desk.run(['delete', '--yes'], keyed)).code, 0)
    assert.equal(new SiteMemory(all.desk.cwd).all().length, 0)
  })

  it('open prints the address and opens a browser where there is one', async () => {
    await using all = await setting(answers)
    all.remember('otter')
    assert.equal((await all.desk.run(['open'])).stdout, 'http://otter.sites.test/\n')
    assert.deepEqual(all.desk.launched, [])
    await all.desk.run(['open'], { env: { DISPLAY: ':0' } })
    assert.deepEqual(all.desk.launched, [['xdg-open', 'http://otter.sites.test/']])
  })

  it('another one is named with --site', async () => {
    await using all = await setting(answers)
    all.remember('otter')
    const { stdout } = await all.desk.run(['open', '--site', 'badger'], keyed)
    assert.equal(stdout, 'http://badger.sites.test/\n')
  })

  it('has to be named when there are several, or none', async () => {
    await using all = await setting(answers)
    assert.match((await all.desk.run(['open'])).stderr, /No site was published from this folder/)
    all.remember('otter')
    all.remember('badger')
    const { code, stderr } = await all.desk.run(['open'])
    assert.equal(code, 1)
    assert.match(stderr, /Name one:\n {2}--site badger \(badger, http\S+\)\n {2}--site otter \(otter/)
  })

  it('without an owner has to be claimed first', async () => {
    await using all = await setting(answers)
    all.remember('otter', { claimToken: 'secret' })
    const { code, stderr } = await all.desk.run(['versions'], keyed)
    assert.equal(code, 1)
    assert.match(stderr, /has no owner yet\n {2}Make it yours first: slipway claim/)
  })

  it('claim makes it yours and forgets the token', async () => {
    await using all = await setting(answers)
    all.remember('otter', { claimToken: 'secret', claimUrl: 'x', expiresAt: 'y' })
    const { code, stdout, stderr } = await all.desk.run(['claim'], keyed)
    assert.equal(code, 0)
    assert.equal(stdout, 'http://otter.sites.test/\n')
    assert.match(stderr, /otter is yours now and does not expire/)
    assert.deepEqual(all.bodies(), [{ claimToken: 'secret' }])
    assert.equal(new SiteMemory(all.desk.cwd).all()[0]!.claimToken, undefined)
  })

  it('claim signs a person in on the way', async () => {
    await using all = await setting(answers)
    all.remember('otter', { claimToken: 'secret' })
    const { code } = await all.desk.run(['claim'], { typed: ['ann@example.test', 'ABCD-EFGH'] })
    assert.equal(code, 0)
    assert.equal(all.peer.calls.at(-1)!.key, KEY)
  })

  it('claim takes a link from anywhere, and speaks to its server only', async () => {
    await using all = await setting(answers)
    const link = `${all.peer.url}/claim?slug=otter&token=secret`
    const { code } = await all.desk.run(['claim', link], keyed)
    assert.equal(code, 0)
    const { code: other, stderr } = await all.desk.run(['claim', link], {
      env: { SLIPWAY_KEY: KEY, SLIPWAY_URL: 'http://localhost:1' },
    })
    assert.equal(other, 1)
    assert.match(stderr, /SLIPWAY_KEY is not sent to http:\/\/127\.0\.0\.1/)
    assert.match(stderr, /You are not signed in at http:\/\/127\.0\.0\.1/)
    assert.equal((await all.desk.run(['claim', 'https://example.test/'], keyed)).code, 2)
  })
})

describe('the program', () => {
  it('explains itself on stdout', async () => {
    using desk = new Desk()
    const { code, stdout, stderr } = await desk.run([])
    assert.equal(code, 0)
    assert.equal(stderr, '')
    for (const name of [
      'publish',
      'login',
      'logout',
      'sites',
      'open',
      'versions',
      'restore',
      'delete',
      'claim',
    ]) {
      assert.match(stdout, new RegExp(`^ {2}${name} `, 'm'))
    }
  })

  it('explains each command, by help and by --help', async () => {
    using desk = new Desk()
    const { stdout } = await desk.run(['help', 'publish'])
    assert.match(stdout, /--ttl SECONDS/)
    assert.equal((await desk.run(['publish', '--help'])).stdout, stdout)
    assert.equal((await desk.run(['--help', 'publish'])).stdout, stdout)
  })

  it('says its version', async () => {
    using desk = new Desk()
    assert.equal((await desk.run(['--version'])).stdout, '1.2.3\n')
  })

  it('guesses what was meant', async () => {
    using desk = new Desk()
    const typo = await desk.run(['pubilsh'])
    assert.equal(typo.code, 2)
    assert.match(typo.stderr, /Did you mean: slipway publish/)
    assert.match((await desk.run(['./dist'])).stderr, /To publish a folder: slipway publish \.\/dist/)
    assert.match((await desk.run(['frobnicate'])).stderr, /See: slipway help/)
    assert.match((await desk.run(['sites', '--wat'])).stderr, /See: slipway help sites/)
  })
})
