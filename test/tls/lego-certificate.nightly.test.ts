import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { readConfig } from '../../server/config/settings.ts'
import { requires } from '../tools/part.ts'
import { startPebble } from '../tools/pebble.ts'
import { writeScript } from './hook-script.ts'
import { LEGO_CERTIFICATE, LEGO_SETTINGS } from './lego-certificate.ts'

const run = promisify(execFile)

test(
  'deploy/lego-certificate obtains a certificate that the settings accept, and no other before it is due',
  requires('pebble', 'lego', 'curl'),
  async () => {
    await using pebble = await startPebble({ httpPort: 1, tlsPort: 1, refusedNonces: 0 })
    await using hook = await writeScript(
      `case $1 in present) what=set-txt ;; *) what=clear-txt ;; esac`,
      `exec curl -fsd "{\\"host\\":\\"$2\\",\\"value\\":\\"$3\\"}" ${pebble.records}/$what`,
    )
    const env = {
      ...LEGO_SETTINGS,
      SLIPWAY_ACME_URL: pebble.directory,
      SLIPWAY_ACME_CA_FILE: pebble.caFile,
      EXEC_PATH: hook.program,
      EXEC_SEQUENCE_INTERVAL: '0',
      EXEC_POLLING_INTERVAL: '1',
      LEGO_PATH: join(hook.folder, 'lego'),
      LEGO_OPTIONS: '--dns.disable-cp',
    }
    const { stdout } = await run(LEGO_CERTIFICATE, ['exec'], { env })
    const settings = Object.fromEntries(
      Array.from(stdout.matchAll(/^(SLIPWAY_\w+)=(.+)$/gm), ([, ...pair]) => pair),
    )
    const { tlsCertFile } = readConfig(settings)
    const first = new X509Certificate(await readFile(tlsCertFile))
    assert.deepEqual(first.subjectAltName?.split(', ').sort(), ['DNS:*.sites.test', 'DNS:slipway.test'])
    await run(LEGO_CERTIFICATE, ['exec'], { env })
    assert.equal(
      new X509Certificate(await readFile(tlsCertFile)).serialNumber,
      first.serialNumber,
      'not due yet',
    )
  },
)
