import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { tar } from '../archive/tar-file.ts'
import { sendRequest } from '../support/http-client.ts'
import { listen } from '../support/listen.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { OtlpReceiver, type ReceivedSpan } from '../tools/otlp-receiver.ts'
import { freePort } from '../tools/port.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'

describe('with a collector, a service records', () => {
  let receiver: OtlpReceiver
  let slug: string
  before(async () => {
    receiver = await OtlpReceiver.start()
    const settings = { OTLP_URL: receiver.url, TRUSTED_PROXIES: '1' }
    await using service = await startTestService(settings)
    slug = (await publish(service)).slug
    await visit(service, slug, '/')
    await visit(service, slug, '/')
    const headers = { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01` }
    await sendRequest(service.port, { path: '/api/v1/me?secret=1', headers })
    await sendRequest(service.port, { path: '/api/admin/invitations/secret%40example.net' })
  })
  after(() => receiver[Symbol.asyncDispose]())

  const find = (name: string) => receiver.spans.filter((span) => span.name === name)

  test('a publish, with its finalize, the database and the files', () => {
    const [request] = find('POST /api/v1/publish')
    const names = receiver.traceOf(request!).map(({ name }) => name)
    for (const name of ['finalize', 'store write', 'store read', 'blob commit', 'blob put'])
      assert.ok(names.includes(name), `${name} is not among ${names.join(', ')}`)
    assert.equal(attribute(request!, 'http.response.status_code'), '201')
    assert.equal(request!.kind, 2)
    const [finalize] = find('finalize')
    const children = receiver.spans.filter(({ parentSpanId }) => parentSpanId === finalize!.spanId)
    assert.ok(children.some(({ name }) => name === 'store write'))
  })

  test('a visit that waits for the database, and none that does not', () => {
    const visits = find('visit')
    const addresses = visits.map((span) => [attribute(span, 'server.address'), attribute(span, 'url.path')])
    assert.deepEqual(addresses, [[`${slug}.localhost`, '/']])
    assert.ok(receiver.traceOf(visits[0]!).some(({ name }) => name === 'store read'))
  })

  test('a request of a trusted proxy in the trace of that proxy, without its query or email addresses', () => {
    const [request] = find('GET /api/v1/me')
    assert.deepEqual([request!.traceId, request!.parentSpanId], [TRACE_ID, 'b7ad6b7169203331'])
    assert.ok(!JSON.stringify(receiver.spans).includes('secret'))
  })
})

test('a client that is no trusted proxy cannot continue a trace, and none is recorded at 0 percent', async () => {
  await using receiver = await OtlpReceiver.start()
  const headers = { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01` }
  for (const TRACE_PERCENT of ['100', '0']) {
    await using service = await startTestService({ OTLP_URL: receiver.url, TRACE_PERCENT })
    await sendRequest(service.port, { path: '/health', headers })
  }
  const [request, ...more] = receiver.spans.filter(({ name }) => name === 'GET /health')
  assert.deepEqual(more, [])
  assert.notEqual(request!.traceId, TRACE_ID)
})

test('a collector that is away delays no request, and is reported', async () => {
  await using service = await startTestService({ OTLP_URL: `http://127.0.0.1:${await freePort()}` })
  assert.equal((await sendRequest(service.port, { path: '/health' })).status, 200)
  await service.service[Symbol.asyncDispose]()
  assert.ok(service.log.some(({ message }) => message === 'traces not exported'))
})

test('a collector that refuses traces is named with its status, without the body of its response', async () => {
  const collector = createServer((request, response) => {
    request.resume()
    response.writeHead(400).end('x'.repeat(1_000_000))
  })
  const port = await listen(collector)
  await using service = await startTestService({ OTLP_URL: `http://127.0.0.1:${port}/otlp` })
  assert.equal((await sendRequest(service.port, { path: '/health' })).status, 200)
  await service.service[Symbol.asyncDispose]()
  collector.close()
  const line = service.log.find(({ message }) => message === 'traces not exported')
  assert.deepEqual([line?.collector, line?.cause], [`http://127.0.0.1:${port}`, 'Bad Request 400'])
})

async function publish({ port }: RunningService): Promise<{ slug: string }> {
  const { json } = await sendRequest(port, {
    method: 'POST',
    path: '/api/v1/publish',
    headers: { 'Content-Type': 'application/x-tar' },
    body: tar([{ name: 'index.html', data: Buffer.from('home') }]),
  })
  return json
}

function visit({ port }: RunningService, slug: string, path: string) {
  return sendRequest(port, { path, headers: { host: `${slug}.localhost` } })
}

function attribute({ attributes }: ReceivedSpan, name: string): string | undefined {
  const value = attributes.find(({ key }) => key === name)?.value
  return value && String(value.stringValue ?? value.intValue)
}
