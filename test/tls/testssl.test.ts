import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../tools/part.ts'
import { BASE, SecureService } from './secure-service.ts'
import { examine } from './testssl.ts'

const NAME = 'www.example.test'

/** Those that matter most and take a minute; `node test/tls/testssl-main.ts` runs all. */
const CHECKS = [
  '--protocols',
  '--server-defaults',
  '--fs',
  '--renegotiation',
  '--heartbleed',
  '--ticketbleed',
]

/** About the CA of these tests: it has no address to ask whether a certificate was revoked. */
const OF_THE_TEST = ['cert_revocation', 'engine_problem']

test('testssl.sh finds nothing above LOW', needs('testssl'), async () => {
  await using service = await SecureService.start()
  const { slug } = await service.publish({ 'index.html': 'home' })
  await service.addDomain(NAME, slug)
  await service.certify(NAME)
  // Some checks name nobody.
  await service.certify(BASE)
  const findings = await examine(service.port, NAME, CHECKS)
  assert.ok(
    findings.some(({ id, severity }) => id === 'TLS1_3' && severity === 'OK'),
    'it reached the service',
  )
  const grave = findings.filter(
    ({ id, severity }) => !['OK', 'INFO', 'LOW'].includes(severity) && !OF_THE_TEST.includes(id),
  )
  assert.deepEqual(grave, [])
})
