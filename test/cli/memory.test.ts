import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { chooseServer, keyFor, namedServer, serverAddress } from '../../client/cli/server.ts'
import { readSettings } from '../../client/cli/settings.ts'
import { CredentialStore } from '../../client/cli/state/credentials.ts'
import { SiteMemory } from '../../client/cli/state/site-memory.ts'
import { CliHarness } from './cli-harness.ts'

const SERVER = 'https://slipway.test'
const site = { server: SERVER, slug: 'calm-otter', siteUrl: 'https://calm-otter.slipway.test/' }
const mode = (path: string) => statSync(path).mode & 0o777

describe('the file of published sites', () => {
  it('is readable by its owner only, and hidden from git', () => {
    using cli = new CliHarness()
    new SiteMemory(cli.cwd).remember(cli.cwd, { ...site, claimToken: 'secret' })
    assert.equal(mode(join(cli.cwd, '.slipway')), 0o700)
    assert.equal(mode(join(cli.cwd, '.slipway/site.json')), 0o600)
    assert.equal(readFileSync(join(cli.cwd, '.slipway/.gitignore'), 'utf8'), '*\n')
  })

  it('removes permissions that others got since', () => {
    using cli = new CliHarness()
    const memory = new SiteMemory(cli.cwd)
    memory.remember(cli.cwd, site)
    chmodSync(join(cli.cwd, '.slipway'), 0o755)
    chmodSync(join(cli.cwd, '.slipway/site.json'), 0o644)
    memory.remember(cli.cwd, site)
    assert.equal(mode(join(cli.cwd, '.slipway')), 0o700)
    assert.equal(mode(join(cli.cwd, '.slipway/site.json')), 0o600)
  })

  it('leaves no temporary files', () => {
    using cli = new CliHarness()
    new SiteMemory(cli.cwd).remember(cli.cwd, site)
    assert.deepEqual(readdirSync(join(cli.cwd, '.slipway')).sort(), ['.gitignore', 'site.json'])
  })

  it('keeps a site for each folder and each server', () => {
    using cli = new CliHarness()
    const memory = new SiteMemory(cli.cwd)
    memory.remember(join(cli.cwd, 'a'), { ...site, slug: 'one' })
    memory.remember(join(cli.cwd, 'b'), { ...site, slug: 'two' })
    memory.remember(join(cli.cwd, 'a'), { ...site, slug: 'three', server: 'http://localhost:8080' })
    assert.equal(memory.find(join(cli.cwd, 'a'), SERVER)?.slug, 'one')
    assert.equal(memory.find(join(cli.cwd, 'b'), SERVER)?.slug, 'two')
    assert.equal(memory.find(join(cli.cwd, 'a'))?.slug, 'three')
    assert.equal(memory.find(join(cli.cwd, 'c')), undefined)
  })

  it('has no claim token once the site is claimed', () => {
    using cli = new CliHarness()
    const memory = new SiteMemory(cli.cwd)
    memory.remember(cli.cwd, { ...site, claimToken: 'secret', claimUrl: 'x', expiresAt: 'y' })
    memory.markClaimed(site.slug, SERVER)
    assert.deepEqual(memory.find(cli.cwd), { ...site, folder: '.' })
  })

  it('is named in the error when it is not JSON', () => {
    using cli = new CliHarness()
    cli.write({ '.slipway/site.json': '{' })
    assert.throws(() => new SiteMemory(cli.cwd).all(), /site\.json is not valid JSON/)
  })
})

describe('keys', () => {
  it('are readable by their owner only', () => {
    using cli = new CliHarness()
    const file = join(cli.home, '.config/slipway/config.json')
    new CredentialStore(file).remember(SERVER, { key: 'sl_live_1', email: 'ann@example.test' })
    assert.equal(mode(file), 0o600)
  })

  it('belong to one server each', () => {
    using cli = new CliHarness()
    const credentials = new CredentialStore(join(cli.home, 'config.json'))
    credentials.remember(SERVER, { key: 'sl_live_1', email: 'ann@example.test' })
    credentials.remember('http://localhost:8080', { key: 'sl_live_2', email: 'ann@example.test' })
    assert.equal(credentials.keyFor(SERVER), 'sl_live_1')
    assert.equal(credentials.keyFor('http://localhost:8080'), 'sl_live_2')
    assert.equal(credentials.keyFor('https://other.test'), undefined)
    assert.equal(credentials.server, 'http://localhost:8080')
  })

  it('are removed one by one', () => {
    using cli = new CliHarness()
    const credentials = new CredentialStore(join(cli.home, 'config.json'))
    credentials.remember(SERVER, { key: 'sl_live_1', email: 'ann@example.test' })
    assert.equal(credentials.forget(SERVER), true)
    assert.equal(credentials.forget(SERVER), false)
    assert.equal(credentials.keyFor(SERVER), undefined)
  })
})

describe('the server', () => {
  const env = (variables: Record<string, string>) => readSettings({ HOME: '/home/ann', ...variables })

  it('is that of the option, else of SLIPWAY_URL, else the remembered one, else this machine', () => {
    using cli = new CliHarness()
    const credentials = new CredentialStore(join(cli.home, 'config.json'))
    const settings = env({ SLIPWAY_URL: 'https://from-env.test' })
    assert.equal(namedServer('https://from-option.test', settings), 'https://from-option.test')
    assert.equal(namedServer(undefined, settings), 'https://from-env.test')
    assert.equal(chooseServer(undefined, undefined, { settings, credentials }), 'http://localhost:8080')
    credentials.remember('https://from-login.test', { key: 'k', email: 'e' })
    assert.equal(chooseServer(undefined, undefined, { settings, credentials }), 'https://from-login.test')
    assert.equal(
      chooseServer(undefined, 'https://from-folder.test', { settings, credentials }),
      'https://from-folder.test',
    )
  })

  it('is normalized, and https unless it is this machine', () => {
    assert.equal(serverAddress('Slipway.Test/'), 'https://slipway.test')
    assert.equal(serverAddress('localhost:8080'), 'http://localhost:8080')
    assert.equal(serverAddress('https://slipway.test:443/base/'), 'https://slipway.test/base')
    for (const wrong of ['ftp://x', 'http://', 'http://a b', 'https://x/?y', 'https://user@x']) {
      assert.throws(() => serverAddress(wrong), /is not a server URL/, wrong)
    }
  })

  it('gets SLIPWAY_KEY only when it was named by the user, not by a folder', () => {
    using cli = new CliHarness()
    const credentials = new CredentialStore(join(cli.home, 'config.json'))
    const settings = env({ SLIPWAY_KEY: 'sl_live_env' })
    const key = (server: string, option?: string) => keyFor(server, { option, settings, credentials })
    assert.equal(key('http://localhost:8080'), 'sl_live_env')
    assert.equal(key(SERVER, SERVER), 'sl_live_env')
    assert.equal(key('https://evil.test'), undefined)
    credentials.remember(SERVER, { key: 'sl_live_login', email: 'ann@example.test' })
    assert.equal(key(SERVER), 'sl_live_env')
    assert.equal(key('http://localhost:8080'), undefined)
  })

  it('gets the key for SLIPWAY_URL only if it is that server', () => {
    using cli = new CliHarness()
    const credentials = new CredentialStore(join(cli.home, 'config.json'))
    const settings = env({ SLIPWAY_KEY: 'sl_live_env', SLIPWAY_URL: SERVER })
    const key = (server: string, option?: string) => keyFor(server, { option, settings, credentials })
    assert.equal(key(SERVER), 'sl_live_env')
    assert.equal(key('https://other.test', 'https://other.test'), undefined)
  })
})
