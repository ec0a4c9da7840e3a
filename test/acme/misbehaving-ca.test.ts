import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import type { Acme, AcmeErrorKind } from '../../packages/acme-client/acme.ts'
import { generateKey } from '../../packages/acme-client/jws.ts'
import { createCsr } from '../../packages/acme-client/x509.ts'
import { DAY_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { PATIENT } from '../support/patient.ts'
import { freePort } from '../tools/port.ts'
import { type AcmeFixture, obtain, startAcmeFixture } from './acme-fixture.ts'
import { type CaResponse, type Endpoint, FakeCa, problem } from './fake-ca.ts'
import { NullSolver } from './null-solver.ts'

const NOW = Date.UTC(2031, 4, 5, 6, 7, 8)
const NAMES = ['www.example.test']

/** A CA and a store for all tests of this file; each test gets its own client. */
let ca: FakeCa
let fixture: AcmeFixture
let acme: Acme

describe('a misbehaving CA', () => {
  before(async () => {
    ca = await FakeCa.start(() => NOW)
    const deadlines = { ...PATIENT.authority, call: MINUTE_MS }
    fixture = await startAcmeFixture(ca, { clock: () => NOW, pause: yieldTurn, deadlines })
  })
  after(async () => {
    await fixture[Symbol.asyncDispose]()
    await ca[Symbol.asyncDispose]()
  })
  beforeEach((t) => {
    // Only pauses take time.
    ;(t as TestContext).mock.method(performance, 'now', () => 0)
    ca.override = () => undefined
    ca.requests.length = 0
    fixture.pauses.length = 0
    acme = fixture.openAnother()
  })

  interface Expected {
    kind: AcmeErrorKind
    notBefore?: number
    message?: RegExp
    /** Expected number of requests; default one. */
    requests?: number
    deadlines?: { request: number; call: number }
  }

  const limited = (retryAfter?: string) =>
    problem(429, 'rateLimited', 'Too many', retryAfter === undefined ? {} : { 'retry-after': retryAfter })

  const html: CaResponse = { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>hello' }

  const disconnect: CaResponse = (request) => {
    request.socket.destroy()
  }

  const hang: CaResponse = () => undefined

  const switched: CaResponse = (request) => {
    request.socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: tea\r\nConnection: Upgrade\r\n\r\n')
  }

  const headers: CaResponse = (request) => {
    request.socket.write(`HTTP/1.1 200 OK\r\n${`A: ${'x'.repeat(1000)}\r\n`.repeat(100)}`)
  }

  const flood: CaResponse = (_, response) => {
    const chunk = Buffer.alloc(65_536, ' ')
    let sent = 0
    const more = () => {
      while (sent < 100 * 2 ** 20 && !response.destroyed) {
        sent += chunk.length
        if (!response.write(chunk)) return response.once('drain', more)
      }
      return response.end()
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    more()
  }

  const trickle: CaResponse = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const drip = setInterval(() => response.write(' '), 20)
    response.on('close', () => clearInterval(drip))
  }

  // biome-ignore format: one row for each response
  const RESPONSES: [string, CaResponse, Expected][] = [
  ['429 with a Retry-After of a day', limited('86400'), { kind: 'rate-limited', notBefore: NOW + DAY_MS }],
  ['429 with a date', limited(new Date(NOW + 2 * DAY_MS).toUTCString()), { kind: 'rate-limited', notBefore: NOW + 2 * DAY_MS }],
  ['429 without a time', limited(), { kind: 'rate-limited', notBefore: NOW + 60 * MINUTE_MS }],
  ['429 with a time that makes no sense', limited('yieldTurn'), { kind: 'rate-limited', notBefore: NOW + 60 * MINUTE_MS }],
  ['429 until long after', limited('9999999999'), { kind: 'rate-limited', notBefore: NOW + 7 * DAY_MS }],
  ['429 until before', limited('Thu, 01 Jan 1970 00:00:00 GMT'), { kind: 'rate-limited', notBefore: NOW }],
  ['429 without a problem document', { status: 429, body: 'no', headers: { 'retry-after': '60' } }, { kind: 'rate-limited', notBefore: NOW + MINUTE_MS }],
  ['rateLimited by another status', problem(400, 'rateLimited', 'No', {}), { kind: 'rate-limited', notBefore: NOW + 60 * MINUTE_MS }],
  ['500 with a page', { ...html, status: 500 }, { kind: 'unreachable', message: /status 500/ }],
  ['503 with a time', problem(503, 'serverInternal', 'Down', { 'retry-after': '120' }), { kind: 'unreachable', notBefore: NOW + 2 * MINUTE_MS, message: /: Down$/ }],
  ['503 for a year', problem(503, 'serverInternal', 'Down', { 'retry-after': '31536000' }), { kind: 'unreachable', notBefore: NOW + DAY_MS }],
  ['badNonce for ever', problem(400, 'badNonce', 'Not this one'), { kind: 'unreachable', requests: 25 }],
  ['nothing', hang, { kind: 'unreachable', message: /did not respond within/, deadlines: { request: 300, call: MINUTE_MS } }],
  ['a byte now and then', trickle, { kind: 'unreachable', message: /did not respond within/, deadlines: { request: 300, call: MINUTE_MS } }],
  ['a closed connection', disconnect, { kind: 'unreachable', message: /is unreachable \(ECONNRESET\)/ }],
  ['100 MB', flood, { kind: 'unreachable', message: /more than a megabyte/ }],
  ['a page', { ...html, headers: { ...html.headers, location: '/order/1' } }, { kind: 'unreachable', message: /not JSON/ }],
  ['truncated JSON', located('{"status":'), { kind: 'unreachable', message: /invalid JSON/ }],
  ['a list', located('[]'), { kind: 'unreachable', message: /invalid JSON/ }],
  ['null', located('null'), { kind: 'unreachable', message: /invalid JSON/ }],
  ['an order in an unknown state', located({ status: 'fine' }), { kind: 'unreachable', message: /invalid status/ }],
  ['an order without a finalize URL', located({ status: 'pending', authorizations: [] }), { kind: 'unreachable', message: /no valid finalize/ }],
  ['an order with invalid names', located({ status: 'pending', identifiers: [null], authorizations: [], finalize: '' }), { kind: 'unreachable', message: /no valid value/ }],
  ['an order with too many authorizations', located({ status: 'pending', authorizations: Array.from({ length: 5000 }, () => 'x'), finalize: '' }), { kind: 'unreachable', message: /invalid authorizations/ }],
  ['no Location', { status: 201, body: { status: 'pending', authorizations: [], finalize: '' } }, { kind: 'unreachable', message: /returned no URL for the order/ }],
  ['a redirect', { status: 302, headers: { location: '/order/1' } }, { kind: 'unreachable', message: /status 302/ }],
  ['a long refusal', problem(400, 'rejectedIdentifier', `No\u0007\n\u202e${'x'.repeat(90_000)}`), { kind: 'rejected', message: /^[ -~]{100,500}$/ }],
  ['accountDoesNotExist for ever', problem(400, 'accountDoesNotExist', 'Who are you?'), { kind: 'rejected', requests: 2, message: /: Who are you\?$/ }],
  ['an order for another name', located({ status: 'ready', identifiers: [{ value: 'evil.test' }], authorizations: [], finalize: '' }), { kind: 'unreachable', message: /other names/ }],
  ['with another protocol', switched, { kind: 'unreachable' }],
  ['endless headers', headers, { kind: 'unreachable', message: /HEADER_OVERFLOW/ }],
  ['a refusal without a reason', { status: 403, body: 'no' }, { kind: 'rejected', message: /status 403/ }],
]

  for (const [what, answer, { kind, notBefore, message = /./, requests = 1, ...options }] of RESPONSES) {
    test(`an order with the response ${what} fails as ${kind} immediately`, async () => {
      respondTo('new-order', answer)
      await assert.rejects(fixture.openAnother(options).newOrder(NAMES), {
        name: 'AcmeError',
        ...{ kind, notBefore, message },
      })
      // On a busy machine a short deadline may also end what comes before the order.
      if (options.deadlines === undefined) assert.equal(ca.count('new-order'), requests)
      assert.equal(ca.count('order'), 0)
      assert.deepEqual(fixture.pauses, [])
    })
  }

  function located(body: object | string): CaResponse {
    return { status: 201, headers: { location: '/order/1' }, body }
  }

  describe('a CA that is', () => {
    const directories: [string, CaResponse, RegExp][] = [
      ['at addresses without HTTPS', { status: 200, body: plainDirectory() }, /not HTTPS/],
      ['behind a page', html, /not JSON/],
      ['without a directory', { status: 404 }, /status 404/],
      ['a directory of nothing', { status: 200, body: {} }, /no valid newNonce/],
      ['somewhere else now', { status: 301, headers: { location: '/order/1' } }, /status 301/],
    ]
    for (const [what, answer, message] of directories) {
      test(`${what} fails until it is a CA`, async () => {
        respondTo('directory', answer)
        await assert.rejects(acme.newOrder(NAMES), { name: 'AcmeError', message })
        ca.override = () => undefined
        await acme.newOrder(NAMES)
      })
    }

    test('not trusted gets no requests, and the error names the setting', async () => {
      await assert.rejects(fixture.openAnother({ caFile: undefined }).newOrder(NAMES), {
        kind: 'unreachable',
        message: /untrusted certificate \(.+SLIPWAY_ACME_CA_FILE\)/,
      })
      assert.deepEqual(ca.requests, [])
    })

    test('not listening is unreachable', async () => {
      acme = fixture.openAnother({ directory: `https://127.0.0.1:${await freePort()}/directory` })
      await assert.rejects(acme.newOrder(NAMES), { kind: 'unreachable', message: /\(ECONNREFUSED\)/ })
    })

    test('only for external accounts gets no account request, and the error names the settings', async () => {
      ca.override = async ({ endpoint }, runDefault) => {
        if (endpoint !== 'directory') return undefined
        const { body, ...answer } = (await runDefault()) as { status: number; body: object }
        return { ...answer, body: { ...body, meta: { externalAccountRequired: true } } }
      }
      await using fresh = await startAcmeFixture(ca)
      await assert.rejects(fresh.acme.newOrder(NAMES), {
        kind: 'rejected',
        message: /SLIPWAY_ACME_EAB_KEY_ID and SLIPWAY_ACME_EAB_HMAC_KEY/,
      })
      assert.equal(ca.count('new-account'), 0)
    })

    test('out of nonces is unreachable', async () => {
      respondTo('nonce', { status: 200, headers: { 'replay-nonce': '§' } })
      await assert.rejects(acme.newOrder(NAMES), { kind: 'unreachable', message: /returned no nonce/ })
    })
  })

  const proofs = new NullSolver('http-01', 'dns-01')

  describe('during authorization', () => {
    test('a CA that never completes times out after a minute, and the order can be resumed', async () => {
      const order = await acme.newOrder(NAMES)
      respondTo('authorization', authorization({ status: 'processing', error: { detail: 'no connection' } }))
      await assert.rejects(acme.authorize(order, proofs), { kind: 'timeout', message: /no connection/ })
      assert.ok(total(fixture.pauses) > 50_000 && total(fixture.pauses) <= MINUTE_MS)
      ca.override = () => undefined
      await acme.authorize((await acme.getOrder(order.url))!, proofs)
    })

    test('after a Retry-After of a day the CA is asked once more within the minute', async () => {
      const order = await acme.newOrder(NAMES)
      const headers = { 'retry-after': '86400' }
      respondTo('authorization', { ...authorization({ status: 'processing' }), headers })
      await assert.rejects(acme.authorize(order, proofs), { kind: 'timeout', notBefore: NOW + DAY_MS })
      assert.equal(fixture.pauses.length, 1)
      assert.ok(fixture.pauses[0]! > 50_000 && fixture.pauses[0]! < MINUTE_MS)
    })

    for (const [type, isRemoved] of [
      ['http-01', false],
      ['dns-01', true],
    ] as const)
      test(`a challenge of ${type} ${isRemoved ? 'is removed' : 'stays for a late validation'} after a timeout`, async () => {
        const solver = new NullSolver(type)
        const order = await acme.newOrder(NAMES)
        respondTo('authorization', authorization({ type, status: 'processing' }))
        await assert.rejects(acme.authorize(order, solver), { kind: 'timeout' })
        assert.deepEqual([solver.presented.length, solver.active.length], [1, isRemoved ? 0 : 1])
      })

    test('an order that is never ready times out after a minute', async () => {
      const order = await acme.newOrder(NAMES)
      ca.override = async ({ endpoint }, runDefault) => {
        if (endpoint !== 'order') return undefined
        const answer = (await runDefault()) as { body: object; status: number }
        return { ...answer, body: { ...answer.body, status: 'pending' } }
      }
      await assert.rejects(acme.authorize(order, proofs), { kind: 'timeout' })
      assert.ok(ca.count('order') < 100)
    })

    test('a request is repeated after temporary failures, unless three follow each other', async () => {
      const order = await acme.newOrder(NAMES)
      let times = 0
      ca.override = async ({ endpoint }, runDefault) => {
        if (endpoint !== 'order' || ++times > 5) return undefined
        const { body } = (await runDefault()) as { body: object }
        return times === 3 ? { status: 200, body: { ...body, status: 'pending' } } : { status: 502 }
      }
      assert.equal((await acme.authorize(order, proofs)).status, 'ready')
    })

    test('a long Retry-After of a failed request fails immediately', async () => {
      const order = await acme.newOrder(NAMES)
      respondTo('order', { status: 503, headers: { 'retry-after': '10' } })
      await assert.rejects(acme.authorize(order, proofs), {
        kind: 'unreachable',
        notBefore: NOW + 10_000,
      })
      assert.equal(ca.count('order'), 1)
    })

    test('a wildcard authorization without DNS-01 fails', async () => {
      const order = await acme.newOrder(['*.example.test'])
      const identifier = { type: 'dns', value: 'example.test' }
      respondTo('authorization', authorization({}, { identifier, wildcard: true }))
      await assert.rejects(acme.authorize(order, proofs), {
        kind: 'rejected',
        message: /offers only http-01 for/,
      })
    })

    test('a permanent failure is reported as unreachable', async () => {
      const order = await acme.newOrder(NAMES)
      respondTo('order', { status: 502 })
      await assert.rejects(acme.authorize(order, proofs), { kind: 'unreachable' })
      assert.equal(ca.count('order'), 3)
    })

    const malformed: [string, object | string, RegExp][] = [
      ['another name', { identifier: { value: 'evil.test' } }, /was not requested/],
      ['a wider name', { wildcard: true }, /was not requested/],
      ['no name', { identifier: null }, /no valid value/],
      [
        'no known challenge',
        { challenges: [{ type: 'smtp-01', token: '.', url: 'x' }] },
        /offers no challenge for/,
      ],
      ['no challenge', { challenges: 'none' }, /offers no challenge for/],
      ['challenges that are none', { challenges: [null, 7, {}] }, /offers no challenge for/],
      ['an authorization that has expired', { status: 'expired' }, /could not validate/],
      ['a token that is a path', { challenges: [challenge({ token: '../../../../etc/passwd' })] }, /token/],
      ['a short token', { challenges: [challenge({ token: 'a' })] }, /token/],
      ['a challenge at no address', { challenges: [challenge({ url: 'http://evil.test/' })] }, /not HTTPS/],
    ]
    for (const [what, change, message] of malformed) {
      test(`an authorization for ${what} fails`, async () => {
        const order = await acme.newOrder(NAMES)
        respondTo('authorization', authorization(challenge({}), change as object))
        await assert.rejects(acme.authorize(order, proofs), { name: 'AcmeError', message })
        assert.equal(ca.count('challenge'), 0)
      })
    }
  })

  test('an order of another account is undefined', async () => {
    const { url } = await acme.newOrder(NAMES)
    respondTo('order', problem(403, 'unauthorized', 'Not yours'))
    assert.equal(await acme.getOrder(url), undefined)
    respondTo('order', problem(403, 'userActionRequired', 'New terms'))
    await assert.rejects(acme.getOrder(url), { kind: 'rejected', message: /New terms/ })
  })

  describe('during issuance', () => {
    test('a CA that never issues times out after a minute, and finalize is sent once', async () => {
      const ready = await acme.authorize(await acme.newOrder(NAMES), proofs)
      const csr = await createCsr(NAMES, generateKey())
      setOrderStatus('processing')
      await assert.rejects(acme.finalize(ready, csr), { kind: 'timeout' })
      const processing = await acme.getOrder(ready.url)
      assert.equal(processing?.status, 'processing')
      ca.override = () => undefined
      const order = await acme.finalize(processing!, csr)
      assert.match(await acme.download(order), /BEGIN CERTIFICATE/)
      assert.equal(ca.count('finalize'), 1)
    })

    test('an invalid order is reported with the detail of the CA', async () => {
      const ready = await acme.authorize(await acme.newOrder(NAMES), proofs)
      setOrderStatus('invalid', { detail: 'CAA forbids it' })
      const csr = await createCsr(NAMES, generateKey())
      await assert.rejects(acme.finalize(ready, csr), {
        kind: 'rejected',
        message: /: CAA forbids it$/,
      })
    })

    test('an HTML page instead of a certificate fails', async () => {
      respondTo('certificate', html)
      await assert.rejects(obtain(acme, NAMES, { proofs }), {
        kind: 'unreachable',
        message: /not a certificate/,
      })
    })

    test('other data instead of a certificate fails', async () => {
      const { chain } = await ca.issuer.issueWithKey({
        names: NAMES,
        notBefore: NOW - DAY_MS,
        notAfter: NOW + DAY_MS,
      })
      const headers = { 'content-type': 'application/pem-certificate-chain' }
      respondTo('certificate', { status: 200, headers, body: chain })
      await assert.rejects(obtain(acme, NAMES, { proofs }), /is for a different key/)
    })
  })
})

function respondTo(endpoint: Endpoint, answer: CaResponse): void {
  ca.override = (request) => (request.endpoint === endpoint ? answer : undefined)
}

function plainDirectory(): object {
  const [newNonce, newAccount, newOrder] = ['a', 'b', 'c'].map((path) => `http://127.0.0.1:1/${path}`)
  return { newNonce, newAccount, newOrder }
}

function setOrderStatus(status: string, error?: object): void {
  ca.override = async ({ endpoint }, runDefault) => {
    const answer = await runDefault()
    if ((endpoint !== 'order' && endpoint !== 'finalize') || typeof answer === 'function') return answer
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

/** Replaces pauses. */
function yieldTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
