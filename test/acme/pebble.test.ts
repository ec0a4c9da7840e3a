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
  })
}

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

  test('refuses an account with another key', async () => {
    await using service = await startAcmeFixture(pebble, { eab: { ...eab, hmacKey: 'AAAA' } })
    await assert.rejects(service.acme.newOrder(['a.test']), {
      kind: 'rejected',
      message: /refused to create an account/,
    })
  })
})
