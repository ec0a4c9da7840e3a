import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requires } from '../tools/part.ts'
import { BASE, SecureService } from './secure-service.ts'
import { runTestssl } from './testssl.ts'

const NAME = 'www.example.test'

/** The most important checks, which take a minute; `node test/tls/testssl-main.ts` runs all. */
const CHECKS = [
  '--protocols',
  '--server-defaults',
  '--fs',
  '--renegotiation',
  '--heartbleed',
  '--ticketbleed',
]

/** Without WARN, a check that could not run on a busy machine; with FATAL, no check could run. */
const FAILING_SEVERITIES = ['MEDIUM', 'HIGH', 'CRITICAL', 'FATAL']

/** The test CA has no revocation service. */
const EXPECTED_FINDING = 'cert_revocation'

test('testssl.sh finds nothing above LOW', requires('testssl'), async () => {
  await using service = await SecureService.start()
  const { slug } = await service.publish({ 'index.html': 'home' })
  await service.addDomain(NAME, slug)
  await service.certify(NAME)
  // Some checks send no server name.
  await service.certify(BASE)
  const findings = await runTestssl(service.port, NAME, CHECKS)
  assert.ok(
    findings.some(({ id, severity }) => id === 'TLS1_3' && severity === 'OK'),
    'testssl.sh did not reach the service',
  )
  const failing = findings.filter(
    ({ id, severity }) => FAILING_SEVERITIES.includes(severity) && id !== EXPECTED_FINDING,
  )
  assert.deepEqual(failing, [])
})
