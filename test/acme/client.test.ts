import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { describe, test } from 'node:test'
import type { ChallengeType } from '../../packages/acme-client/acme.ts'
import { certificateId } from '../../packages/acme-client/x509.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import type { Store } from '../../server/store/store.ts'
import { withMethods } from '../store/with-methods.ts'
import { PATIENT } from '../support/patient.ts'
import { pluck } from '../support/pluck.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { obtain, startAcmeFixture } from './acme-fixture.ts'
import { type AcmeRequest, FakeCa, problem } from './fake-ca.ts'
import { NullSolver } from './null-solver.ts'

const NAMES = ['www.example.test']

describe('the ACME client', () => {
  const ca = startForEachTest(() => FakeCa.start())
  const service = startForEachTest(() => startAcmeFixture(ca))

  describe('an order', () => {
    test('ends with a certificate; its challenges are served when the CA validates, and removed then', async () => {
      const proofs = new NullSolver('http-01')
      ca.validate = (name) => (proofs.active.some((one) => one.name === name) ? undefined : 'not found')
      const { chain, order } = await obtain(service.acme, NAMES, { proofs })
      assert.equal(new X509Certificate(chain).subjectAltName, 'DNS:www.example.test')
      assert.deepEqual(order.names, NAMES)
      assert.equal(order.status, 'valid')
      assert.equal(proofs.presented.length, 1)
      assert.deepEqual(proofs.active, [])
    })

    test('is sent with a User-Agent that names the program', async () => {
      await service.openAnother({ version: '1.2.3' }).newOrder(NAMES)
      assert.deepEqual(new Set(ca.requests.map(({ userAgent }) => userAgent)), new Set(['slipway/1.2.3']))
    })

    test('names the certificate it replaces', async () => {
      const first = await obtain(service.acme, NAMES, { proofs: new NullSolver('http-01') })
      const replaces = (await certificateId(first.chain))!
      await obtain(service.acme, NAMES, { proofs: new NullSolver('http-01'), replaces })
      const named = orders().map((payload) => payload?.replaces)
      assert.deepEqual(named, [undefined, replaces])
    })

    test('is repeated without naming a replaced certificate that the CA does not accept', async () => {
      for (const answer of [
        problem(409, 'alreadyReplaced', 'Another order replaced it'),
        problem(404, 'malformed', 'What is that?'),
        problem(403, 'unauthorized', 'Not yours'),
      ]) {
        ca.override = ({ endpoint, payload }) =>
          endpoint === 'new-order' && payload?.replaces !== undefined ? answer : undefined
        const before = ca.count('new-order')
        assert.equal((await service.acme.newOrder(NAMES, 'a.b')).status, 'pending')
        assert.equal(ca.count('new-order') - before, 2)
        assert.ok(service.logged.splice(0).some(({ fields }) => fields.replaces === 'a.b'))
      }
    })

    test('does not name a replaced certificate to a CA without renewal information', async () => {
      ca.renewalInformation = false
      await service.acme.newOrder(NAMES, 'a.b')
      assert.deepEqual(orders(), [{ identifiers: [{ type: 'dns', value: NAMES[0] }] }])
      assert.equal(await service.acme.supportsRenewalInfo(), false)
      assert.equal(await service.acme.renewalInfo('a.b'), undefined)
    })

    test('reads the names of the CA in CAA records, and the account once it is registered', async () => {
      const identity = () => service.openAnother().caaIdentity()
      ca.caaIdentities = ['CA.Example', 'other.example', 7, 'not a name"']
      assert.deepEqual((await identity()).identities, ['ca.example', 'other.example'])
      ca.caaIdentities = 'ca.example'
      assert.deepEqual((await identity()).identities, [])
      await service.acme.newOrder(NAMES)
      assert.ok(ca.accounts.has((await identity()).accountUrl!))
    })

    test('requests the configured profile, except at a CA without profiles', async () => {
      assert.equal((await service.openAnother({ profile: 'shortlived' }).newOrder(NAMES)).status, 'pending')
      ca.profiles = { classic: 'as ever', shortlived: 'six days' }
      await service.openAnother({ profile: 'shortlived' }).newOrder(NAMES)
      assert.equal(orders()[1]?.profile, 'shortlived')
    })

    test('fails when the CA lacks the configured profile, with an error that names the setting', async () => {
      ca.profiles = { classic: 'as ever' }
      await assert.rejects(service.openAnother({ profile: 'shortlived' }).newOrder(NAMES), {
        kind: 'rejected',
        message: /no profile shortlived \(SLIPWAY_ACME_PROFILE\)\. Available: classic/,
      })
      assert.equal(ca.count('new-order'), 0)
    })

    test('is undefined when it belongs to another CA or was deleted', async () => {
      const elsewhere = 'https://ca.example.test/order/1'
      assert.equal(await service.acme.getOrder(elsewhere), undefined)
      assert.equal(await service.acme.getOrder(`${new URL(ca.directory).origin}/order/1`), undefined)
      const { url } = await service.acme.newOrder(NAMES)
      const other = await startAcmeFixture(ca)
      assert.equal(await other.acme.getOrder(url), undefined)
      await other[Symbol.asyncDispose]()
    })
  })

  describe('challenges', () => {
    test('use the first supported type', async () => {
      for (const [wanted, used] of [
        [['http-01', 'tls-alpn-01'], 'http-01'],
        [['tls-alpn-01', 'http-01'], 'tls-alpn-01'],
        [['dns-01'], 'dns-01'],
      ] as [ChallengeType[], ChallengeType][]) {
        const proofs = new NullSolver(...wanted)
        await obtain(service.acme, [...NAMES, 'example.test'], { proofs })
        assert.deepEqual(
          proofs.presented.map(({ type, name }) => [type, name]),
          [...NAMES, 'example.test'].map((name) => [used, name]),
        )
      }
      assert.equal(ca.count('challenge'), 6)
    })

    test('of a wildcard use DNS', async () => {
      const proofs = new NullSolver('http-01', 'dns-01')
      await obtain(service.acme, ['*.example.test', 'example.test'], { proofs })
      assert.deepEqual(
        proofs.presented.map(({ type, name }) => [type, name]),
        [
          ['dns-01', 'example.test'],
          ['http-01', 'example.test'],
        ],
      )
      assert.deepEqual(proofs.requestedTypes, ['*.example.test', 'example.test'])
    })

    test('are not presented for a valid authorization', async () => {
      ca.reuse = true
      await obtain(service.acme, NAMES, { proofs: new NullSolver('http-01') })
      const proofs = new NullSolver('http-01')
      const order = await service.acme.newOrder([...NAMES, 'new.example.test'])
      await service.acme.authorize(order, proofs)
      assert.deepEqual(pluck(proofs.presented, 'name'), ['new.example.test'])
    })

    test('of a process that ended are presented again, without a second validation request', async () => {
      const result = Promise.withResolvers<undefined>()
      const validation = Promise.withResolvers<void>()
      ca.validate = () => {
        validation.resolve()
        return result.promise
      }
      ca.override = async ({ endpoint }, runDefault) => {
        if (endpoint !== 'challenge') return undefined
        runDefault()
        await validation.promise
        return (request) => request.socket.destroy()
      }
      const order = await service.acme.newOrder(NAMES)
      await assert.rejects(service.acme.authorize(order, new NullSolver('http-01')), { kind: 'unreachable' })
      ca.override = () => undefined
      const proofs = new NullSolver('tls-alpn-01', 'http-01')
      const proving = service.openAnother().authorize(order, proofs)
      await proofs.firstPresented.promise
      result.resolve(undefined)
      assert.equal((await proving).status, 'ready')
      assert.deepEqual(pluck(proofs.presented, 'type'), ['http-01'])
      assert.equal(ca.count('challenge'), 1)
    })

    test('that fail are reported with the detail of the CA, and removed', async () => {
      ca.validate = (name) => (name === 'b.test' ? 'read \u001b[31mnothing\nthere' : undefined)
      const proofs = new NullSolver('http-01')
      await assert.rejects(
        service.acme.authorize(await service.acme.newOrder(['a.test', 'b.test']), proofs),
        {
          kind: 'challenge-failed',
          type: 'unauthorized',
          message: 'The certificate authority could not validate b.test: read [31mnothing there',
        },
      )
      assert.equal(proofs.presented.length, 2)
      assert.deepEqual(proofs.active, [])
    })

    test('that cannot be presented are removed, and the error is passed on', async () => {
      const proofs = new NullSolver('http-01')
      const reason = new Error('the store is away')
      proofs.present = (proof) => {
        proofs.active.push(proof)
        return Promise.reject(reason)
      }
      await assert.rejects(service.acme.authorize(await service.acme.newOrder(NAMES), proofs), reason)
      assert.deepEqual(proofs.active, [])
      assert.equal(ca.count('challenge'), 0)
    })

    test('may take minutes to appear in DNS, which does not count against the timeout of the CA', async (t) => {
      const now = performance.now.bind(performance)
      let elapsed = 0
      t.mock.method(performance, 'now', () => now() + elapsed)
      const proofs = new NullSolver('dns-01')
      const present = proofs.present.bind(proofs)
      proofs.present = async (proof) => {
        elapsed += 2 * PATIENT.authority.call
        await present(proof)
      }
      await obtain(service.acme, ['*.example.test', 'example.test'], { proofs })
      assert.equal(elapsed, 4 * PATIENT.authority.call)
    })

    test('that cannot be removed are logged, and the order continues', async () => {
      const proofs = new NullSolver('http-01')
      const reason = new Error('the store is away')
      proofs.remove = () => Promise.reject(reason)
      await obtain(service.acme, NAMES, { proofs })
      assert.ok(service.logged.some(({ fields }) => fields.error === reason && fields.name === NAMES[0]))
    })

    test('of an unsupported type fail with an error that names the supported types', async () => {
      const order = await service.acme.newOrder(['*.example.test'])
      await assert.rejects(service.acme.authorize(order, new NullSolver('http-01')), {
        kind: 'rejected',
        message: /offers only dns-01 for \*\.example\.test that/,
      })
    })
  })

  describe('nonces', () => {
    test('are requested once, and then taken from responses', async () => {
      await obtain(service.acme, NAMES, { proofs: new NullSolver('http-01') })
      assert.equal(ca.count('nonce'), 1)
    })

    test('are kept, at most twenty', async () => {
      const orderAll = () => Promise.all(Array.from({ length: 50 }, () => service.acme.newOrder(NAMES)))
      await orderAll()
      const before = ca.count('nonce')
      await orderAll()
      assert.equal(ca.count('nonce') - before, 30)
    })

    test('that have expired cost one extra request in total', async () => {
      await Promise.all(Array.from({ length: 8 }, () => service.acme.newOrder(NAMES)))
      ca.forgetNonces()
      const before = ca.count('new-order')
      await service.acme.newOrder(NAMES)
      assert.equal(ca.count('new-order') - before, 2)
    })
  })

  describe('the account', () => {
    test('is created once, with the contact address and the agreed terms', async () => {
      await service.openAnother({ email: 'ops@example.test' }).newOrder(NAMES)
      await service.openAnother().newOrder(NAMES)
      const [made, ...more] = ca.requests.filter(({ endpoint }) => endpoint === 'new-account')
      assert.deepEqual(made?.payload, { termsOfServiceAgreed: true, contact: ['mailto:ops@example.test'] })
      assert.deepEqual(more, [])
    })

    test('is shared by processes that start at the same time', async () => {
      await Promise.all(Array.from({ length: 8 }, () => service.openAnother().newOrder(NAMES)))
      assert.equal(ca.accounts.size, 1)
    })

    test('is that of the first of two concurrent processes', async () => {
      const { store } = service
      const acme = withMethods(store.read.acme, { account: async () => undefined })
      const write = store.write.bind(store)
      const behind = { read: withMethods(store.read, { acme }), write } as unknown as Store
      await service.acme.newOrder(NAMES)
      await service.openAnother({ account: service.account({ store: behind }) }).newOrder(NAMES)
      assert.equal(ca.accounts.size, 1)
    })

    test('is reused when the response to its creation was lost', async () => {
      ca.override = async ({ endpoint }, runDefault) => {
        if (endpoint !== 'new-account') return undefined
        await runDefault()
        return (request) => request.socket.destroy()
      }
      await assert.rejects(service.acme.newOrder(NAMES), { kind: 'unreachable' })
      ca.override = () => undefined
      await service.openAnother().newOrder(NAMES)
      assert.equal(ca.accounts.size, 1)
    })

    test('has its key stored, encrypted, before the CA receives it', async () => {
      let row: { key: string; url: string | null } | undefined
      ca.override = async ({ endpoint }) => {
        if (endpoint === 'new-account') row = await service.store.read.acme.account(ca.directory)
        return undefined
      }
      await service.acme.newOrder(NAMES)
      assert.equal(row?.url, null)
      assert.match(
        new SecretBox('secret').decrypt(row!.key, `acme account ${ca.directory}`)!,
        /BEGIN PRIVATE KEY/,
      )
    })

    test('is created again with the same key when the CA does not know it', async () => {
      await service.acme.newOrder(NAMES)
      const [key] = ca.accounts.values()
      ca.accounts.clear()
      await service.acme.newOrder(NAMES)
      assert.deepEqual([...ca.accounts.values()], [key])
      ca.accounts.clear()
      await service.openAnother().newOrder(NAMES)
      assert.deepEqual([...ca.accounts.values()], [key])
    })

    test('is not replaced when its key cannot be decrypted; the error names the setting', async () => {
      await service.acme.newOrder(NAMES)
      const other = service.openAnother({
        account: service.account({ secretBox: new SecretBox('another secret') }),
      })
      await assert.rejects(other.newOrder(NAMES), { kind: 'rejected', message: /SLIPWAY_SECRET/ })
      assert.equal(ca.accounts.size, 1)
    })

    test('is created after the CA was unavailable', async () => {
      ca.override = ({ endpoint }) => (endpoint === 'new-account' ? { status: 503 } : undefined)
      await assert.rejects(service.acme.newOrder(NAMES), { kind: 'unreachable' })
      ca.override = () => undefined
      await service.acme.newOrder(NAMES)
    })
  })

  function orders(): AcmeRequest['payload'][] {
    return ca.requests.filter(({ endpoint }) => endpoint === 'new-order').map(({ payload }) => payload)
  }
})
