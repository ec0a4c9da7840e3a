import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

const PROGRAM = `
  process.umask(0o077)
  const { isolateEnvironment } = await import(${JSON.stringify(new URL('test-environment.ts', import.meta.url).href)})
  isolateEnvironment()
  console.log(JSON.stringify({ umask: process.umask(), env: process.env }))`

test('the checks get neither settings, credentials, language, time zone nor umask of the user, but their own variables', () => {
  const kept = {
    ...{ PATH: process.env.PATH, HOME: '/home/ann', CI: 'true', SEED: '7' },
    ...{ TEST_ENGINES: 'fleet', TEST_NODE_OPTIONS: '--test-skip-pattern=a' },
  }
  const others = {
    ...{ SLIPWAY_KEY: 'sl_live_x', AWS_PROFILE: 'work', PGHOST: 'db1', GITHUB_ACTIONS: 'true' },
    ...{
      NODE_OPTIONS: '--no-warnings',
      FORCE_COLOR: '1',
      TZ: 'Asia/Tokyo',
      LC_ALL: 'C',
      LANG: 'de_DE.UTF-8',
    },
    HTTPS_PROXY: 'http://proxy.test:3128',
  }
  const args = ['--input-type=module', '--eval', PROGRAM]
  const { umask, env } = JSON.parse(
    execFileSync(process.execPath, args, { env: { ...kept, ...others }, encoding: 'utf8' }),
  )
  assert.equal(umask, 0o022)
  // The registry may be behind the proxy.
  const set = {
    ...{ LANG: 'C.UTF-8', TZ: 'UTC', npm_config_https_proxy: others.HTTPS_PROXY },
    NODE_OPTIONS: kept.TEST_NODE_OPTIONS,
  }
  assert.deepEqual(env, { ...kept, ...set })
})
