import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { ChallengeType, Proof, Proofs } from '../../server/tls/acme/acme.ts'
import { certificateId } from '../../server/tls/acme/certificate-id.ts'
import { Seal } from '../../server/tls/seal.ts'
import { problem } from './ca-answer.ts'
import { type Asked, CaDouble, type Sought } from './ca-double.ts'
import { obtain, type ServiceAtCa, serviceAtCa } from './service-at-ca.ts'

const NAMES = ['www.example.test']

let ca: CaDouble
let service: ServiceAtCa

beforeEach(async () => {
  ca = await CaDouble.start()
  service = await serviceAtCa(ca)
})

afterEach(async () => {
  await service[Symbol.asyncDispose]()
  await ca[Symbol.asyncDispose]()
})

describe('an order', () => {
  test('ends with a certificate, and nothing is left to be shown', async () => {
    const proofs = new Shown('http-01')
    const { chain, order } = await obtain(service.acme, NAMES, { proofs })
    assert.equal(new X509Certificate(chain).subjectAltName, 'DNS:www.example.test')
    assert.deepEqual(order.names, NAMES)
    assert.equal(order.status, 'valid')
    assert.equal(proofs.presented.length, 1)
    assert.deepEqual(proofs.now, [])
  })

  test('is told by a program that says what it is', async () => {
    await service.again({ version: '1.2.3' }).order(NAMES)
    assert.deepEqual(new Set(ca.asked.map(({ userAgent }) => userAgent)), new Set(['slipway/1.2.3']))
  })

  test('says which certificate it replaces', async () => {
    const first = await obtain(service.acme, NAMES, { proofs: new Shown('http-01') })
    const replaces = (await certificateId(first.chain))!
    await obtain(service.acme, NAMES, { proofs: new Shown('http-01'), replaces })
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
      assert.equal((await service.acme.order(NAMES, 'a.b')).status, 'pending')
      assert.equal(ca.count('new-order'), 2)
      assert.ok(service.logged.some(({ fields }) => fields.replaces === 'a.b'))
    })
  }

  test('says nothing of replacing to a CA without renewal information', async () => {
    ca.renewalInformation = false
    await service.acme.order(NAMES, 'a.b')
    assert.deepEqual(orders(), [{ identifiers: [{ type: 'dns', value: NAMES[0] }] }])
  })

  test('asks for the profile that was set', async () => {
    ca.profiles = { classic: 'as ever', shortlived: 'six days' }
    await obtain(service.again({ profile: 'shortlived' }), NAMES, { proofs: new Shown('http-01') })
    assert.equal(ca.issued[0]?.profile, 'shortlived')
  })

  test('is not made by another profile than the one that was set, and the setting is named', async () => {
    ca.profiles = { classic: 'as ever' }
    await assert.rejects(service.again({ profile: 'shortlived' }).order(NAMES), {
      trouble: 'refused',
      message: /no profile shortlived \(SLIPWAY_ACME_PROFILE\); it has classic/,
    })
    assert.equal(ca.count('new-order'), 0)
  })

  test('is made without a profile at a CA that has none', async () => {
    assert.equal((await service.again({ profile: 'shortlived' }).order(NAMES)).status, 'pending')
  })

  test('is of nobody when it was made elsewhere or is gone', async () => {
    const elsewhere = 'https://ca.example.test/order/1'
    assert.equal(await service.acme.resume(elsewhere), undefined)
    assert.equal(await service.acme.resume(`${new URL(ca.directory).origin}/order/1`), undefined)
    const { url } = await service.acme.order(NAMES)
    const other = await serviceAtCa(ca)
    assert.equal(await other.acme.resume(url), undefined)
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
      const proofs = new Shown(...wanted)
      await obtain(service.acme, [...NAMES, 'example.test'], { proofs })
      assert.deepEqual(
        proofs.presented.map(({ type, name }) => [type, name]),
        [...NAMES, 'example.test'].map((name) => [used, name]),
      )
      assert.equal(ca.count('challenge'), 2)
    })
  }

  test('are there when the CA looks, and are what it looks for', async () => {
    const proofs = new Shown('http-01')
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
    const proofs = new Shown('http-01', 'dns-01')
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
    await obtain(service.acme, NAMES, { proofs: new Shown('http-01') })
    const proofs = new Shown('http-01')
    const order = await service.acme.order([...NAMES, 'new.example.test'])
    await service.acme.prove(order, proofs)
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
    const order = await service.acme.order(NAMES)
    await assert.rejects(service.acme.prove(order, new Shown('http-01')), { trouble: 'away' })
    ca.instead = () => undefined
    const proofs = new Shown('tls-alpn-01', 'http-01')
    const proving = service.again().prove(order, proofs)
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
    const proofs = new Shown('http-01')
    await assert.rejects(service.acme.prove(await service.acme.order(['a.test', 'b.test']), proofs), {
      trouble: 'failed',
      type: 'unauthorized',
      message: 'The certificate authority did not find the proof for b.test: read [31mnothing there',
    })
    assert.equal(proofs.presented.length, 2)
    assert.deepEqual(proofs.now, [])
  })

  test('that cannot be shown are taken away, and the reason is passed on', async () => {
    const proofs = new Shown('http-01')
    const reason = new Error('the store is away')
    proofs.present = (proof) => {
      proofs.now.push(proof)
      return Promise.reject(reason)
    }
    await assert.rejects(service.acme.prove(await service.acme.order(NAMES), proofs), reason)
    assert.deepEqual(proofs.now, [])
    assert.equal(ca.count('challenge'), 0)
  })

  test('that cannot be taken away are logged, and the order goes on', async () => {
    const proofs = new Shown('http-01')
    const reason = new Error('the store is away')
    proofs.remove = () => Promise.reject(reason)
    await obtain(service.acme, NAMES, { proofs })
    assert.ok(service.logged.some(({ fields }) => fields.error === reason && fields.name === NAMES[0]))
  })

  test('that the CA does not take are refused, and those it takes are named', async () => {
    const order = await service.acme.order(['*.example.test'])
    await assert.rejects(service.acme.prove(order, new Shown('http-01')), {
      trouble: 'refused',
      message: /takes dns-01 for \*\.example\.test, which cannot be shown/,
    })
  })
})

describe('the account', () => {
  test('is made once, with the address for letters and the terms agreed to', async () => {
    await service.again({ email: 'ops@example.test' }).order(NAMES)
    await service.again().order(NAMES)
    const [made, ...more] = ca.asked.filter(({ place }) => place === 'new-account')
    assert.deepEqual(made?.payload, { termsOfServiceAgreed: true, contact: ['mailto:ops@example.test'] })
    assert.deepEqual(more, [])
  })

  test('is one for all processes that begin at the same time', async () => {
    await Promise.all(Array.from({ length: 8 }, () => service.again().order(NAMES)))
    assert.equal(ca.accounts.size, 1)
  })

  test('is the same when the process ended before it heard of it', async () => {
    ca.instead = async ({ place }, ordinary) => {
      if (place !== 'new-account') return undefined
      await ordinary()
      return (request) => request.socket.destroy()
    }
    await assert.rejects(service.acme.order(NAMES), { trouble: 'away' })
    ca.instead = () => undefined
    await service.again().order(NAMES)
    assert.equal(ca.accounts.size, 1)
  })

  test('has its key kept before the CA hears of it, sealed', async () => {
    let row: { key: string; url: string | null } | undefined
    ca.instead = async ({ place }) => {
      if (place === 'new-account') row = await service.store.read.authorities.account(ca.directory)
      return undefined
    }
    await service.acme.order(NAMES)
    assert.equal(row?.url, null)
    assert.match(new Seal('secret').open(row!.key, `acme account ${ca.directory}`)!, /BEGIN PRIVATE KEY/)
  })

  test('that the CA has forgotten is made again, with the same key', async () => {
    await service.acme.order(NAMES)
    const [key] = ca.accounts.values()
    ca.accounts.clear()
    await service.acme.order(NAMES)
    assert.deepEqual([...ca.accounts.values()], [key])
    ca.accounts.clear()
    await service.again().order(NAMES)
    assert.deepEqual([...ca.accounts.values()], [key])
  })

  test('is not made a second time when its key cannot be opened, and the setting is named', async () => {
    await service.acme.order(NAMES)
    const stranger = service.again({ seal: new Seal('another secret') })
    await assert.rejects(stranger.order(NAMES), { trouble: 'refused', message: /SLIPWAY_SECRET/ })
    assert.equal(ca.accounts.size, 1)
  })

  test('is opened again after the CA was away', async () => {
    ca.instead = ({ place }) => (place === 'new-account' ? { status: 503 } : undefined)
    await assert.rejects(service.acme.order(NAMES), { trouble: 'away' })
    ca.instead = () => undefined
    await service.acme.order(NAMES)
  })
})

function orders(): Asked['payload'][] {
  return ca.asked.filter(({ place }) => place === 'new-order').map(({ payload }) => payload)
}

/** Proofs that nobody can see. */
class Shown implements Proofs {
  readonly now: Proof[] = []
  readonly presented: Proof[] = []
  readonly askedFor: string[] = []
  readonly shown = Promise.withResolvers<void>()
  readonly #types: readonly ChallengeType[]

  constructor(...types: ChallengeType[]) {
    this.#types = types
  }

  types(name: string): readonly ChallengeType[] {
    this.askedFor.push(name)
    return this.#types
  }

  async present(proof: Proof): Promise<void> {
    this.now.push(proof)
    this.presented.push(proof)
    this.shown.resolve()
  }

  async remove(proof: Proof): Promise<void> {
    this.now.splice(this.now.indexOf(proof), 1)
  }
}
