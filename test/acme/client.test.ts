import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { certificateId } from '../../server/certificates/x509.ts'
import { problem } from './ca-answer.ts'
import { type Asked, FakeCa } from './ca-double.ts'
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

  test('is told by a program that says what it is', async () => {
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

  test('is of nobody when it was made elsewhere or is gone', async () => {
    const elsewhere = 'https://ca.example.test/order/1'
    assert.equal(await service.acme.getOrder(elsewhere), undefined)
    assert.equal(await service.acme.getOrder(`${new URL(ca.directory).origin}/order/1`), undefined)
    const { url } = await service.acme.newOrder(NAMES)
    const other = await serviceAtCa(ca)
    assert.equal(await other.acme.getOrder(url), undefined)
    await other[Symbol.asyncDispose]()
  })
})

function orders(): Asked['payload'][] {
  return ca.asked.filter(({ place }) => place === 'new-order').map(({ payload }) => payload)
}
