import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requires } from '../tools/part.ts'
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

/** WARN says that a check could not be made, which happens on a busy machine; FATAL that none could. */
const GRAVE = ['MEDIUM', 'HIGH', 'CRITICAL', 'FATAL']

/** The CA of these tests has no address to ask whether a certificate was revoked. */
const OF_THE_TEST = 'cert_revocation'

test('testssl.sh finds nothing above LOW', requires('testssl'), async () => {
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
  const grave = findings.filter(({ id, severity }) => GRAVE.includes(severity) && id !== OF_THE_TEST)
  assert.deepEqual(grave, [])
})
