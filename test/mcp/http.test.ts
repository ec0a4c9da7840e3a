import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { MINUTE_MS } from '../../server/lib/time.ts'
import type { Store } from '../../server/store/store.ts'
import { type Account, Api } from '../api/api.ts'
import { pluck } from '../support/pluck.ts'
import { callOf, LIST_TOOLS, postMessage } from './agent.ts'

const BOTH = 'application/json, text/event-stream'

describe('the messages of programs over HTTP', () => {
  let api: Api
  let account: Account
  before(async () => {
    api = await Api.start()
    account = await api.account()
  })
  after(() => api[Symbol.asyncDispose]())

  const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })
  const post = (message: unknown, headers: Record<string, string | undefined> = {}, path = '/mcp') =>
    postMessage(api.baseUrl, message, { path, headers })

  test('are answered with JSON where the client accepts it, however it says so', async () => {
    const cases: [accept: string | undefined, status: number][] = [
      [BOTH, 200],
      ['application/json', 200],
      ['application/*', 200],
      ['*/*', 200],
      [undefined, 200],
      ['Application/JSON; charset=utf-8; Q=0.5', 200],
      ['text/html, */*;q=0.1', 200],
      ['text/html', 406],
      ['text/event-stream', 406],
      ['application/json;q=0, */*', 406],
      ['application/json;q=0, text/event-stream', 406],
    ]
    for (const [accept, status] of cases) {
      const response = await post(LIST_TOOLS, { accept })
      assert.deepEqual(
        [response.status, response.headers.get('content-type')?.split(';')[0]],
        [status, 'application/json'],
        accept ?? '',
      )
      if (status === 200)
        assert.ok(((await response.json()) as { result: { tools: object[] } }).result.tools.length)
    }
  })

  test('are accepted with a slash at the end of the address', async () => {
    assert.equal((await post(LIST_TOOLS, {}, '/mcp/')).status, 200)
    assert.equal((await post(LIST_TOOLS, {}, '/mcp/account/')).status, 401)
    const authorization = `Bearer ${account.key}`
    assert.equal((await post(LIST_TOOLS, { authorization }, '/mcp/account/')).status, 200)
  })

  test('need a token at the address for clients that sign in only when they are refused', async () => {
    const challenge = `Bearer scope="read publish", resource_metadata="${api.baseUrl}/.well-known/oauth-protected-resource/mcp/account"`
    for (const method of ['GET', 'POST', 'DELETE']) {
      for (const body of method === 'POST' ? ['{', JSON.stringify(LIST_TOOLS)] : [null]) {
        const headers = { 'content-type': 'application/json' }
        const response = await fetch(`${api.baseUrl}/mcp/account`, { method, body, headers })
        assert.deepEqual(
          [response.status, response.headers.get('www-authenticate')],
          [401, challenge],
          method,
        )
      }
    }
    const headers = { authorization: `Bearer ${account.key}` }
    const response = await fetch(`${api.baseUrl}/mcp/account`, { headers })
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST'])
    const preflight = await fetch(`${api.baseUrl}/mcp/account`, { method: 'OPTIONS' })
    assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-methods')], [204, 'POST'])
  })

  test('of a batch are handled in order, for clients of the revisions that have batches', async () => {
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' }
    const publish = callOf('publish_site', { files: [{ path: 'index.html', content: 'x' }] })
    const response = await post([ping(1), notification, { ...publish, id: 2 }])
    const answers = (await response.json()) as { id: number; result: { structuredContent?: object } }[]
    assert.deepEqual(pluck(answers, 'id'), [1, 2])
    assert.ok(answers[1]!.result.structuredContent)
    assert.equal((await post([notification])).status, 202)
    const named = callOf('publish_site', { name: 'a-name', files: [{ path: 'index.html', content: 'x' }] })
    const refused = (await (await post([ping(1), named])).json()) as { result: { isError?: boolean } }[]
    assert.deepEqual([refused.length, refused[1]!.result.isError], [2, true])
    assert.equal((await post([ping(1), callOf('list_sites')])).status, 401)
    for (const [body, headers] of [
      [[ping(1)], { 'mcp-protocol-version': '2025-06-18' }],
      [[], {}],
      [Array(21).fill(ping(1)), {}],
    ] as const)
      assert.equal((await post(body, headers)).status, 400)
  })

  test('of a batch do no more once the key has ended', async () => {
    const { id, apiKey } = await account.client.createKey({ name: 'agent', scope: 'manage' })
    const { blobs } = api.running.service
    const { put } = blobs
    blobs.put = async (...args) => {
      blobs.put = put
      await account.client.revokeKey(id)
      api.pass(MINUTE_MS)
      return put(...args)
    }
    const publish = callOf('publish_site', { files: [{ path: 'index.html', content: 'x' }] })
    const response = await post([publish, callOf('list_sites')], { authorization: `Bearer ${apiKey}` })
    const [, listed] = (await response.json()) as { error?: { message: string } }[]
    assert.match(`${listed!.error?.message}`, /^UNAUTHORIZED: /)
  })

  test('of a batch that fail in the server lose no results of the others, and notifications have no answer', async () => {
    let charges = 0
    const wrapStore = (store: Store) => {
      const execute: Store['execute'] = store.execute.bind(store)
      const fail = () => Promise.reject(new Error('broken'))
      return Object.assign(store, {
        execute: (...given: Parameters<typeof execute>) =>
          [4, 5].includes(++charges) ? fail() : execute(...given),
      })
    }
    await using broken = await Api.start({}, { wrapStore })
    const publish = callOf('publish_site', { files: [{ path: 'index.html', content: 'x' }] })
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' }
    const json = [ping(1), { ...publish, id: 2 }, ping(3), notification, ping(5)]
    charges = 0
    const { json: answers } = await broken.request('POST', '/mcp', { json })
    assert.deepEqual(pluck(answers as { id: number }[], 'id'), [1, 2, 3, 5])
    assert.ok(answers[1].result.structuredContent.claimToken)
    assert.match(answers[2].error.message, /^INTERNAL: .* request ID/)
    const logged = broken.running.log.filter(({ level }) => level === 'error')
    assert.deepEqual([logged.length, `${logged[0]?.error}`.includes('Error: broken')], [2, true])
  })

  test('that do not end within a minute have an error, and those after them in a batch; a client that leaves harms no other', async (t) => {
    await using slow = await Api.start()
    const { blobs } = slow.running.service
    const [put, arrivals, released] = [blobs.put, new EventEmitter(), Promise.withResolvers<void>()]
    blobs.put = async (...args) => {
      arrivals.emit('file')
      await released.promise
      return put(...args)
    }
    let endCall = () => {}
    const timer = globalThis.setTimeout
    t.mock.method(globalThis, 'setTimeout', (work: () => void, milliseconds: number, ...args: unknown[]) => {
      if (milliseconds === MINUTE_MS) endCall = work
      return timer(work, milliseconds, ...args)
    })
    const publish = callOf('publish_site', { files: [{ path: 'index.html', content: 'x' }] })
    const begin = async (message: unknown, signal?: AbortSignal) => {
      const arrived = once(arrivals, 'file')
      const headers = { 'content-type': 'application/json', accept: BOTH }
      const response = fetch(`${slow.baseUrl}/mcp`, {
        ...{ method: 'POST', headers, body: JSON.stringify(message), signal: signal ?? null },
      })
      await arrived
      return () => response
    }
    const single = await begin(publish)
    endCall()
    assert.match(await (await single()).text(), /60 seconds.*"UNAVAILABLE"/s)
    for (const first of [[ping(1)], []]) {
      const batch = await begin([...first, { ...publish, id: 2 }, ping(3), { ...publish, id: 4 }])
      endCall()
      const answers = (await (await batch()).json()) as { id: number; error?: { message: string } }[]
      assert.deepEqual(pluck(answers, 'id'), [...pluck(first, 'id'), 2, 3, 4])
      for (const { error } of answers.slice(first.length)) assert.match(error!.message, /^UNAVAILABLE: /)
    }
    const leaving = new AbortController()
    const left = await begin([publish, publish], leaving.signal)
    leaving.abort()
    await assert.rejects(left(), { name: 'AbortError' })
    for (let count = 0; count < 20; count++)
      assert.equal((await postMessage(slow.baseUrl, ping(count), {})).status, 200)
    released.resolve()
  })

  test('of more than 5.2 MB need an account, whose messages have up to 8.3 MB', async () => {
    const call = callOf('publish_site', {
      files: [{ path: 'index.html', contentBase64: Buffer.alloc(4_100_000).toString('base64') }],
    })
    const refused = await post(call)
    assert.equal(refused.status, 413)
    assert.match(await refused.text(), /The limit is 5\.2 MB.*path, size, contentType and hash/)
    const response = await post(call, { authorization: `Bearer ${account.key}` })
    assert.deepEqual([response.status, (await response.text()).includes('siteUrl')], [200, true])
  })

  test('that no client should send are refused', async () => {
    const refused: [body: unknown, headers: Record<string, string>, status: number][] = [
      ['no JSON', {}, 400],
      [{ ...LIST_TOOLS, params: { _meta: { a: 'x'.repeat(70_000) } } }, {}, 400],
      [callOf('x'.repeat(70_000), {}), {}, 400],
      [LIST_TOOLS, { 'content-type': 'text/plain' }, 415],
      [LIST_TOOLS, { origin: 'https://evil.example' }, 403],
      [LIST_TOOLS, { origin: 'http://localhost:1234' }, 200],
    ]
    for (const [body, headers, status] of refused) {
      const response = await post(body, headers)
      assert.equal(response.status, status, JSON.stringify(headers))
      assert.notEqual(await response.text(), '', JSON.stringify(headers))
    }
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await fetch(`${api.baseUrl}/mcp`, { method })
      assert.deepEqual([status, headers.get('allow')], [405, 'POST'])
      assert.equal(headers.get('access-control-allow-origin'), '*', 'programs in browsers can read it')
    }
  })
})
