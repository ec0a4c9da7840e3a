import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { AcmeErrorKind } from '../../server/certificates/acme/acme.ts'
import { type CaResponse, problem } from './ca-answer.ts'
import { type Asked, FakeCa, type Place } from './ca-double.ts'
import { type ServiceAtCa, serviceAtCa } from './service-at-ca.ts'

const NOW = Date.UTC(2031, 4, 5, 6, 7, 8)
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const NAMES = ['www.example.test']

let ca: FakeCa
let service: ServiceAtCa

beforeEach(async () => {
  ca = await FakeCa.start({ clock: () => NOW })
  service = await serviceAtCa(ca, { clock: () => NOW, requestTimeoutMs: 300, pause: soon })
})

afterEach(async () => {
  await service[Symbol.asyncDispose]()
  await ca[Symbol.asyncDispose]()
})

interface Expected {
  kind: AcmeErrorKind
  notBefore?: number
  words?: RegExp
  /** How often the place was asked: once. */
  asked?: number
}

const limited = (retryAfter?: string) =>
  problem(429, 'rateLimited', 'Too many', retryAfter === undefined ? {} : { 'retry-after': retryAfter })

const html: CaResponse = { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>hello' }

const cut: CaResponse = (request) => {
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

const ANSWERS: [string, CaResponse, Expected][] = [
  ['429 with a Retry-After of a day', limited('86400'), { kind: 'rate-limited', notBefore: NOW + DAY_MS }],
  [
    '429 with a date',
    limited(new Date(NOW + 2 * DAY_MS).toUTCString()),
    { kind: 'rate-limited', notBefore: NOW + 2 * DAY_MS },
  ],
  ['429 without a time', limited(), { kind: 'rate-limited', notBefore: NOW + 60 * MINUTE_MS }],
  [
    '429 with a time that makes no sense',
    limited('soon'),
    { kind: 'rate-limited', notBefore: NOW + 60 * MINUTE_MS },
  ],
  ['429 until long after', limited('9999999999'), { kind: 'rate-limited', notBefore: NOW + 7 * DAY_MS }],
  ['429 until before', limited('Thu, 01 Jan 1970 00:00:00 GMT'), { kind: 'rate-limited', notBefore: NOW }],
  [
    '429 in other words',
    { status: 429, body: 'no', headers: { 'retry-after': '60' } },
    { kind: 'rate-limited', notBefore: NOW + MINUTE_MS },
  ],
  [
    'rateLimited by another status',
    problem(400, 'rateLimited', 'No', {}),
    { kind: 'rate-limited', notBefore: NOW + 60 * MINUTE_MS },
  ],
  ['500 with a page', { ...html, status: 500 }, { kind: 'unreachable', words: /status 500/ }],
  [
    '503 with a time',
    problem(503, 'serverInternal', 'Down', { 'retry-after': '120' }),
    { kind: 'unreachable', notBefore: NOW + 2 * MINUTE_MS, words: /: Down$/ },
  ],
  [
    '503 for a year',
    problem(503, 'serverInternal', 'Down', { 'retry-after': '31536000' }),
    { kind: 'unreachable', notBefore: NOW + DAY_MS },
  ],
  ['badNonce for ever', problem(400, 'badNonce', 'Not this one'), { kind: 'unreachable', asked: 25 }],
  ['nothing', hang, { kind: 'unreachable', words: /does not answer within/ }],
  ['with a byte now and then', trickle, { kind: 'unreachable', words: /does not answer within/ }],
  ['and hangs up', cut, { kind: 'unreachable', words: /cannot be reached \(ECONNRESET\)/ }],
  ['100 MB', flood, { kind: 'unreachable', words: /more than a megabyte/ }],
  [
    'a page',
    { ...html, headers: { ...html.headers, location: '/order/1' } },
    { kind: 'unreachable', words: /no JSON/ },
  ],
  ['JSON cut off', located('{"status":'), { kind: 'unreachable', words: /makes no sense/ }],
  ['a list', located('[]'), { kind: 'unreachable', words: /makes no sense/ }],
  ['null', located('null'), { kind: 'unreachable', words: /makes no sense/ }],
  ['an order in no state', located({ status: 'fine' }), { kind: 'unreachable', words: /state/ }],
  [
    'an order without an end',
    located({ status: 'pending', authorizations: [] }),
    { kind: 'unreachable', words: /without a finalize/ },
  ],
  [
    'an order of names that are none',
    located({ status: 'pending', identifiers: [null], authorizations: [], finalize: '' }),
    { kind: 'unreachable', words: /without a value/ },
  ],
  [
    'an order with far too much to prove',
    located({ status: 'pending', authorizations: Array.from({ length: 5000 }, () => 'x'), finalize: '' }),
    { kind: 'unreachable', words: /authorizations that make no sense/ },
  ],
  [
    'no Location',
    { status: 201, body: { status: 'pending', authorizations: [], finalize: '' } },
    { kind: 'unreachable', words: /did not say where the order is/ },
  ],
  [
    'a redirect',
    { status: 302, headers: { location: '/order/1' } },
    { kind: 'unreachable', words: /status 302/ },
  ],
  [
    'no, at length',
    problem(400, 'rejectedIdentifier', `No\u0007\n\u202e${'x'.repeat(90_000)}`),
    { kind: 'rejected', words: /^[ -~]{100,500}$/ },
  ],
  [
    'that there is no such account, again and again',
    problem(400, 'accountDoesNotExist', 'Who are you?'),
    { kind: 'rejected', asked: 2, words: /: Who are you\?$/ },
  ],
  [
    'with an order for another name',
    located({ status: 'ready', identifiers: [{ value: 'evil.test' }], authorizations: [], finalize: '' }),
    { kind: 'unreachable', words: /other names/ },
  ],
  ['with another protocol', switched, { kind: 'unreachable' }],
  ['with endless headers', headers, { kind: 'unreachable', words: /HEADER_OVERFLOW/ }],
  ['no, for no reason', { status: 403, body: 'no' }, { kind: 'rejected', words: /status 403/ }],
]

for (const [what, answer, { kind, notBefore, words = /./, asked = 1 }] of ANSWERS) {
  test(`an order that is answered ${what} is ${kind}, at once`, async () => {
    answers('new-order', answer)
    await assert.rejects(service.acme.newOrder(NAMES), {
      name: 'AcmeError',
      ...{ kind, notBefore, message: words },
    })
    assert.equal(ca.count('new-order'), asked)
    assert.equal(ca.count('order'), 0)
    assert.deepEqual(service.paused, [])
  })
}

function located(body: object | string): CaResponse {
  return { status: 201, headers: { location: '/order/1' }, body }
}

describe('a CA that is', () => {
  const directories: [string, CaResponse, RegExp][] = [
    ['at addresses without HTTPS', { status: 200, body: plainDirectory() }, /none of HTTPS/],
    ['behind a page', html, /no JSON/],
    ['without a directory', { status: 404 }, /status 404/],
    ['a directory of nothing', { status: 200, body: {} }, /without a newNonce/],
    ['somewhere else now', { status: 301, headers: { location: '/order/1' } }, /status 301/],
  ]
  for (const [what, answer, words] of directories) {
    test(`${what} is no CA, until it is one`, async () => {
      answers('directory', answer)
      await assert.rejects(service.acme.newOrder(NAMES), { name: 'AcmeError', message: words })
      ca.instead = () => undefined
      await service.acme.newOrder(NAMES)
    })
  }

  test('not trusted is not talked to, and the setting is named', async () => {
    await assert.rejects(service.again({ caFile: undefined }).newOrder(NAMES), {
      kind: 'unreachable',
      message: /certificate that is not trusted \(.+SLIPWAY_ACME_CA_FILE\)/,
    })
    assert.deepEqual(ca.asked, [])
  })

  test('not there is away', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    const acme = service.again({ directory: `https://127.0.0.1:${port}/directory` })
    await assert.rejects(acme.newOrder(NAMES), { kind: 'unreachable', message: /\(ECONNREFUSED\)/ })
  })

  test('only for accounts made elsewhere is asked for none, and the settings are named', async () => {
    ca.instead = async ({ place }, ordinary) => {
      if (place !== 'directory') return undefined
      const { body, ...answer } = (await ordinary()) as { status: number; body: object }
      return { ...answer, body: { ...body, meta: { externalAccountRequired: true } } }
    }
    await assert.rejects(service.acme.newOrder(NAMES), {
      kind: 'rejected',
      message: /SLIPWAY_ACME_EAB_KEY_ID and SLIPWAY_ACME_EAB_HMAC_KEY/,
    })
    assert.equal(ca.count('new-account'), 0)
  })

  test('out of nonces is away', async () => {
    answers('nonce', { status: 200, headers: { 'replay-nonce': '§' } })
    await assert.rejects(service.acme.newOrder(NAMES), { kind: 'unreachable', message: /gave no nonce/ })
  })
})

function answers(place: Place, answer: CaResponse): void {
  ca.instead = (asked: Asked) => (asked.place === place ? answer : undefined)
}

function plainDirectory(): object {
  const [newNonce, newAccount, newOrder] = ['a', 'b', 'c'].map((path) => `http://127.0.0.1:1/${path}`)
  return { newNonce, newAccount, newOrder }
}

/** Time is not what these tests are about. */
function soon(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
