import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type NetConnectOpts } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { toFiles } from '../api/content.ts'
import { type RunningService, startTestService } from '../service.ts'
import { numbers } from '../support/random.ts'
import { CASES, type Case } from './hygiene-cases.ts'
import { findHeader, talk, type WireResponse } from './wire.ts'

// What a client may not send, or not so (RFC 9112): it is refused before anything could be misread, at the hosts of sites
// and of the API alike, in one piece and byte by byte.

/** Bytes that are sent one by one; longer ones only in one piece. */
const MAX_BYTES = 3000

let service: RunningService
let to: NetConnectOpts
let site: string

before(async () => {
  service = await startTestService()
  const contents = { 'page.txt': 'PAGE', 'after.txt': 'AFTER', 'hidden.txt': 'HIDDEN' }
  const { slug } = await service.client().publish({ files: toFiles(contents) })
  site = `${slug}.localhost:${service.port}`
  to = { port: service.port, host: '127.0.0.1' }
})
after(() => service[Symbol.asyncDispose]())

const DOORS = {
  'a site': () => ({ host: site, path: '/page.txt' }),
  'the API': () => ({ host: `localhost:${service.port}`, path: '/health' }),
}

for (const [door, place] of Object.entries(DOORS)) {
  describe(`at ${door}, a client that sends`, () => {
    for (const one of CASES) {
      test(`${one.what}, ${one.statuses.join(' or ')}: the connection ${one.connection}`, async () => {
        const bytes = bytesOf(one, place())
        await holds(one, [bytes])
        if (bytes.length < MAX_BYTES) await holds(one, split(bytes, 1))
      })
    }
  })
}

/** Sends the case and an ordinary request after it. */
async function holds(one: Case, pieces: Buffer[]): Promise<void> {
  const after = Buffer.from(`GET /after.txt HTTP/1.1\r\nHost: ${site}\r\nConnection: close\r\n\r\n`)
  const methods = [one.bytes.startsWith('HEAD') ? 'HEAD' : 'GET', 'GET']
  const last = pieces.at(-1)!
  const all = pieces.length === 1 ? [Buffer.concat([last, after])] : [...pieces, after]
  const { answers, closed } = await talk(to, all, { methods })
  const bodies = answers.map(({ body }) => body.toString())
  assert.ok(closed, `it goes on waiting after ${answers.map(({ status }) => status)}`)
  assert.ok(!bodies.some((body) => body.includes('HIDDEN')), 'the hidden request was answered')
  const [first, second, ...more] = answers
  assert.ok(first, 'it ends without an answer')
  assert.ok(one.statuses.includes(first.status), `${first.status}`)
  assert.deepEqual(more, [])
  if (one.connection === 'ends') assert.equal(second, undefined, `it went on with ${second?.status}`)
  if (one.connection === 'goes on') assert.ok(second, 'it ended')
  if (second) assert.equal(bodies[1], 'AFTER')
  else assertSaysSo(one, first)
}

/** A client has to be told that the connection ends (RFC 9112, 9.6), unless what came later was the reason. */
function assertSaysSo(one: Case, answer: WireResponse): void {
  if (/^\w+ \S+ HTTP\/1\.0/.test(one.bytes)) return
  const isEarly = [404, 405, 413, 415].includes(answer.status)
  if (!isEarly) assert.equal(findHeader(answer, 'connection')?.toLowerCase(), 'close')
}

function bytesOf({ bytes }: Case, { host, path }: { host: string; path: string }): Buffer {
  const hidden = `GET /hidden.txt HTTP/1.1\r\nHost: ${site}\r\n\r\n`
  const text = bytes
    .replaceAll('{host}', host)
    .replaceAll('{path}', path)
    .replaceAll('{hidden}', hidden)
    .replaceAll('{length}', String(hidden.length))
    .replaceAll('{size}', hidden.length.toString(16))
  return Buffer.from(text, 'latin1')
}

/** Pieces of so many bytes. */
function split(bytes: Buffer, size: number): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
  return pieces
}

describe('a hundred requests on one connection', () => {
  for (const size of [1, 2, 3, 7, 61, 1009, 100_000]) {
    test(`are answered in their order when they come in pieces of ${size} bytes`, async () => {
      const { bytes, methods, expected } = hundred()
      const { answers, closed } = await talk(to, split(bytes, size), { methods })
      assert.deepEqual(answers.map(told), expected)
      assert.ok(closed)
    })
  }

  test('are answered in their order when they come in pieces of any size', async (t) => {
    const pick = numbers(t)
    const { bytes, methods, expected } = hundred()
    const pieces: Buffer[] = []
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + pick(pick(4) === 0 ? 400 : 12)
      pieces.push(bytes.subarray(at, end))
      at = end
    }
    const { answers } = await talk(to, pieces, { methods })
    assert.deepEqual(answers.map(told), expected)
  })
})

for (const bytes of [
  'CONNECT other.example:443 HTTP/1.1\r\nHost: other.example\r\n\r\n',
  'nonsense\r\n\r\n',
]) {
  test(`nothing is kept of a connection that ended with ${bytes.slice(0, 8)}, though its client goes on`, async (t) => {
    const client = connect({ ...to, allowHalfOpen: true })
    t.after(() => client.destroy())
    client.write(bytes)
    client.resume()
    await once(client, 'end')
    const gone = Promise.withResolvers<void>()
    client.on('error', () => gone.resolve())
    const write = () => client.write('more', () => !client.destroyed && setImmediate(write))
    write()
    await gone.promise
  })
}

test('an interim answer is never within another, whatever comes before it', async () => {
  const ask = (path: string, lines = '') => `GET ${path} HTTP/1.1\r\nHost: ${site}\r\n${lines}\r\n`
  const expecting = `${ask('/page.txt', 'Expect: 100-continue\r\nContent-Length: 4\r\n')}HEAD`
  for (const before of ['/after.txt', '/nowhere', '/%zz']) {
    const requests = [ask(before), expecting, ask('/after.txt', 'Connection: close\r\n')]
    const { answers, closed } = await talk(to, [Buffer.from(requests.join(''))], { methods: [] })
    const [first, second, third] = answers
    assert.ok(closed)
    assert.deepEqual([first?.interim, told(second!)], [[], '200 PAGE'])
    // Whoever was not told to go on may not do so: then the connection ends.
    if (third) assert.equal(told(third), '200 AFTER')
    else assert.equal(findHeader(second!, 'connection'), 'close')
  }
})

function told({ status, body }: WireResponse): string {
  return `${status} ${status === 404 ? '' : body}`
}

/** Requests to the site and to the API, with bodies and without, of which the last one ends the connection. */
function hundred(): { bytes: Buffer; methods: string[]; expected: string[] } {
  const kinds = [
    { text: `GET /page.txt HTTP/1.1\r\nHost: ${site}\r\n`, told: '200 PAGE' },
    { text: `HEAD /after.txt HTTP/1.1\r\nHost: ${site}\r\n`, told: '200 ' },
    { text: `GET /nowhere HTTP/1.1\r\nHost: ${site}\r\n`, told: '404 ' },
    {
      text: `GET /page.txt HTTP/1.1\r\nHost: ${site}\r\nContent-Length: 4\r\n`,
      body: 'GET ',
      told: '200 PAGE',
    },
    { text: `GET /nowhere HTTP/1.1\r\nHost: localhost:${service.port}\r\n`, told: '404 ' },
    { text: `GET /after.txt HTTP/1.1\r\nHost: ${site}\r\n`, told: '200 AFTER' },
  ]
  const chosen = Array.from({ length: 100 }, (_, index) => kinds[(index * 7 + (index >> 3)) % kinds.length]!)
  const texts = chosen.map(({ text, body = '' }, index) => {
    return `${text}${index === 99 ? 'Connection: close\r\n' : ''}\r\n${body}`
  })
  return {
    bytes: Buffer.from(texts.join('')),
    methods: chosen.map(({ text }) => text.split(' ')[0]!),
    expected: chosen.map(({ told }) => told),
  }
}
