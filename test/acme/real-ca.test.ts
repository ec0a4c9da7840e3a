import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { AcmeOptions } from '../../packages/acme-client/client.ts'
import { requires } from '../tools/part.ts'
import { type Pebble, type PebbleOptions, startPebble } from '../tools/pebble.ts'
import { type AcmeFixture, obtain, startAcmeFixture } from './acme-fixture.ts'
import { ChallengeServer } from './challenge-server.ts'

const EAB = { keyId: 'kid-1', hmacKey: 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W' }

const BY_HTTP = { how: 'by HTTP-01', types: ['http-01'], names: ['www.example.test'] } as const
const BY_TLS = { how: 'by TLS-ALPN-01', types: ['tls-alpn-01'], names: ['alpn.example.test'] } as const
const BY_DNS = { how: 'by DNS-01', types: ['dns-01'], names: ['dns.example.test'] } as const
const WILDCARD = {
  how: 'for a wildcard and its root',
  types: ['http-01', 'dns-01'],
  names: ['*.wild.test', 'wild.test'],
} as const

interface Row {
  title: string
  ca: Partial<PebbleOptions>
  options?: Partial<AcmeOptions>
  orders: readonly (typeof BY_HTTP | typeof BY_TLS | typeof BY_DNS | typeof WILDCARD)[]
}

const ROWS: Row[] = [
  {
    title: 'Pebble, which refuses most nonces and validates slowly,',
    ca: { refusedNonces: 60, delay: 1, reuse: 0 },
    orders: [BY_HTTP, BY_TLS, BY_DNS, WILDCARD],
  },
  {
    title: 'Pebble, which reuses authorizations and requires external accounts,',
    ca: { reuse: 100, externalAccounts: { [EAB.keyId]: EAB.hmacKey } },
    options: { eab: EAB },
    orders: [BY_HTTP],
  },
]

for (const { title, ca: configuration, options = {}, orders } of ROWS) {
  describe(title, requires('pebble'), () => {
    const started = new AsyncDisposableStack()
    let challenges: ChallengeServer
    let ca: Pebble
    let service: AcmeFixture
    before(async () => {
      challenges = started.use(await ChallengeServer.start())
      ca = started.use(await startPebble({ ...challenges.ports, ...configuration }))
      challenges.texts = ca
      service = started.use(await startAcmeFixture(ca, { email: 'ops@example.test', ...options }))
    })
    after(() => started.disposeAsync())

    for (const { how, types, names } of orders)
      test(`issues and renews a certificate ${how}`, async () => {
        challenges.preferredTypes = types
        const first = await obtain(service.acme, names, { proofs: challenges })
        const next = await obtain(service.openAnother(), names, { proofs: challenges })
        assert.notEqual(next.key, first.key)
        assert.notEqual(next.order.url, first.order.url)
        assert.ok(new X509Certificate(next.chain).subjectAltName?.includes(names[0]))
        assert.deepEqual(challenges.active, [])
      })

    if (options.eab)
      test('refuses an account with another key', async () => {
        await using other = await startAcmeFixture(ca, { eab: { ...EAB, hmacKey: 'AAAA' } })
        await assert.rejects(other.acme.newOrder(['a.test']), {
          kind: 'rejected',
          message: /refused to create an account/,
        })
      })
  })
}
