import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

const SCRIPT = join(import.meta.dirname, '..', 'server', 'bin', 'slipway-server.js')

function slipwayServer(args: string[], settings: Record<string, string>) {
  const env = { PATH: process.env.PATH, ...settings }
  return spawnSync(process.execPath, [SCRIPT, ...args], { env, encoding: 'utf8' })
}

test('an invalid setting stops commands that use the data, with a line that names the help', () => {
  for (const args of [[], ['sweep', 'all'], ['account', 'plan', 'a@example.com', 'hobby']]) {
    const { status, stderr } = slipwayServer(args, { SLIPWAY_PROT: '80' })
    assert.equal(status, 1)
    assert.match(
      stderr,
      /^slipway-server: SLIPWAY_PROT is not a setting[^\n]*`slipway-server settings`[^\n]*\n$/,
    )
  }
})

test('an invalid setting does not stop commands that print help', () => {
  for (const [command, output] of [
    ['settings', /^SLIPWAY_PORT +8080 /m],
    ['help', /slipway-server settings/],
    ['sweeps', /^blobs +every +300 s/m],
    ['version', /^\d+\.\d+\.\d+$/m],
  ] as const) {
    const { status, stdout, stderr } = slipwayServer([command], { SLIPWAY_PORT: 'eighty' })
    assert.deepEqual([status, stderr], [0, ''])
    assert.match(stdout, output)
  }
})

test('an unknown command prints the known ones', () => {
  const { status, stderr } = slipwayServer(['sweeep'], {})
  assert.equal(status, 2)
  assert.match(stderr, /^There is no command sweeep\.\n/)
  assert.match(stderr, /slipway-server sweep NAME/)
})
