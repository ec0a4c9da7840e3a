import assert from 'node:assert/strict'
import { randomInt, X509Certificate } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { ChallengeSolver, ChallengeType } from '../../server/certificates/acme/acme.ts'
import { type CaddyCa, startCaddyCa } from '../tools/caddy-ca.ts'
import { requires } from '../tools/part.ts'
import { ChallengeServer } from './challenge-server.ts'
import { obtain, type ServiceAtCa, serviceAtCa } from './service-at-ca.ts'

const CASES: [ChallengeType, string][] = [
  ['http-01', 'a.caddy.slipway.test'],
  ['tls-alpn-01', 'b.caddy.slipway.test'],
]

const LIED = 'lied.caddy.slipway.test'
/** An address without a listener. */
const GONE = 'gone.caddy.slipway.test'

describe("Caddy's CA", requires('caddy-ca'), () => {
  let responder: ChallengeServer
  let ca: CaddyCa
  let service: ServiceAtCa

  before(async () => {
    const [address, nowhere] = [randomAddress(), randomAddress()]
    responder = await ChallengeServer.start({ address, httpPort: 80, tlsPort: 443 })
    const names = [LIED, ...CASES.map(([, name]) => name)]
    const addresses = Object.fromEntries(names.map((name) => [name, address]))
    ca = await startCaddyCa({ ...addresses, [GONE]: nowhere })
    service = await serviceAtCa(ca, { email: 'ops@example.test' })
  })

  after(async () => {
    await service?.[Symbol.asyncDispose]()
    await ca?.[Symbol.asyncDispose]()
    await responder?.[Symbol.asyncDispose]()
  })

  for (const [type, name] of CASES) {
    test(`gives a certificate by ${type}, and the next one`, async () => {
      responder.wanted = [type]
      const first = await obtain(service.acme, [name], { proofs: responder })
      const next = await obtain(service.again(), [name], { proofs: responder })
      assert.notEqual(next.order.url, first.order.url)
      assert.equal(new X509Certificate(next.chain).subjectAltName, `DNS:${name}`)
      assert.deepEqual(
        responder.presented.filter((proof) => proof.name === name).map((proof) => proof.type),
        [type, type],
      )
      assert.deepEqual(responder.shown, [])
    })
  }

  test('says why it does not', async () => {
    const liar: ChallengeSolver = {
      types: () => ['http-01'],
      present: (proof) => responder.present({ ...proof, keyAuthorization: 'something else' }),
      remove: (proof) => responder.remove(proof),
    }
    const order = await service.acme.newOrder([LIED])
    await assert.rejects(service.acme.authorize(order, liar), {
      kind: 'challenge-failed',
      message: /did not find the proof for lied\.caddy\.slipway\.test: The server will not issue/,
    })
    assert.deepEqual(responder.shown, [])
  })

  test('is asked to validate again where it could not connect, and not for ever', async () => {
    responder.wanted = ['http-01']
    const order = await service.acme.newOrder([GONE])
    await assert.rejects(service.acme.authorize(order, responder), {
      kind: 'challenge-failed',
      message: /did not find the proof for gone\.caddy\.slipway\.test: \w/,
    })
    assert.deepEqual(responder.shown, [])
  })

  test('has no renewal information', async () => {
    assert.equal(await service.acme.supportsRenewalInfo(), false)
    assert.equal(await service.acme.renewalInfo('a.b'), undefined)
  })
})

function randomAddress(): string {
  return `127.${randomInt(1, 255)}.${randomInt(255)}.${randomInt(1, 255)}`
}
