import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { chooseServer, keyFor } from '../../client/cli/server.ts'
import { readSettings } from '../../client/cli/settings.ts'
import { CredentialStore } from '../../client/cli/state/credentials.ts'
import { CliHarness } from './cli-harness.ts'

const PACKAGE = 'https://package.test'
const SIGNED_IN = 'https://signed-in.test'

describe('the server of a downloaded client', () => {
  for (const { name, npx, signedIn, folder, expected } of [
    { name: 'is the one it was downloaded from', expected: PACKAGE },
    { name: 'is that of the last sign-in when the client is installed', signedIn: true, expected: SIGNED_IN },
    {
      name: 'is the one in the npx command, also after a sign-in',
      npx: true,
      signedIn: true,
      expected: PACKAGE,
    },
    {
      name: 'is that of the folder',
      npx: true,
      signedIn: true,
      folder: 'https://folder.test',
      expected: 'https://folder.test',
    },
  ]) {
    it(name, () => {
      using cli = new CliHarness()
      const credentials = new CredentialStore(join(cli.home, 'config.json'))
      if (signedIn) credentials.remember(SIGNED_IN, { key: 'sl_live_1', email: 'ann@example.test' })
      const env = { HOME: cli.home, SLIPWAY_KEY: 'sl_live_env', ...(npx ? { npm_command: 'exec' } : {}) }
      const settings = readSettings(env, PACKAGE)
      assert.equal(chooseServer(undefined, folder, { settings, credentials }), expected)
      const home = npx || !signedIn ? PACKAGE : SIGNED_IN
      assert.equal(keyFor(home, { option: undefined, settings, credentials }), 'sl_live_env')
      assert.equal(keyFor('https://other.test', { option: undefined, settings, credentials }), undefined)
    })
  }
})
