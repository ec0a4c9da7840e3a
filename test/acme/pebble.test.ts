import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { requires } from '../tools/part.ts'
import { type Pebble, startPebble } from '../tools/pebble.ts'
import { type AcmeFixture, obtain, startAcmeFixture } from './acme-fixture.ts'
import { ChallengeServer } from './challenge-server.ts'

const KINDS = [
  { what: 'by HTTP-01', types: ['http-01'], names: ['www.example.test'] },
  { what: 'by TLS-ALPN-01', types: ['tls-alpn-01'], names: ['alpn.example.test'] },
  { what: 'by DNS-01', types: ['dns-01'], names: ['dns.example.test'] },
  { what: 'for a wildcard and its root', types: ['http-01', 'dns-01'], names: ['*.wild.test', 'wild.test'] },
] as const

const BEHAVIORS = [
  { behavior: 'with default settings', options: { reuse: 0 } },
  { behavior: 'that refuses most nonces', options: { refusedNonces: 60, reuse: 0 } },
  { behavior: 'that validates slowly', options: { delay: 1, reuse: 0 } },
  { behavior: 'that reuses authorizations', options: { reuse: 100 } },
]

for (const { behavior, options } of BEHAVIORS) {
  describe(`Pebble ${behavior}`, requires('pebble'), () => {
    let challenges: ChallengeServer
    let pebble: Pebble
    let service: AcmeFixture

    before(async () => {
      challenges = await ChallengeServer.start()
      pebble = await startPebble({ ...challenges.ports, ...options })
      challenges.texts = pebble
      service = await startAcmeFixture(pebble, { email: 'ops@example.test' })
    })

    after(async () => {
      await service?.[Symbol.asyncDispose]()
      await pebble?.[Symbol.asyncDispose]()
      await challenges?.[Symbol.asyncDispose]()
    })

    for (const { what, types, names } of KINDS) {
      test(`issues and renews a certificate ${what}`, async () => {
        challenges.preferredTypes = types
        const first = await obtain(service.acme, names, { proofs: challenges })
        const next = await obtain(service.acme, names, { proofs: challenges })
        assert.notEqual(next.key, first.key)
        assert.notEqual(next.order.url, first.order.url)
        assert.ok(new X509Certificate(next.chain).subjectAltName?.includes(names[0]))
        assert.deepEqual(challenges.active, [])
      })
    }

    test('returns an order in its current state', async () => {
      const names = ['resumed.example.test']
      challenges.preferredTypes = ['http-01']
      const { url } = await service.acme.newOrder(names)
      assert.equal((await service.acme.getOrder(url))?.status, 'pending')
      await service.acme.authorize((await service.acme.getOrder(url))!, challenges)
      assert.equal((await service.openAnother().getOrder(url))?.status, 'ready')
      assert.equal(await service.acme.getOrder(`${url}x`), undefined)
    })

    test('has one account for all processes of the service', async () => {
      const orders = await Promise.all(
        Array.from({ length: 4 }, () => service.openAnother().newOrder(['one.example.test'])),
      )
      assert.equal(new Set(orders.map(({ url }) => url)).size, 4)
      for (const { url } of orders) assert.ok(await service.acme.getOrder(url))
    })
  })
}

test('a failed validation is reported with the detail of the CA', requires('pebble'), async () => {
  await using challenges = await ChallengeServer.start()
  await using pebble = await startPebble({ ...challenges.ports })
  await using service = await startAcmeFixture(pebble)
  challenges.texts = pebble
  const order = await service.acme.newOrder(['wrong.example.test'])
  const liar = {
    types: () => ['http-01'] as const,
    present: (proof: Parameters<ChallengeServer['present']>[0]) =>
      challenges.present({ ...proof, keyAuthorization: 'something else' }),
    remove: challenges.remove.bind(challenges),
  }
  await assert.rejects(service.acme.authorize(order, liar), {
    name: 'AcmeError',
    kind: 'challenge-failed',
    type: 'unauthorized',
    message: /did not find the proof for wrong\.example\.test: .*something else/,
  })
  assert.equal((await service.acme.getOrder(order.url))?.status, 'invalid')
  assert.deepEqual(challenges.active, [])
})

describe('a CA that requires external account binding', requires('pebble'), () => {
  const eab = { keyId: 'kid-1', hmacKey: 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W' }
  let challenges: ChallengeServer
  let pebble: Pebble

  before(async () => {
    challenges = await ChallengeServer.start()
    pebble = await startPebble({ ...challenges.ports, externalAccounts: { [eab.keyId]: eab.hmacKey } })
  })

  after(async () => {
    await pebble?.[Symbol.asyncDispose]()
    await challenges?.[Symbol.asyncDispose]()
  })

  test('creates an account with the right key', async () => {
    await using service = await startAcmeFixture(pebble, { eab })
    await obtain(service.acme, ['eab.example.test'], { proofs: challenges })
  })

  test('refuses an account without a key, and the error names the settings', async () => {
    await using service = await startAcmeFixture(pebble)
    await assert.rejects(service.acme.newOrder(['a.test']), {
      kind: 'rejected',
      message: /SLIPWAY_ACME_EAB_KEY_ID and SLIPWAY_ACME_EAB_HMAC_KEY/,
    })
  })

  test('refuses an account with another key', async () => {
    await using service = await startAcmeFixture(pebble, { eab: { ...eab, hmacKey: 'AAAA' } })
    await assert.rejects(service.acme.newOrder(['a.test']), {
      kind: 'rejected',
      message: /not open an account/,
    })
  })
})
