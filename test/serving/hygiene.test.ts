import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type NetConnectOpts } from 'node:net'
import { after, before, test } from 'node:test'
import { toFiles } from '../api/content.ts'
import { pluck } from '../support/pluck.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { CASES, type Cases, fillBytes } from './hygiene-cases.ts'
import { findHeader, type RawResponse, sendRaw } from './raw-http.ts'

// Malformed and ambiguous requests (RFC 9112) are refused before they can be misread, at the hosts of sites and of the
// API, sent in one piece and byte by byte.

/** Longer cases are sent in one piece only. */
const MAX_BYTEWISE_BYTES = 3000

const LARGE = 'large'.repeat(100_000)

let service: RunningService
let to: NetConnectOpts
let site: string

before(async () => {
  service = await startTestService({}, Date.now())
  const contents = { 'page.txt': 'PAGE', 'after.txt': 'AFTER', 'hidden.txt': 'HIDDEN', 'large.txt': LARGE }
  const { slug } = await service.client().publish({ files: toFiles(contents) })
  site = `${slug}.localhost:${service.port}`
  to = { port: service.port, host: '127.0.0.1' }
})
after(() => service[Symbol.asyncDispose]())

const HANDLERS = {
  'a site': () => ({ host: site, path: '/page.txt' }),
  'the API': () => ({ host: `localhost:${service.port}`, path: '/health' }),
}

for (const [handler, address] of Object.entries(HANDLERS)) {
  for (const one of CASES) {
    test(`at ${handler}, a client that sends ${one.what} gets ${one.statuses.join(' or ')}: the connection ${one.connection}`, async () => {
      for (const request of one.requests) {
        const bytes = fillBytes(request, { ...address(), site, hidden: '/hidden.txt' })
        const inOne = assertOutcome(one, request, [bytes])
        if (bytes.length < MAX_BYTEWISE_BYTES) await assertOutcome(one, request, split(bytes, 1))
        await inOne
      }
    })
  }
}

/** Sends the request followed by an ordinary one. */
async function assertOutcome(
  { statuses, connection }: Cases,
  request: string,
  pieces: Buffer[],
): Promise<void> {
  const after = Buffer.from(`GET /after.txt HTTP/1.1\r\nHost: ${site}\r\nConnection: close\r\n\r\n`)
  const methods = [request.startsWith('HEAD') ? 'HEAD' : 'GET', 'GET']
  const all = pieces.length === 1 ? [Buffer.concat([...pieces, after])] : [...pieces, after]
  const { responses, closed } = await sendRaw(to, all, { methods })
  const bodies = responses.map(({ body }) => body.toString())
  const what = `${responses.map(({ status }) => status)} for ${JSON.stringify(request.slice(0, 200))}`
  assert.ok(closed, `the connection stays open: ${what}`)
  assert.ok(!bodies.some((body) => body.includes('HIDDEN')), `the hidden request was answered: ${what}`)
  const [first, second, ...more] = responses
  assert.ok(first && statuses.includes(first.status), what)
  // RFC 9110, 6.6.1.
  assert.ok(findHeader(first, 'date'), `no Date: ${what}`)
  assert.deepEqual(more, [], what)
  if (connection !== 'either') assert.equal(second === undefined, connection === 'closes', what)
  if (second) assert.equal(bodies[1], 'AFTER', what)
  else assertAnnouncesClose(request, first)
}

/** A response must announce that the connection closes (RFC 9112, 9.6), unless later bytes are the reason. */
function assertAnnouncesClose(request: string, response: RawResponse): void {
  if (/^\w+ \S+ HTTP\/1\.0/.test(request)) return
  const isEarly = [404, 405, 413, 415].includes(response.status)
  if (!isEarly)
    assert.equal(findHeader(response, 'connection')?.toLowerCase(), 'close', request.slice(0, 200))
}

/** Splits into pieces of `size` bytes. */
function split(bytes: Buffer, size: number): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
  return pieces
}

test('a request with an absolute URL gets the response of its path, from a site and from the service', async () => {
  const api = HANDLERS['the API']().host
  for (const [host, path] of [
    [site, '/page.txt'],
    [site, '//page.txt?a=b'],
    [api, '/docs/?a=b'],
    [api, '/api/v1/publish?limit=1'],
    [api, '/api/v1/_upload/site/version/file.txt'],
  ] as const) {
    const send = async (method: string, target: string) => {
      const head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`
      const [response] = (await sendRaw(to, [Buffer.from(head)], { methods: ['GET'] })).responses
      const fields = ['allow', 'location'].map((name) => findHeader(response!, name))
      return [response!.status, ...fields, response!.body.toString()]
    }
    for (const method of ['GET', 'PUT'])
      assert.deepEqual(await send(method, `http://${host}${path}`), await send(method, path), path)
  }
})

test('a hundred requests on one connection are answered in order when sent in pieces of any size', async () => {
  const { bytes, methods, expected } = hundredRequests()
  for (const size of [1, 7, 61, 100_000]) {
    const { responses, closed } = await sendRaw(to, split(bytes, size), { methods })
    assert.deepEqual(responses.map(summarize), expected, `pieces of ${size} bytes`)
    assert.ok(closed)
  }
})

for (const bytes of [
  'CONNECT other.example:443 HTTP/1.1\r\nHost: other.example\r\n\r\n',
  'nonsense\r\n\r\n',
]) {
  test(`a connection refused after ${bytes.slice(0, 8)} is reset when its client continues to send`, async (t) => {
    const deadlines = { lingering: { idle: 60_000, total: 100 } }
    await using impatient = await startTestService({}, Date.now(), { deadlines })
    const client = connect({ ...to, port: impatient.port, allowHalfOpen: true })
    t.after(() => client.destroy())
    client.write(bytes)
    client.resume()
    await once(client, 'end')
    const reset = Promise.withResolvers<void>()
    client.on('error', () => reset.resolve())
    const write = () => client.write('more', () => !client.destroyed && setImmediate(write))
    write()
    await reset.promise
  })
}

test('a refusal is sent after the responses to earlier requests', async () => {
  const lines = `Host: localhost:${service.port}\r\nContent-Type: application/json`
  for (const [statuses, refused] of [
    [[200, 400], `POST /api/v1/publish HTTP/1.1\r\n${lines}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`],
    [[200, 400], 'nonsense\r\n\r\n'],
    // The connection closes without a response.
    [[], 'CONNECT other.example:443 HTTP/1.1\r\nHost: other.example\r\n\r\n'],
  ] as const) {
    // Both requests are in one packet, and the file has to be opened.
    const earlier = `GET /large.txt HTTP/1.1\r\nHost: ${site}\r\nTE: trailers\r\n\r\n`
    const { responses, closed } = await sendRaw(to, [Buffer.from(earlier + refused)], { methods: [] })
    assert.deepEqual([pluck(responses, 'status'), closed], [statuses, true], refused)
    if (statuses.length > 0) assert.equal(responses[0]!.body.toString(), LARGE)
  }
})

test('a method that no server knows gets a sentence that says so, and none that is not in a request line does', async () => {
  for (const [request, status, body] of [
    [`FOO /page.txt HTTP/1.1\r\nHost: ${site}\r\n\r\n`, 501, 'Unsupported method\n'],
    [`GETT /page.txt HTTP/1.0\r\nHost: ${site}\r\n\r\n`, 501, 'Unsupported method\n'],
    ['SSH-2.0-OpenSSH_9.2\r\n', 400, ''],
    [`G(T /page.txt HTTP/1.1\r\nHost: ${site}\r\n\r\n`, 400, ''],
  ] as const) {
    const earlier = `POST /page.txt HTTP/1.1\r\nHost: ${site}\r\nContent-Length: 0\r\n\r\n`
    for (const before of ['', earlier]) {
      const { responses, closed } = await sendRaw(to, [Buffer.from(before + request)], { methods: [] })
      const last = responses.at(-1)!
      const found = [
        responses.length,
        last.status,
        last.body.toString(),
        findHeader(last, 'connection'),
        closed,
      ]
      assert.deepEqual(found, [before === '' ? 1 : 2, status, body, 'close', true], request)
    }
  }
})

test('an interim response is never sent inside another response', async () => {
  const ask = (path: string, lines = '') => `GET ${path} HTTP/1.1\r\nHost: ${site}\r\n${lines}\r\n`
  const expecting = `${ask('/page.txt', 'Expect: 100-continue\r\nContent-Length: 4\r\n')}HEAD`
  for (const before of ['/after.txt', '/nowhere', '/%zz']) {
    const requests = [ask(before), expecting, ask('/after.txt', 'Connection: close\r\n')]
    const { responses, closed } = await sendRaw(to, [Buffer.from(requests.join(''))], { methods: [] })
    const [first, second, third] = responses
    assert.ok(closed)
    assert.deepEqual([first?.interim, summarize(second!)], [[], '200 PAGE'])
    // Without 100 Continue the client may not send the body, and the connection closes.
    if (third) assert.equal(summarize(third), '200 AFTER')
    else assert.equal(findHeader(second!, 'connection'), 'close')
  }
})

function summarize({ status, body }: RawResponse): string {
  return `${status} ${status === 404 ? '' : body}`
}

/** Requests to the site and to the API, with and without bodies; the last closes the connection. */
function hundredRequests(): { bytes: Buffer; methods: string[]; expected: string[] } {
  const kinds = [
    { text: `GET /page.txt HTTP/1.1\r\nHost: ${site}\r\n`, summary: '200 PAGE' },
    { text: `HEAD /after.txt HTTP/1.1\r\nHost: ${site}\r\n`, summary: '200 ' },
    { text: `GET /nowhere HTTP/1.1\r\nHost: ${site}\r\n`, summary: '404 ' },
    {
      text: `GET /page.txt HTTP/1.1\r\nHost: ${site}\r\nContent-Length: 4\r\n`,
      body: 'GET ',
      summary: '200 PAGE',
    },
    { text: `GET /nowhere HTTP/1.1\r\nHost: localhost:${service.port}\r\n`, summary: '404 ' },
    { text: `GET /after.txt HTTP/1.1\r\nHost: ${site}\r\n`, summary: '200 AFTER' },
  ]
  const chosen = Array.from({ length: 100 }, (_, index) => kinds[(index * 7 + (index >> 3)) % kinds.length]!)
  const texts = chosen.map(({ text, body = '' }, index) => {
    return `${text}${index === 99 ? 'Connection: close\r\n' : ''}\r\n${body}`
  })
  return {
    bytes: Buffer.from(texts.join('')),
    methods: chosen.map(({ text }) => text.split(' ')[0]!),
    expected: chosen.map(({ summary }) => summary),
  }
}
