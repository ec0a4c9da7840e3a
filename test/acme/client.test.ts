import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { ChallengeType } from '../../server/certificates/acme/acme.ts'
import { certificateId } from '../../server/certificates/x509.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import type { Store } from '../../server/store/store.ts'
import { type Asked, FakeCa, type Sought } from './fake-ca.ts'
import { problem } from './fake-ca-http.ts'
import { NullSolver } from './null-solver.ts'
import { obtain, type ServiceAtCa, serviceAtCa } from './service-at-ca.ts'

const NAMES = ['www.example.test']

let ca: FakeCa
let service: ServiceAtCa

beforeEach(async () => {
  ca = await FakeCa.start()
  service = await serviceAtCa(ca)
})

afterEach(async () => {
  await service[Symbol.asyncDispose]()
  await ca[Symbol.asyncDispose]()
})

describe('an order', () => {
  test('ends with a certificate, and nothing is left to be shown', async () => {
    const proofs = new NullSolver('http-01')
    const { chain, order } = await obtain(service.acme, NAMES, { proofs })
    assert.equal(new X509Certificate(chain).subjectAltName, 'DNS:www.example.test')
    assert.deepEqual(order.names, NAMES)
    assert.equal(order.status, 'valid')
    assert.equal(proofs.presented.length, 1)
    assert.deepEqual(proofs.now, [])
  })

  test('is sent with a User-Agent that names the program', async () => {
    await service.again({ version: '1.2.3' }).newOrder(NAMES)
    assert.deepEqual(new Set(ca.asked.map(({ userAgent }) => userAgent)), new Set(['slipway/1.2.3']))
  })

  test('says which certificate it replaces', async () => {
    const first = await obtain(service.acme, NAMES, { proofs: new NullSolver('http-01') })
    const replaces = (await certificateId(first.chain))!
    await obtain(service.acme, NAMES, { proofs: new NullSolver('http-01'), replaces })
    assert.deepEqual(
      ca.issued.map((issued) => issued.replaces),
      [undefined, replaces],
    )
  })

  for (const [what, answer] of [
    ['was replaced already', problem(409, 'alreadyReplaced', 'Somebody was here before')],
    ['is not known there', problem(404, 'malformed', 'What is that?')],
    ['is of another account', problem(403, 'unauthorized', 'Not yours')],
  ] as const) {
    test(`is taken without the certificate that ${what}`, async () => {
      ca.instead = ({ place, payload }) =>
        place === 'new-order' && payload?.replaces !== undefined ? answer : undefined
      assert.equal((await service.acme.newOrder(NAMES, 'a.b')).status, 'pending')
      assert.equal(ca.count('new-order'), 2)
      assert.ok(service.logged.some(({ fields }) => fields.replaces === 'a.b'))
    })
  }

  test('says nothing of replacing to a CA without renewal information', async () => {
    ca.renewalInformation = false
    await service.acme.newOrder(NAMES, 'a.b')
    assert.deepEqual(orders(), [{ identifiers: [{ type: 'dns', value: NAMES[0] }] }])
  })

  test('asks for the profile that was set', async () => {
    ca.profiles = { classic: 'as ever', shortlived: 'six days' }
    await obtain(service.again({ profile: 'shortlived' }), NAMES, { proofs: new NullSolver('http-01') })
    assert.equal(ca.issued[0]?.profile, 'shortlived')
  })

  test('is not made by another profile than the one that was set, and the setting is named', async () => {
    ca.profiles = { classic: 'as ever' }
    await assert.rejects(service.again({ profile: 'shortlived' }).newOrder(NAMES), {
      kind: 'rejected',
      message: /no profile shortlived \(SLIPWAY_ACME_PROFILE\); it has classic/,
    })
    assert.equal(ca.count('new-order'), 0)
  })

  test('is made without a profile at a CA that has none', async () => {
    assert.equal((await service.again({ profile: 'shortlived' }).newOrder(NAMES)).status, 'pending')
  })

  test('is not found when it is of another CA or deleted', async () => {
    const elsewhere = 'https://ca.example.test/order/1'
    assert.equal(await service.acme.getOrder(elsewhere), undefined)
    assert.equal(await service.acme.getOrder(`${new URL(ca.directory).origin}/order/1`), undefined)
    const { url } = await service.acme.newOrder(NAMES)
    const other = await serviceAtCa(ca)
    assert.equal(await other.acme.getOrder(url), undefined)
    await other[Symbol.asyncDispose]()
  })
})

describe('proofs', () => {
  for (const [wanted, used] of [
    [['http-01', 'tls-alpn-01'], 'http-01'],
    [['tls-alpn-01', 'http-01'], 'tls-alpn-01'],
    [['dns-01'], 'dns-01'],
  ] as [ChallengeType[], ChallengeType][]) {
    test(`are of the first type that can be shown: ${wanted.join(', ')}`, async () => {
      const proofs = new NullSolver(...wanted)
      await obtain(service.acme, [...NAMES, 'example.test'], { proofs })
      assert.deepEqual(
        proofs.presented.map(({ type, name }) => [type, name]),
        [...NAMES, 'example.test'].map((name) => [used, name]),
      )
      assert.equal(ca.count('challenge'), 2)
    })
  }

  test('are served when the CA validates, with the key authorization that it expects', async () => {
    const proofs = new NullSolver('http-01')
    const sought: Sought[] = []
    ca.look = (one) => {
      sought.push(one)
      const there = proofs.now.some(({ token }) => token === one.token)
      return there ? undefined : 'it is not there'
    }
    await obtain(service.acme, NAMES, { proofs })
    assert.deepEqual(sought, proofs.presented)
  })

  test('of a wildcard are in DNS', async () => {
    const proofs = new NullSolver('http-01', 'dns-01')
    await obtain(service.acme, ['*.example.test', 'example.test'], { proofs })
    assert.deepEqual(
      proofs.presented.map(({ type, name }) => [type, name]),
      [
        ['dns-01', 'example.test'],
        ['http-01', 'example.test'],
      ],
    )
    assert.deepEqual(proofs.askedFor, ['*.example.test', 'example.test'])
  })

  test('that were found once are not shown again', async () => {
    ca.reuse = true
    await obtain(service.acme, NAMES, { proofs: new NullSolver('http-01') })
    const proofs = new NullSolver('http-01')
    const order = await service.acme.newOrder([...NAMES, 'new.example.test'])
    await service.acme.authorize(order, proofs)
    assert.deepEqual(
      proofs.presented.map(({ name }) => name),
      ['new.example.test'],
    )
  })

  test('that were asked about by a process that is gone are shown again, and not asked about twice', async () => {
    const looking = Promise.withResolvers<undefined>()
    const validation = Promise.withResolvers<void>()
    ca.look = () => {
      validation.resolve()
      return looking.promise
    }
    ca.instead = async ({ place }, ordinary) => {
      if (place !== 'challenge') return undefined
      ordinary()
      await validation.promise
      return (request) => request.socket.destroy()
    }
    const order = await service.acme.newOrder(NAMES)
    await assert.rejects(service.acme.authorize(order, new NullSolver('http-01')), { kind: 'unreachable' })
    ca.instead = () => undefined
    const proofs = new NullSolver('tls-alpn-01', 'http-01')
    const proving = service.again().authorize(order, proofs)
    await proofs.shown.promise
    looking.resolve(undefined)
    assert.equal((await proving).status, 'ready')
    assert.deepEqual(
      proofs.presented.map(({ type }) => type),
      ['http-01'],
    )
    assert.equal(ca.count('challenge'), 1)
  })

  test('that were not found are reported with the detail of the CA, and removed', async () => {
    ca.look = ({ name }) => (name === 'b.test' ? 'read \u001b[31mnothing\nthere' : undefined)
    const proofs = new NullSolver('http-01')
    await assert.rejects(service.acme.authorize(await service.acme.newOrder(['a.test', 'b.test']), proofs), {
      kind: 'challenge-failed',
      type: 'unauthorized',
      message: 'The certificate authority did not find the proof for b.test: read [31mnothing there',
    })
    assert.equal(proofs.presented.length, 2)
    assert.deepEqual(proofs.now, [])
  })

  test('that cannot be shown are taken away, and the reason is passed on', async () => {
    const proofs = new NullSolver('http-01')
    const reason = new Error('the store is away')
    proofs.present = (proof) => {
      proofs.now.push(proof)
      return Promise.reject(reason)
    }
    await assert.rejects(service.acme.authorize(await service.acme.newOrder(NAMES), proofs), reason)
    assert.deepEqual(proofs.now, [])
    assert.equal(ca.count('challenge'), 0)
  })

  test('may take minutes until they can be seen in DNS: the patience with the CA is not used up by that', async (t) => {
    const now = performance.now.bind(performance)
    let gone = 0
    t.mock.method(performance, 'now', () => now() + gone)
    const proofs = new NullSolver('dns-01')
    const present = proofs.present.bind(proofs)
    proofs.present = async (proof) => {
      gone += 90_000
      await present(proof)
    }
    await obtain(service.acme, ['*.example.test', 'example.test'], { proofs })
    assert.equal(gone, 180_000)
  })

  test('that cannot be taken away are logged, and the order goes on', async () => {
    const proofs = new NullSolver('http-01')
    const reason = new Error('the store is away')
    proofs.remove = () => Promise.reject(reason)
    await obtain(service.acme, NAMES, { proofs })
    assert.ok(service.logged.some(({ fields }) => fields.error === reason && fields.name === NAMES[0]))
  })

  test('that the CA does not take are refused, and those it takes are named', async () => {
    const order = await service.acme.newOrder(['*.example.test'])
    await assert.rejects(service.acme.authorize(order, new NullSolver('http-01')), {
      kind: 'rejected',
      message: /takes dns-01 for \*\.example\.test, which cannot be shown/,
    })
  })
})

describe('nonces', () => {
  test('are asked for once, and then are those of the answers', async () => {
    await obtain(service.acme, NAMES, { proofs: new NullSolver('http-01') })
    assert.equal(ca.count('nonce'), 1)
  })

  test('are kept up to twenty', async () => {
    const orderAll = () => Promise.all(Array.from({ length: 50 }, () => service.acme.newOrder(NAMES)))
    await orderAll()
    const before = ca.count('nonce')
    await orderAll()
    assert.equal(ca.count('nonce') - before, 30)
  })

  test('that the CA has forgotten cost one request, not one for each', async () => {
    await Promise.all(Array.from({ length: 8 }, () => service.acme.newOrder(NAMES)))
    ca.forgetNonces()
    const before = ca.count('new-order')
    await service.acme.newOrder(NAMES)
    assert.equal(ca.count('new-order') - before, 2)
  })
})

describe('the account', () => {
  test('is made once, with the address for letters and the terms agreed to', async () => {
    await service.again({ email: 'ops@example.test' }).newOrder(NAMES)
    await service.again().newOrder(NAMES)
    const [made, ...more] = ca.asked.filter(({ place }) => place === 'new-account')
    assert.deepEqual(made?.payload, { termsOfServiceAgreed: true, contact: ['mailto:ops@example.test'] })
    assert.deepEqual(more, [])
  })

  test('is one for all processes that begin at the same time', async () => {
    await Promise.all(Array.from({ length: 8 }, () => service.again().newOrder(NAMES)))
    assert.equal(ca.accounts.size, 1)
  })

  test('is that of the process which was first when two have found none', async () => {
    const { store } = service
    const late = { ...store.read.acme, account: async () => undefined }
    const write = store.write.bind(store)
    const behind = { read: { ...store.read, acme: late }, write } as unknown as Store
    await service.acme.newOrder(NAMES)
    await service.again({ store: behind }).newOrder(NAMES)
    assert.equal(ca.accounts.size, 1)
  })

  test('is the same when the process ended before the response arrived', async () => {
    ca.instead = async ({ place }, ordinary) => {
      if (place !== 'new-account') return undefined
      await ordinary()
      return (request) => request.socket.destroy()
    }
    await assert.rejects(service.acme.newOrder(NAMES), { kind: 'unreachable' })
    ca.instead = () => undefined
    await service.again().newOrder(NAMES)
    assert.equal(ca.accounts.size, 1)
  })

  test('has its key kept before the CA hears of it, sealed', async () => {
    let row: { key: string; url: string | null } | undefined
    ca.instead = async ({ place }) => {
      if (place === 'new-account') row = await service.store.read.acme.account(ca.directory)
      return undefined
    }
    await service.acme.newOrder(NAMES)
    assert.equal(row?.url, null)
    assert.match(
      new SecretBox('secret').decrypt(row!.key, `acme account ${ca.directory}`)!,
      /BEGIN PRIVATE KEY/,
    )
  })

  test('that the CA has forgotten is made again, with the same key', async () => {
    await service.acme.newOrder(NAMES)
    const [key] = ca.accounts.values()
    ca.accounts.clear()
    await service.acme.newOrder(NAMES)
    assert.deepEqual([...ca.accounts.values()], [key])
    ca.accounts.clear()
    await service.again().newOrder(NAMES)
    assert.deepEqual([...ca.accounts.values()], [key])
  })

  test('is not made a second time when its key cannot be opened, and the setting is named', async () => {
    await service.acme.newOrder(NAMES)
    const stranger = service.again({ secretBox: new SecretBox('another secret') })
    await assert.rejects(stranger.newOrder(NAMES), { kind: 'rejected', message: /SLIPWAY_SECRET/ })
    assert.equal(ca.accounts.size, 1)
  })

  test('is opened again after the CA was away', async () => {
    ca.instead = ({ place }) => (place === 'new-account' ? { status: 503 } : undefined)
    await assert.rejects(service.acme.newOrder(NAMES), { kind: 'unreachable' })
    ca.instead = () => undefined
    await service.acme.newOrder(NAMES)
  })
})

function orders(): Asked['payload'][] {
  return ca.asked.filter(({ place }) => place === 'new-order').map(({ payload }) => payload)
}
