import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { chooseServer, keyFor, namedServer, serverAddress } from '../../client/cli/server.ts'
import { readSettings } from '../../client/cli/settings.ts'
import { CredentialStore } from '../../client/cli/state/credentials.ts'
import { changePrivate } from '../../client/cli/state/private-file.ts'
import type { Terminal } from '../../client/cli/terminal/terminal.ts'
import { pluck } from '../support/pluck.ts'
import { CliHarness } from './cli-harness.ts'

const SERVER = 'https://slipway.test'
const LOCAL = 'http://localhost:8080'
const site = { server: SERVER, slug: 'calm-otter' }
const account = (key: string) => ({ key, email: 'ann@example.test' })
const mode = (path: string) => statSync(path).mode & 0o777

/** Stores 20 sites, as commands of a user without a file of keys. */
const REMEMBER = `
const { workerData: { name, cwd, home } } = require('node:worker_threads')
const state = (file) => import(${JSON.stringify(new URL('../../client/cli/state/', import.meta.url).href)} + file)
Promise.all([state('site-memory.ts'), state('credentials.ts')]).then(([{ SiteMemory }, { CredentialStore }]) => {
  const memory = new SiteMemory(cwd, new CredentialStore(home + '/.config/slipway/config.json'))
  for (let number = 0; number < 20; number++) {
    const slug = name + '-' + number
    memory.remember(cwd + '/' + slug, { server: ${JSON.stringify(SERVER)}, slug })
  }
})`

describe('the file of published sites', () => {
  it('is hidden from git and readable by its owner only, also when its permissions were changed', () => {
    using cli = new CliHarness()
    const memory = cli.siteMemory
    const [folder, file] = [join(cli.cwd, '.slipway'), join(cli.cwd, '.slipway/site.json')]
    for (const _ of ['created', 'changed']) {
      memory.remember(cli.cwd, { ...site, claimToken: 'secret' })
      assert.deepEqual([mode(folder), mode(file)], [0o700, 0o600])
      chmodSync(folder, 0o755)
      chmodSync(file, 0o644)
    }
    const ignore = join(folder, '.gitignore')
    assert.equal(readFileSync(ignore, 'utf8'), '*\n')
    for (const text of ['', '!site.json\n']) {
      cli.write({ '.slipway/.gitignore': text })
      memory.remember(cli.cwd, { ...site, claimToken: 'secret' })
      assert.equal(readFileSync(ignore, 'utf8'), '*\n', 'a folder may have come with another one')
    }
    assert.deepEqual(readdirSync(folder).sort(), ['.gitignore', 'site.json'], 'no temporary files')
  })

  it('keeps a site for each folder and each server', () => {
    using cli = new CliHarness()
    const memory = cli.siteMemory
    memory.remember(join(cli.cwd, 'a'), { ...site, slug: 'one' })
    memory.remember(join(cli.cwd, 'b'), { ...site, slug: 'two' })
    memory.remember(join(cli.cwd, 'a'), { ...site, slug: 'three', server: 'http://localhost:8080' })
    assert.equal(memory.find(join(cli.cwd, 'a'), SERVER)?.slug, 'one')
    assert.equal(memory.find(join(cli.cwd, 'b'), SERVER)?.slug, 'two')
    assert.equal(memory.find(join(cli.cwd, 'a'))?.slug, 'three')
    assert.equal(memory.find(join(cli.cwd, 'c')), undefined)
  })

  it('keeps the sites of commands that run at the same time, and after one that was killed', async () => {
    using cli = new CliHarness()
    await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const worker = new Worker(REMEMBER, {
          eval: true,
          workerData: { name, cwd: cli.cwd, home: cli.home },
        })
        assert.deepEqual(await once(worker, 'exit'), [0])
      }),
    )
    const sites = cli.siteMemory.all()
    assert.deepEqual([sites.length, sites.every(({ isOwn }) => isOwn)], [60, true])
    const file = join(cli.cwd, '.slipway/site.json')
    changePrivate(file, () => assert.ok(existsSync(`${file}.lock`), 'others wait'))
    cli.write({ '.slipway/site.json.lock/x': '' })
    utimesSync(`${file}.lock`, 0, 0)
    cli.siteMemory.remember(cli.cwd, site)
    assert.deepEqual(readdirSync(join(cli.cwd, '.slipway')).sort(), ['.gitignore', 'site.json'])
  })

  it('stays readable however many folders are published: without expired sites, then without the oldest', () => {
    using cli = new CliHarness()
    const memory = cli.siteMemory
    const [claimToken, old, live] = ['t'.repeat(4500), '2020-01-01T00:00:00.000Z', '2999-01-01T00:00:00.000Z']
    const remember = (slug: string, expiresAt: string) =>
      memory.remember(join(cli.cwd, slug), { ...site, slug, claimToken, expiresAt })
    const slugs = () => pluck(memory.all(), 'slug')
    for (let number = 0; number < 60; number++) {
      remember(`live-${number}`, live)
      remember(`old-${number}`, old)
    }
    assert.deepEqual(slugs().filter((slug) => slug.startsWith('live')).length, 60)
    assert.ok(!slugs().includes('old-0'))
    for (let number = 60; number < 180; number++) remember(`live-${number}`, live)
    assert.deepEqual([slugs()[0], slugs().includes('live-0')], ['live-179', false])
    assert.ok(slugs().length > 90)
  })

  it('has no claim token once the site is claimed', () => {
    using cli = new CliHarness()
    const memory = cli.siteMemory
    memory.remember(cli.cwd, { ...site, claimToken: 'secret', expiresAt: 'y' })
    assert.equal(memory.find(cli.cwd)?.claimUrl, `${SERVER}/claim?slug=calm-otter&token=secret`)
    memory.markClaimed(site.slug, SERVER)
    assert.deepEqual(memory.find(cli.cwd), { ...site, folder: '.', isOwn: true })
  })

  it('is that of the user only with the seal of this user, also after a rename', () => {
    using cli = new CliHarness()
    using stranger = new CliHarness()
    const path = '.slipway/site.json'
    const readState = () => readFileSync(join(cli.cwd, path), 'utf8')
    const isOwn = () => {
      const { isOwn, liveVersionId, pending } = cli.siteMemory.find(cli.cwd)!
      assert.deepEqual([liveVersionId, pending?.versionId], isOwn ? ['v1', 'v2'] : [undefined, undefined])
      return isOwn
    }
    const stored = { ...site, liveVersionId: 'v1', pending: { versionId: 'v2', manifest: 'x' } }
    stranger.siteMemory.remember(stranger.cwd, stored)
    cli.siteMemory.remember(cli.cwd, stored)
    assert.equal(isOwn(), true)
    cli.siteMemory.rename(site.slug, SERVER, 'brave-otter')
    assert.equal(isOwn(), true)
    const own = readState()
    for (const text of [
      readFileSync(join(stranger.cwd, path), 'utf8'),
      own.replaceAll('brave-otter', site.slug),
      own.replaceAll(SERVER, 'https://other.test'),
      own.replace(/"seal".*/, '"seal": ""'),
    ]) {
      cli.write({ [path]: text })
      assert.equal(isOwn(), false)
    }
    cli.siteMemory.remember(join(cli.cwd, 'b'), site)
    assert.equal(isOwn(), false, 'nor is it after another one was stored')
  })

  it('is named in the error when it is invalid', () => {
    const text = (change: object) => JSON.stringify({ sites: [{ ...site, folder: '.', ...change }] })
    const invalid = [
      '{',
      '{"sites":{}}',
      '{"sites":[null]}',
      `{"sites":[]}${' '.repeat(2 ** 20)}`,
      ...[
        { slug: '../me/key' },
        { server: 'ftp://slipway.test' },
        { server: 'https://slipway.test/?x' },
        { folder: 1 },
        { claimToken: {} },
        { pending: { versionId: 1 } },
      ].map(text),
    ]
    for (const content of invalid) {
      using cli = new CliHarness()
      cli.write({ '.slipway/site.json': content })
      assert.throws(() => cli.siteMemory.all(), /site\.json is (not|too long)/, content.slice(0, 80))
    }
  })

  it('is not read from a pipe, which has no end', { skip: process.platform === 'win32' }, () => {
    using cli = new CliHarness()
    mkdirSync(join(cli.cwd, '.slipway'))
    execFileSync('mkfifo', [join(cli.cwd, '.slipway/site.json')])
    assert.throws(() => cli.siteMemory.all(), /is a special file/)
  })

  it('is not read or written through a symbolic link', () => {
    for (const linked of ['.slipway', '.slipway/site.json', '.slipway/.gitignore']) {
      using cli = new CliHarness()
      using elsewhere = new CliHarness()
      elsewhere.write({ 'site.json': JSON.stringify({ sites: [{ ...site, folder: '.' }] }) })
      chmodSync(elsewhere.cwd, 0o755)
      if (linked !== '.slipway') mkdirSync(join(cli.cwd, '.slipway'))
      const target = { '.slipway': '', '.slipway/site.json': 'site.json' }[linked] ?? 'created'
      symlinkSync(join(elsewhere.cwd, target), join(cli.cwd, linked))
      const memory = cli.siteMemory
      if (target === 'created') memory.remember(cli.cwd, site)
      else {
        assert.throws(() => memory.all(), /is a symbolic link/)
        assert.throws(() => memory.remember(cli.cwd, site), /is a symbolic link/)
      }
      assert.deepEqual([readdirSync(elsewhere.cwd), mode(elsewhere.cwd)], [['site.json'], 0o755])
    }
  })
})

it('keys are readable by their owner only, belong to one server each, and are removed one by one', () => {
  using cli = new CliHarness()
  const file = join(cli.home, '.config/slipway/config.json')
  const credentials = new CredentialStore(file)
  credentials.remember(SERVER, account('sl_live_1'))
  assert.equal(mode(file), 0o600)
  credentials.remember(LOCAL, account('sl_live_2'))
  assert.equal(credentials.server, LOCAL)
  const keys = [SERVER, LOCAL].map((server) => credentials.keyFor(server))
  assert.deepEqual(keys, ['sl_live_1', 'sl_live_2'])
  assert.equal(credentials.keyFor('https://other.test'), undefined)
  assert.equal(credentials.forget(SERVER), true)
  assert.equal(credentials.forget(SERVER), false)
  assert.equal(credentials.keyFor(SERVER), undefined)
  for (const wrong of ['5', '[]', '{"servers":5}', '{"sealKey":5}', '{"keys":{"a":5}}']) {
    writeFileSync(file, wrong)
    assert.throws(() => credentials.knows(SERVER), /config\.json has values of other types/)
  }
})

describe('the server', () => {
  /** The choices of a command in a new home folder. */
  const start = (variables: Record<string, string> = {}, packageServer?: string) => {
    const cli = new CliHarness()
    const credentials = new CredentialStore(join(cli.home, 'config.json'))
    const terminal = { interactive: false } as Terminal
    const settings = readSettings({ HOME: cli.home, ...variables }, packageServer)
    return {
      settings,
      credentials,
      choose: (folder?: string) => chooseServer(undefined, folder, { settings, credentials, terminal }),
      key: (server: string, option?: string) => keyFor(server, { option, settings, credentials }),
      [Symbol.dispose]: () => cli[Symbol.dispose](),
    }
  }

  it('is that of the option, else of SLIPWAY_URL, else of the folder if it was used before, else this machine', async () => {
    using server = start({ SLIPWAY_URL: 'https://from-env.test' })
    assert.equal(namedServer('https://from-option.test', server.settings), 'https://from-option.test')
    assert.equal(namedServer(undefined, server.settings), 'https://from-env.test')
    assert.equal(await server.choose(), LOCAL)
    server.credentials.remember('https://from-login.test', account('k'))
    assert.equal(await server.choose(), 'https://from-login.test')
    await assert.rejects(server.choose('https://from-folder.test'), /haven't used on this machine: https:/)
    server.credentials.addServer('https://from-folder.test')
    assert.equal(await server.choose('https://from-folder.test'), 'https://from-folder.test')
  })

  const PACKAGE = 'https://package.test'
  const FOLDER = 'https://folder.test'
  const npx = { npm_command: 'exec' }
  for (const [sentence, { env = {}, signedIn, folder }, expected] of [
    ['is the one it was downloaded from', {}, PACKAGE],
    ['is that of the last sign-in when the client is installed', { signedIn: SERVER }, SERVER],
    ['is the one in the npx command, also after a sign-in', { env: npx, signedIn: SERVER }, PACKAGE],
    ['is that of the folder', { env: npx, folder: FOLDER }, FOLDER],
  ] as [string, { env?: Record<string, string>; signedIn?: string; folder?: string }, string][]) {
    it(`of a downloaded client ${sentence}`, async () => {
      using server = start({ SLIPWAY_KEY: 'sl_live_env', ...env }, PACKAGE)
      if (signedIn) server.credentials.remember(signedIn, account('sl_live_1'))
      if (folder) server.credentials.addServer(folder)
      assert.equal(await server.choose(folder), expected)
      assert.equal(server.key(expected === SERVER ? SERVER : PACKAGE), 'sl_live_env')
      assert.equal(server.key('https://other.test'), undefined)
    })
  }

  it('is normalized, and https unless it is this machine', () => {
    assert.equal(serverAddress('Slipway.Test/'), 'https://slipway.test')
    assert.equal(serverAddress('localhost:8080'), LOCAL)
    assert.equal(serverAddress('https://slipway.test:443/'), 'https://slipway.test')
    for (const wrong of [
      'ftp://x',
      'http://',
      'http://a b',
      'https://x/?y',
      'https://x/sites/bakery',
      'https://user@x',
      'https://:pw@x',
    ]) {
      assert.throws(() => serverAddress(wrong), /is not a server URL/, wrong)
    }
    assert.throws(() => serverAddress('https://user:pw@x/'), /^CliError: https:\/\/x\/ is not a server URL/)
    for (const name of ['localhost.evil.test', '127.evil.test', 'localhostx'])
      assert.equal(serverAddress(name), `https://${name}`)
  })

  it('gets SLIPWAY_KEY only when it was named by the user, not by a folder', () => {
    using server = start({ SLIPWAY_KEY: 'sl_live_env' })
    assert.equal(server.key(LOCAL), 'sl_live_env')
    assert.equal(server.key(SERVER, SERVER), 'sl_live_env')
    assert.equal(server.key('https://evil.test'), undefined)
    server.credentials.remember(SERVER, account('sl_live_login'))
    assert.equal(server.key(SERVER), 'sl_live_env')
    assert.equal(server.key(LOCAL), undefined)
  })

  it('gets the key for SLIPWAY_URL only if it is that server', () => {
    using server = start({ SLIPWAY_KEY: 'sl_live_env', SLIPWAY_URL: SERVER })
    assert.equal(server.key(SERVER), 'sl_live_env')
    assert.equal(server.key('https://other.test', 'https://other.test'), undefined)
  })
})
