import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { requires } from '../tools/part.ts'
import { type Pebble, startPebble } from '../tools/pebble.ts'
import { ChallengeServer } from './challenge-server.ts'
import { obtain, type ServiceAtCa, serviceAtCa } from './service-at-ca.ts'

const KINDS = [
  { what: 'by HTTP-01', wanted: ['http-01'], names: ['www.example.test'] },
  { what: 'by TLS-ALPN-01', wanted: ['tls-alpn-01'], names: ['alpn.example.test'] },
  { what: 'by DNS-01', wanted: ['dns-01'], names: ['dns.example.test'] },
  { what: 'for a wildcard and its root', wanted: ['http-01', 'dns-01'], names: ['*.wild.test', 'wild.test'] },
] as const

const MOODS = [
  { mood: 'in its usual mood', options: { reuse: 0 } },
  { mood: 'that refuses most nonces', options: { refusedNonces: 60, reuse: 0 } },
  { mood: 'that takes its time', options: { delay: 1, reuse: 0 } },
  { mood: 'that asks for no proof twice', options: { reuse: 100 } },
]

for (const { mood, options } of MOODS) {
  describe(`Pebble ${mood}`, requires('pebble'), () => {
    let responder: ChallengeServer
    let pebble: Pebble
    let service: ServiceAtCa

    before(async () => {
      responder = await ChallengeServer.start()
      pebble = await startPebble({ ...responder.ports, ...options })
      responder.texts = pebble
      service = await serviceAtCa(pebble, { email: 'ops@example.test' })
    })

    after(async () => {
      await service?.[Symbol.asyncDispose]()
      await pebble?.[Symbol.asyncDispose]()
      await responder?.[Symbol.asyncDispose]()
    })

    for (const { what, wanted, names } of KINDS) {
      test(`gives a certificate ${what}, and the next one`, async () => {
        responder.wanted = wanted
        const first = await obtain(service.acme, names, { proofs: responder })
        const next = await obtain(service.acme, names, { proofs: responder })
        assert.notEqual(next.key, first.key)
        assert.notEqual(next.order.url, first.order.url)
        assert.ok(new X509Certificate(next.chain).subjectAltName?.includes(names[0]))
        assert.deepEqual(responder.shown, [])
      })
    }

    test('shows an order again, in its current state', async () => {
      const names = ['resumed.example.test']
      responder.wanted = ['http-01']
      const { url } = await service.acme.newOrder(names)
      assert.equal((await service.acme.getOrder(url))?.status, 'pending')
      await service.acme.authorize((await service.acme.getOrder(url))!, responder)
      assert.equal((await service.again().getOrder(url))?.status, 'ready')
      assert.equal(await service.acme.getOrder(`${url}x`), undefined)
    })

    test('has one account of the service, whichever process asks', async () => {
      const orders = await Promise.all(
        Array.from({ length: 4 }, () => service.again().newOrder(['one.example.test'])),
      )
      assert.equal(new Set(orders.map(({ url }) => url)).size, 4)
      for (const { url } of orders) assert.ok(await service.acme.getOrder(url))
    })
  })
}

test('the failure of a validation is reported with the detail of the CA', requires('pebble'), async () => {
  await using responder = await ChallengeServer.start()
  await using pebble = await startPebble({ ...responder.ports })
  await using service = await serviceAtCa(pebble)
  responder.texts = pebble
  const order = await service.acme.newOrder(['wrong.example.test'])
  const liar = {
    types: () => ['http-01'] as const,
    present: (proof: Parameters<ChallengeServer['present']>[0]) =>
      responder.present({ ...proof, keyAuthorization: 'something else' }),
    remove: responder.remove.bind(responder),
  }
  await assert.rejects(service.acme.authorize(order, liar), {
    name: 'AcmeError',
    kind: 'challenge-failed',
    type: 'unauthorized',
    message: /did not find the proof for wrong\.example\.test: .*something else/,
  })
  assert.equal((await service.acme.getOrder(order.url))?.status, 'invalid')
  assert.deepEqual(responder.shown, [])
})

describe('a CA that wants accounts made elsewhere', requires('pebble'), () => {
  const eab = { keyId: 'kid-1', hmacKey: 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W' }
  let responder: ChallengeServer
  let pebble: Pebble

  before(async () => {
    responder = await ChallengeServer.start()
    pebble = await startPebble({ ...responder.ports, externalAccounts: { [eab.keyId]: eab.hmacKey } })
  })

  after(async () => {
    await pebble?.[Symbol.asyncDispose]()
    await responder?.[Symbol.asyncDispose]()
  })

  test('opens one with the key it gave out', async () => {
    await using service = await serviceAtCa(pebble, { eab })
    await obtain(service.acme, ['eab.example.test'], { proofs: responder })
  })

  test('opens none without, and the settings are named', async () => {
    await using service = await serviceAtCa(pebble)
    await assert.rejects(service.acme.newOrder(['a.test']), {
      kind: 'rejected',
      message: /SLIPWAY_ACME_EAB_KEY_ID and SLIPWAY_ACME_EAB_HMAC_KEY/,
    })
  })

  test('opens none with another key', async () => {
    await using service = await serviceAtCa(pebble, { eab: { ...eab, hmacKey: 'AAAA' } })
    await assert.rejects(service.acme.newOrder(['a.test']), {
      kind: 'rejected',
      message: /not open an account/,
    })
  })
})
