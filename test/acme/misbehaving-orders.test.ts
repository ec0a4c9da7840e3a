import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { generateKey } from '../../server/certificates/acme/jws.ts'
import { createCsr } from '../../server/certificates/x509.ts'
import { type CaResponse, problem } from './ca-answer.ts'
import { type Asked, FakeCa, type Place } from './ca-double.ts'
import { obtain, type ServiceAtCa, serviceAtCa } from './service-at-ca.ts'
import { NullSolver } from './unseen-proofs.ts'

const NOW = Date.UTC(2031, 4, 5, 6, 7, 8)
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const NAMES = ['www.example.test']

let ca: FakeCa
let service: ServiceAtCa

beforeEach(async () => {
  ca = await FakeCa.start({ clock: () => NOW })
  service = await serviceAtCa(ca, { clock: () => NOW, pause: soon })
})

afterEach(async () => {
  await service[Symbol.asyncDispose]()
  await ca[Symbol.asyncDispose]()
})

const html: CaResponse = { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>hello' }

const proofs = new NullSolver('http-01', 'dns-01')

describe('while names are proven', () => {
  test('a CA that never finds an end is slow after a minute, and the order can go on later', async () => {
    const order = await service.acme.newOrder(NAMES)
    answers('authorization', authorization({ status: 'processing', error: { detail: 'nobody home' } }))
    await assert.rejects(service.acme.authorize(order, proofs), { kind: 'timeout', message: /nobody home/ })
    assert.ok(total(service.paused) > 50_000 && total(service.paused) <= MINUTE_MS)
    ca.instead = () => undefined
    await service.acme.authorize((await service.acme.getOrder(order.url))!, proofs)
  })

  test('a CA that wants to be asked tomorrow is not waited for', async () => {
    const order = await service.acme.newOrder(NAMES)
    const headers = { 'retry-after': '86400' }
    answers('authorization', { ...authorization({ status: 'processing' }), headers })
    await assert.rejects(service.acme.authorize(order, proofs), { kind: 'timeout', notBefore: NOW + DAY_MS })
    assert.deepEqual(service.paused, [])
  })

  test('an order that is never ready is slow after a minute', async () => {
    const order = await service.acme.newOrder(NAMES)
    ca.instead = async ({ place }, ordinary) => {
      if (place !== 'order') return undefined
      const answer = (await ordinary()) as { body: object; status: number }
      return { ...answer, body: { ...answer.body, status: 'pending' } }
    }
    await assert.rejects(service.acme.authorize(order, proofs), { kind: 'timeout' })
    assert.ok(ca.count('order') < 100)
  })

  test('a CA that is away for a moment is asked again', async () => {
    const order = await service.acme.newOrder(NAMES)
    let times = 0
    ca.instead = ({ place }) => (place === 'order' && ++times < 3 ? { status: 502 } : undefined)
    assert.equal((await service.acme.authorize(order, proofs)).status, 'ready')
  })

  test('a CA that is away until later is not waited for', async () => {
    const order = await service.acme.newOrder(NAMES)
    answers('order', { status: 503, headers: { 'retry-after': '10' } })
    await assert.rejects(service.acme.authorize(order, proofs), {
      kind: 'unreachable',
      notBefore: NOW + 10_000,
    })
    assert.equal(ca.count('order'), 1)
  })

  test('a CA that wants to see a wildcard elsewhere than in DNS fails', async () => {
    const order = await service.acme.newOrder(['*.example.test'])
    const identifier = { type: 'dns', value: 'example.test' }
    answers('authorization', authorization({}, { identifier, wildcard: true }))
    await assert.rejects(service.acme.authorize(order, proofs), {
      kind: 'rejected',
      message: /takes http-01 for/,
    })
  })

  test('a CA that stays away is', async () => {
    const order = await service.acme.newOrder(NAMES)
    answers('order', { status: 502 })
    await assert.rejects(service.acme.authorize(order, proofs), { kind: 'unreachable' })
    assert.equal(ca.count('order'), 3)
  })

  const strange: [string, object | string, RegExp][] = [
    ['another name', { identifier: { value: 'evil.test' } }, /was not asked for/],
    ['a wider name', { wildcard: true }, /was not asked for/],
    ['no name', { identifier: null }, /without a value/],
    ['no known challenge', { challenges: [{ type: 'smtp-01', token: '.', url: 'x' }] }, /takes nothing that/],
    ['no challenge', { challenges: 'none' }, /takes nothing that/],
    ['challenges that are none', { challenges: [null, 7, {}] }, /takes nothing that/],
    ['an authorization that has expired', { status: 'expired' }, /did not find the proof/],
    ['a token that is a path', { challenges: [challenge({ token: '../../../../etc/passwd' })] }, /token/],
    ['a short token', { challenges: [challenge({ token: 'a' })] }, /token/],
    ['a challenge at no address', { challenges: [challenge({ url: 'http://evil.test/' })] }, /none of HTTPS/],
  ]
  for (const [what, change, words] of strange) {
    test(`a CA that wants to see ${what} fails`, async () => {
      const order = await service.acme.newOrder(NAMES)
      answers('authorization', authorization(challenge({}), change as object))
      await assert.rejects(service.acme.authorize(order, proofs), { name: 'AcmeError', message: words })
      assert.equal(ca.count('challenge'), 0)
    })
  }
})

test('an order of another account is of nobody', async () => {
  const { url } = await service.acme.newOrder(NAMES)
  answers('order', problem(403, 'unauthorized', 'Not yours'))
  assert.equal(await service.acme.getOrder(url), undefined)
  answers('order', problem(403, 'userActionRequired', 'New terms'))
  await assert.rejects(service.acme.getOrder(url), { kind: 'rejected', message: /New terms/ })
})

describe('while a certificate is issued', () => {
  test('a CA that never issues is slow after a minute, and is not asked twice to issue', async () => {
    const ready = await service.acme.authorize(await service.acme.newOrder(NAMES), proofs)
    const csr = await createCsr(NAMES, generateKey())
    stateOfOrders('processing')
    await assert.rejects(service.acme.finalize(ready, csr), { kind: 'timeout' })
    const processing = await service.acme.getOrder(ready.url)
    assert.equal(processing?.status, 'processing')
    ca.instead = () => undefined
    const order = await service.acme.finalize(processing!, csr)
    assert.match(await service.acme.download(order), /BEGIN CERTIFICATE/)
    assert.equal(ca.count('finalize'), 1)
  })

  test('an order that is given up says why', async () => {
    const ready = await service.acme.authorize(await service.acme.newOrder(NAMES), proofs)
    stateOfOrders('invalid', { detail: 'CAA forbids it' })
    const csr = await createCsr(NAMES, generateKey())
    await assert.rejects(service.acme.finalize(ready, csr), {
      kind: 'rejected',
      message: /: CAA forbids it$/,
    })
  })

  test('a request for other names is refused in the words of the CA', async () => {
    const ready = await service.acme.authorize(await service.acme.newOrder(NAMES), proofs)
    const csr = await createCsr(['other.example.test'], generateKey())
    await assert.rejects(service.acme.finalize(ready, csr), { kind: 'rejected', type: 'badCSR' })
  })

  test('a page in place of the certificate is none', async () => {
    answers('certificate', html)
    await assert.rejects(obtain(service.acme, NAMES, { proofs }), {
      kind: 'unreachable',
      message: /no certificate/,
    })
  })

  test('a certificate of something else is none', async () => {
    const { chain } = await ca.issuer.issueWithKey({
      names: NAMES,
      notBefore: NOW - DAY_MS,
      notAfter: NOW + DAY_MS,
    })
    const headers = { 'content-type': 'application/pem-certificate-chain' }
    answers('certificate', { status: 200, headers, body: chain })
    await assert.rejects(obtain(service.acme, NAMES, { proofs }), /is for another key/)
  })
})

function answers(place: Place, answer: CaResponse): void {
  ca.instead = (asked: Asked) => (asked.place === place ? answer : undefined)
}

function stateOfOrders(status: string, error?: object): void {
  ca.instead = async ({ place }, ordinary) => {
    const answer = await ordinary()
    if ((place !== 'order' && place !== 'finalize') || typeof answer === 'function') return answer
    return { ...answer, body: { ...(answer.body as object), status, error } }
  }
}

function authorization(one: object, change: object = {}) {
  const identifier = { type: 'dns', value: NAMES[0] }
  return { status: 200, body: { status: 'pending', identifier, challenges: [challenge(one)], ...change } }
}

function challenge(change: object): object {
  const url = `${new URL(ca?.directory ?? 'https://127.0.0.1').origin}/challenge/1`
  return { type: 'http-01', status: 'pending', token: 'a'.repeat(32), url, ...change }
}

function total(times: readonly number[]): number {
  return times.reduce((sum, time) => sum + time, 0)
}

/** Time is not what these tests are about. */
function soon(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
