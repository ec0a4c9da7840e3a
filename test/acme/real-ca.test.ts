import assert from 'node:assert/strict'
import { randomInt, X509Certificate } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { AcmeOptions } from '../../server/certificates/acme/client.ts'
import { startCaddyCa } from '../tools/caddy-ca.ts'
import { requires } from '../tools/part.ts'
import { type PebbleOptions, startPebble } from '../tools/pebble.ts'
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

/** A name whose address has no listener. */
const UNREACHABLE_NAME = 'gone.example.test'

type Start = (started: AsyncDisposableStack) => Promise<{
  challenges: ChallengeServer
  ca: { directory: string; caFile: string }
}>

const pebble =
  (options: Partial<PebbleOptions>): Start =>
  async (started) => {
    const challenges = started.use(await ChallengeServer.start())
    const ca = started.use(await startPebble({ ...challenges.ports, ...options }))
    challenges.texts = ca
    return { challenges, ca }
  }

/** Caddy validates only at the standard ports, so it gets its own loopback address. */
const caddy: Start = async (started) => {
  const [address, nowhere] = [randomAddress(), randomAddress()]
  const challenges = started.use(await ChallengeServer.start({ address, httpPort: 80, tlsPort: 443 }))
  const addresses = { [BY_HTTP.names[0]]: address, [BY_TLS.names[0]]: address, [UNREACHABLE_NAME]: nowhere }
  return { challenges, ca: started.use(await startCaddyCa(addresses)) }
}

interface Row {
  title: string
  needs: ReturnType<typeof requires>
  start: Start
  options?: Partial<AcmeOptions>
  orders: readonly (typeof BY_HTTP | typeof BY_TLS | typeof BY_DNS | typeof WILDCARD)[]
}

const ROWS: Row[] = [
  {
    title: 'Pebble, which refuses most nonces and validates slowly,',
    needs: requires('pebble'),
    start: pebble({ refusedNonces: 60, delay: 1, reuse: 0 }),
    orders: [BY_HTTP, BY_TLS, BY_DNS, WILDCARD],
  },
  {
    title: 'Pebble, which reuses authorizations and requires external accounts,',
    needs: requires('pebble'),
    start: pebble({ reuse: 100, externalAccounts: { [EAB.keyId]: EAB.hmacKey } }),
    options: { eab: EAB },
    orders: [BY_HTTP],
  },
  { title: "Caddy's CA", needs: requires('caddy-ca'), start: caddy, orders: [BY_HTTP, BY_TLS] },
]

for (const { title, needs, start, options = {}, orders } of ROWS) {
  describe(title, needs, () => {
    const started = new AsyncDisposableStack()
    let challenges: ChallengeServer
    let ca: { directory: string; caFile: string }
    let service: AcmeFixture
    before(async () => {
      ;({ challenges, ca } = await start(started))
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

    if (start === caddy)
      test('is asked to validate again after a failed connection, a limited number of times', async () => {
        challenges.preferredTypes = ['http-01']
        const order = await service.acme.newOrder([UNREACHABLE_NAME])
        await assert.rejects(service.acme.authorize(order, challenges), {
          kind: 'challenge-failed',
          message: /could not validate gone\.example\.test: \w/,
        })
        assert.deepEqual(challenges.active, [])
      })
  })
}

function randomAddress(): string {
  return `127.${randomInt(1, 255)}.${randomInt(255)}.${randomInt(1, 255)}`
}
