import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { ChallengeType } from '../../server/certificates/acme/acme.ts'
import { FakeCa, type Sought } from './ca-double.ts'
import { obtain, type ServiceAtCa, serviceAtCa } from './service-at-ca.ts'
import { NullSolver } from './unseen-proofs.ts'

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

  test('are there when the CA looks, and are what it looks for', async () => {
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
    const looks = Promise.withResolvers<void>()
    ca.look = () => {
      looks.resolve()
      return looking.promise
    }
    ca.instead = async ({ place }, ordinary) => {
      if (place !== 'challenge') return undefined
      ordinary()
      await looks.promise
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

  test('that were not found are told in the words of the CA, and taken away', async () => {
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
