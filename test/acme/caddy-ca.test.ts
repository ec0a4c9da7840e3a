import assert from 'node:assert/strict'
import { randomInt, X509Certificate } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { ChallengeType } from '../../server/certificates/acme/acme.ts'
import { type CaddyCa, startCaddyCa } from '../tools/caddy-ca.ts'
import { requires } from '../tools/part.ts'
import { type AcmeFixture, obtain, startAcmeFixture } from './acme-fixture.ts'
import { ChallengeServer } from './challenge-server.ts'

const CASES: [ChallengeType, string][] = [
  ['http-01', 'a.caddy.slipway.test'],
  ['tls-alpn-01', 'b.caddy.slipway.test'],
]

/** A name whose address has no listener. */
const UNREACHABLE_NAME = 'gone.caddy.slipway.test'

describe("Caddy's CA", requires('caddy-ca'), () => {
  let challenges: ChallengeServer
  let ca: CaddyCa
  let service: AcmeFixture

  before(async () => {
    const [address, nowhere] = [randomAddress(), randomAddress()]
    challenges = await ChallengeServer.start({ address, httpPort: 80, tlsPort: 443 })
    const names = CASES.map(([, name]) => name)
    const addresses = Object.fromEntries(names.map((name) => [name, address]))
    ca = await startCaddyCa({ ...addresses, [UNREACHABLE_NAME]: nowhere })
    service = await startAcmeFixture(ca, { email: 'ops@example.test' })
  })

  after(async () => {
    await service?.[Symbol.asyncDispose]()
    await ca?.[Symbol.asyncDispose]()
    await challenges?.[Symbol.asyncDispose]()
  })

  for (const [type, name] of CASES) {
    test(`issues and renews a certificate by ${type}`, async () => {
      challenges.preferredTypes = [type]
      const first = await obtain(service.acme, [name], { proofs: challenges })
      const next = await obtain(service.openAnother(), [name], { proofs: challenges })
      assert.notEqual(next.order.url, first.order.url)
      assert.equal(new X509Certificate(next.chain).subjectAltName, `DNS:${name}`)
      assert.deepEqual(
        challenges.presented.filter((proof) => proof.name === name).map((proof) => proof.type),
        [type, type],
      )
      assert.deepEqual(challenges.active, [])
    })
  }

  test('is asked to validate again after a failed connection, a limited number of times', async () => {
    challenges.preferredTypes = ['http-01']
    const order = await service.acme.newOrder([UNREACHABLE_NAME])
    await assert.rejects(service.acme.authorize(order, challenges), {
      kind: 'challenge-failed',
      message: /could not validate gone\.caddy\.slipway\.test: \w/,
    })
    assert.deepEqual(challenges.active, [])
  })
})

function randomAddress(): string {
  return `127.${randomInt(1, 255)}.${randomInt(255)}.${randomInt(1, 255)}`
}
