import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { chooseServer, keyFor, namedServer, serverAddress } from '../../client/cli/server.ts'
import { readSettings } from '../../client/cli/settings.ts'
import { CredentialStore } from '../../client/cli/state/credentials.ts'
import { SiteMemory } from '../../client/cli/state/site-memory.ts'
import { CliHarness } from './desk.ts'

const SERVER = 'https://slipway.test'
const site = { server: SERVER, slug: 'calm-otter', siteUrl: 'https://calm-otter.slipway.test/' }
const mode = (path: string) => statSync(path).mode & 0o777

describe('the memory of what was published', () => {
  it('is readable by its owner only, and hidden from git', () => {
    using desk = new CliHarness()
    new SiteMemory(desk.cwd).remember(desk.cwd, { ...site, claimToken: 'secret' })
    assert.equal(mode(join(desk.cwd, '.slipway')), 0o700)
    assert.equal(mode(join(desk.cwd, '.slipway/site.json')), 0o600)
    assert.equal(readFileSync(join(desk.cwd, '.slipway/.gitignore'), 'utf8'), '*\n')
  })

  it('closes again what was opened to others', () => {
    using desk = new CliHarness()
    const memory = new SiteMemory(desk.cwd)
    memory.remember(desk.cwd, site)
    chmodSync(join(desk.cwd, '.slipway'), 0o755)
    chmodSync(join(desk.cwd, '.slipway/site.json'), 0o644)
    memory.remember(desk.cwd, site)
    assert.equal(mode(join(desk.cwd, '.slipway')), 0o700)
    assert.equal(mode(join(desk.cwd, '.slipway/site.json')), 0o600)
  })

  it('leaves nothing half-written beside it', () => {
    using desk = new CliHarness()
    new SiteMemory(desk.cwd).remember(desk.cwd, site)
    assert.deepEqual(readdirSync(join(desk.cwd, '.slipway')).sort(), ['.gitignore', 'site.json'])
  })

  it('takes two folders for two sites, and one folder on two servers too', () => {
    using desk = new CliHarness()
    const memory = new SiteMemory(desk.cwd)
    memory.remember(join(desk.cwd, 'a'), { ...site, slug: 'one' })
    memory.remember(join(desk.cwd, 'b'), { ...site, slug: 'two' })
    memory.remember(join(desk.cwd, 'a'), { ...site, slug: 'three', server: 'http://localhost:8080' })
    assert.equal(memory.find(join(desk.cwd, 'a'), SERVER)?.slug, 'one')
    assert.equal(memory.find(join(desk.cwd, 'b'), SERVER)?.slug, 'two')
    assert.equal(memory.find(join(desk.cwd, 'a'))?.slug, 'three')
    assert.equal(memory.find(join(desk.cwd, 'c')), undefined)
  })

  it('has no claim token any more once the site is claimed', () => {
    using desk = new CliHarness()
    const memory = new SiteMemory(desk.cwd)
    memory.remember(desk.cwd, { ...site, claimToken: 'secret', claimUrl: 'x', expiresAt: 'y' })
    memory.markClaimed(site.slug, SERVER)
    assert.deepEqual(memory.find(desk.cwd), { ...site, folder: '.' })
  })

  it('says which file to repair when it is not JSON', () => {
    using desk = new CliHarness()
    desk.write({ '.slipway/site.json': '{' })
    assert.throws(() => new SiteMemory(desk.cwd).all(), /site\.json is not JSON any more/)
  })
})

describe('keys', () => {
  it('are readable by their owner only', () => {
    using desk = new CliHarness()
    const file = join(desk.home, '.config/slipway/config.json')
    new CredentialStore(file).remember(SERVER, 'sl_live_1', 'ann@example.test')
    assert.equal(mode(file), 0o600)
  })

  it('belong to one server each', () => {
    using desk = new CliHarness()
    const credentials = new CredentialStore(join(desk.home, 'config.json'))
    credentials.remember(SERVER, 'sl_live_1', 'ann@example.test')
    credentials.remember('http://localhost:8080', 'sl_live_2', 'ann@example.test')
    assert.equal(credentials.keyFor(SERVER), 'sl_live_1')
    assert.equal(credentials.keyFor('http://localhost:8080'), 'sl_live_2')
    assert.equal(credentials.keyFor('https://other.test'), undefined)
    assert.equal(credentials.server, 'http://localhost:8080')
  })

  it('are forgotten one by one', () => {
    using desk = new CliHarness()
    const credentials = new CredentialStore(join(desk.home, 'config.json'))
    credentials.remember(SERVER, 'sl_live_1', 'ann@example.test')
    assert.equal(credentials.forget(SERVER), true)
    assert.equal(credentials.forget(SERVER), false)
    assert.equal(credentials.keyFor(SERVER), undefined)
  })
})

describe('the server', () => {
  const env = (variables: Record<string, string>) => readSettings({ HOME: '/home/ann', ...variables })

  it('is the one named by the option, else by SLIPWAY_URL, else remembered, else here', () => {
    using desk = new CliHarness()
    const credentials = new CredentialStore(join(desk.home, 'config.json'))
    const settings = env({ SLIPWAY_URL: 'https://from-env.test' })
    assert.equal(namedServer('https://from-option.test', settings), 'https://from-option.test')
    assert.equal(namedServer(undefined, settings), 'https://from-env.test')
    assert.equal(chooseServer(undefined, undefined, credentials), 'http://localhost:8080')
    credentials.remember('https://from-login.test', 'k', 'e')
    assert.equal(chooseServer(undefined, undefined, credentials), 'https://from-login.test')
    assert.equal(chooseServer(undefined, 'https://from-folder.test', credentials), 'https://from-folder.test')
  })

  it('has one spelling, and https unless it is this machine', () => {
    assert.equal(serverAddress('Slipway.Test/'), 'https://slipway.test')
    assert.equal(serverAddress('localhost:8080'), 'http://localhost:8080')
    assert.equal(serverAddress('https://slipway.test:443/base/'), 'https://slipway.test/base')
    for (const wrong of ['ftp://x', 'http://', 'http://a b', 'https://x/?y', 'https://user@x']) {
      assert.throws(() => serverAddress(wrong), /is not the address of a server/, wrong)
    }
  })

  it('gets SLIPWAY_KEY only when it was named by a person, not by a folder', () => {
    using desk = new CliHarness()
    const credentials = new CredentialStore(join(desk.home, 'config.json'))
    const settings = env({ SLIPWAY_KEY: 'sl_live_env' })
    const key = (server: string, option?: string) => keyFor(server, { option, settings, credentials })
    assert.equal(key('http://localhost:8080'), 'sl_live_env')
    assert.equal(key(SERVER, SERVER), 'sl_live_env')
    assert.equal(key('https://evil.test'), undefined)
    credentials.remember(SERVER, 'sl_live_login', 'ann@example.test')
    assert.equal(key(SERVER), 'sl_live_env')
    assert.equal(key('http://localhost:8080'), undefined)
  })

  it('gets the key of SLIPWAY_URL only when it is that server', () => {
    using desk = new CliHarness()
    const credentials = new CredentialStore(join(desk.home, 'config.json'))
    const settings = env({ SLIPWAY_KEY: 'sl_live_env', SLIPWAY_URL: SERVER })
    const key = (server: string, option?: string) => keyFor(server, { option, settings, credentials })
    assert.equal(key(SERVER), 'sl_live_env')
    assert.equal(key('https://other.test', 'https://other.test'), undefined)
  })
})
