import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Listener } from '../../packages/http-server/listener.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import { toFiles } from '../api/content.ts'
import { sendRequest } from '../support/http-client.ts'
import { PATIENT } from '../support/patient.ts'
import { startTestService } from '../support/service.ts'

// As long as a client takes to send its next request.
const DEADLINES = { connection: { ...PATIENT.connection, lastRequest: HOUR_MS } }

test('a service that ends answers each client that continues to send once more, and says that it is the last answer', async () => {
  const service = await startTestService({ DRAIN_SECONDS: '3600' }, undefined, { deadlines: DEADLINES })
  const files = [{ path: 'index.html', content: 'x' }]
  const { siteUrl } = await service.client().publishContents({ files })
  // Visits are answered from the socket, requests of the API by Node's parser.
  const urls = Array.from({ length: 8 }, (_, index) => (index % 2 ? siteUrl : `${service.baseUrl}/health`))
  const begun = Promise.withResolvers<void>()
  let answers = 0
  const visits = urls.map(async (url) => {
    using agent = new OneConnection()
    for (;;) {
      const { status, isLast } = await agent.get(url)
      assert.equal(status, 200)
      answers += 1
      if (answers > 100) begun.resolve()
      if (isLast) return
    }
  })
  await begun.promise
  await Promise.all([...visits, service[Symbol.asyncDispose]()])
})

const PORTS: [which: string, settings: Record<string, string>, header: string][] = [
  ['', {}, ''],
  [' behind a proxy of both ports', { HTTPS_PORT: '0', PROXY_PROTOCOL: 'private' }, 'PROXY UNKNOWN\r\n'],
]
for (const [which, settings, header] of PORTS)
  test(`a service that ends answers clients whose connection the system has accepted, and the service has not${which}`, async () => {
    const all = { DRAIN_SECONDS: '3600', ...settings }
    const service = await startTestService(all, undefined, { deadlines: DEADLINES })
    const clients = Array.from({ length: 64 }, () => connect(service.port, '127.0.0.1'))
    for (const client of clients) client.write(`${header}GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    // They connect, and the service has no turn in which it could accept one.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    const ended = service[Symbol.asyncDispose]()
    using _ = longTurns()
    const answers = await Promise.all(clients.map((client) => text(client)))
    for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 200 .*\r\nConnection: close\r\n/is)
    await ended
  })

test('a service that ends answers requests that wait for a change of a review or of a preview', async () => {
  // Without a change they wait for 25 seconds, and would be aborted.
  const service = await startTestService({ DRAIN_SECONDS: '10' })
  const key = await service.signIn('ann@example.test')
  const client = service.client(key)
  const files = toFiles({ 'index.html': 'x' })
  const { slug } = await client.publish({ files })
  const { versionId } = await client.publish({ slug, preview: 'next', liveReload: true, files })
  const { revision } = await client.review(slug, 'next').get()
  const changes = `/api/v1/publish/${slug}/previews/next/review/changes?since=${revision}`
  const waiting = [
    sendRequest(service.port, { path: changes, headers: { authorization: `Bearer ${key}` } }),
    sendRequest(service.port, { site: `next--${slug}`, path: `/_slipway/reload?version=${versionId}` }),
  ]
  // Their connections precede this one.
  await sendRequest(service.port, { path: '/health' })
  await service[Symbol.asyncDispose]()
  const [review, reload] = await Promise.all(waiting)
  assert.deepEqual([review!.json, reload!.status], [{ revision }, 204])
})

test('a service that ends before it can answer does not wait for requests', async () => {
  const listener = await Listener.open('127.0.0.1', 0, { deadlines: PATIENT })
  const client = connect(listener.port, '127.0.0.1')
  const closed = text(client).catch(() => 'reset')
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(client, 'connect')
  for (let turns = 0; turns < 100; turns++) await turn()
  await listener.drain(3600)
  assert.match(await closed, /^(reset)?$/)
})

/** As on a busy machine, each turn of the event loop takes longer than a drain waits for a connection. */
function longTurns(): Disposable {
  let next: NodeJS.Immediate
  const hold = () => {
    for (const begun = performance.now(); performance.now() - begun < 60; );
    next = setImmediate(hold)
  }
  next = setImmediate(hold)
  return { [Symbol.dispose]: () => clearImmediate(next) }
}

/** A client that reuses its connection. */
class OneConnection implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  get(url: string): Promise<{ status: number | undefined; isLast: boolean }> {
    const { hostname, host, port, pathname } = new URL(url)
    return new Promise((resolve, reject) => {
      const target = { host: '127.0.0.1', port, path: pathname, headers: { host }, agent: this.#agent }
      get(target, (response) => {
        response.resume()
        const isLast = response.headers.connection === 'close'
        response.once('end', () => resolve({ status: response.statusCode, isLast }))
      }).once('error', (cause) => reject(new Error(`${hostname} reset the connection`, { cause })))
    })
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}
