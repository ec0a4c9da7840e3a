import assert from 'node:assert/strict'
import type { NetConnectOpts } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { sha256, toFiles } from '../api/content.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'
import { type ComparableResponse, toComparable } from './comparable-response.ts'
import { startNginx } from './nginx.ts'
import { DIFFERENCES, type Exchange } from './nginx-differences.ts'
import { describeRequest, PIPELINES, type Plain, REQUESTS } from './plain-requests.ts'
import { PLAIN_SITE } from './plain-site.ts'
import { findHeader, type RawResponse, sendRaw } from './raw-http.ts'

// Compares Slipway with nginx on the same folder, with the same requests.

/** A server and the Host header of its site. */
interface TestServer {
  to: NetConnectOpts
  host: string
}

const names = new Map(Object.entries(PLAIN_SITE).map(([path, content]) => [sha256(content), path]))
/** Responses to plain GETs by server and target. */
const known = new Map<TestServer, Map<string, RawResponse>>()

const stack = new AsyncDisposableStack()
const exchanges: Exchange[] = []
let service: RunningService
let nginx: TestServer
let slipway: TestServer

const requiresNginx = requires('nginx')

describe('compared with nginx', requiresNginx, () => {
  before(async () => {
    service = stack.use(await startTestService())
    const { slug } = await service.client().publish({ files: toFiles(PLAIN_SITE) })
    slipway = { to: { port: service.port, host: '127.0.0.1' }, host: `${slug}.localhost` }
    nginx = { to: { path: stack.use(await startNginx(PLAIN_SITE)).path }, host: 'nginx.example' }
    await service.service.precompressor.onIdle()
    for (const request of REQUESTS) {
      const [theirs, ours] = await Promise.all([nginx, slipway].map((server) => ask(server, [request])))
      exchanges.push({ request, name: describeRequest(request), nginx: theirs![0]!, slipway: ours![0]! })
    }
  })
  after(() => stack.disposeAsync())

  test('a site is served in the same way, except for listed differences', () => {
    assert.ok(exchanges.length >= 300)
    assert.deepEqual(exchanges.flatMap(unexplained), [])
  })

  for (const [number, pipeline] of PIPELINES.entries()) {
    test(`pipelined requests get the same responses, ${number + 1}: ${describeRequest(pipeline[0]!)} …`, async () => {
      const [theirs, ours] = await Promise.all([nginx, slipway].map((server) => ask(server, pipeline)))
      assert.equal(ours!.length, theirs!.length)
      const responses = ours!.map((slipway, at) => ({ nginx: theirs![at]!, slipway }))
      const found = responses.flatMap(({ nginx, slipway }, at) =>
        unexplained({ request: pipeline[at]!, name: describeRequest(pipeline[at]!), nginx, slipway }),
      )
      assert.deepEqual(found, [])
    })
  }

  for (const difference of DIFFERENCES) {
    test(`a listed difference exists: ${difference.why}`, () => {
      const of = exchanges.filter(difference.of)
      assert.ok(of.length > 0, 'no request shows the difference')
      for (const exchange of of) {
        for (const [field, [theirs, ours]] of Object.entries(difference.fields)) {
          const values = [
            exchange.nginx[field as keyof ComparableResponse],
            exchange.slipway[field as keyof ComparableResponse],
          ]
          assert.notEqual(values[0], values[1], `${exchange.name}: ${field}`)
          assert.ok(
            isLike(values[0]!, theirs) && isLike(values[1]!, ours),
            `${exchange.name}: ${field} is ${values.join(', ')}`,
          )
        }
      }
    })
  }
})

/** Fields that describe the body are compared only where the bodies are equal. */
const OF_BODIES = new Set<keyof ComparableResponse>([
  'type',
  'length',
  'ranges',
  'etag',
  'modified',
  'encoding',
  'vary',
])

/** The differences of an exchange that DIFFERENCES does not list. */
function unexplained(exchange: Exchange): string[] {
  const reasons = DIFFERENCES.filter((difference) => difference.of(exchange))
  const fields = Object.keys(exchange.nginx) as (keyof ComparableResponse)[]
  const isBodyAlike = exchange.nginx.body === exchange.slipway.body && exchange.nginx.body !== 'own page'
  return fields
    .filter((field) => isBodyAlike || !OF_BODIES.has(field))
    .filter((field) => exchange.nginx[field] !== exchange.slipway[field])
    .filter((field) => !reasons.some((reason) => reason.fields[field]))
    .map(
      (field) =>
        `${exchange.name}: ${field} is ${exchange.nginx[field]} at nginx, ${exchange.slipway[field]} here`,
    )
}

function isLike(value: string, expected: string | RegExp): boolean {
  return typeof expected === 'string' ? value === expected : expected.test(value)
}

async function ask(server: TestServer, requests: readonly Plain[]): Promise<ComparableResponse[]> {
  const texts: string[] = []
  for (const request of requests) texts.push(await serialize(server, request))
  const methods = requests.map(({ method }) => method)
  const { responses } = await sendRaw(server.to, [Buffer.from(texts.join(''), 'latin1')], {
    methods,
    count: requests.length,
  })
  return responses.map((response) => toComparable(response, names))
}

async function serialize(
  server: TestServer,
  { method, target, headers, host, version }: Plain,
): Promise<string> {
  const named = (text: string) =>
    text.replace('{host}', server.host).replace('{HOST}', server.host.toUpperCase())
  const lines = [`${method} ${named(target)} HTTP/${version}`, `Host: ${named(host)}`]
  for (const [name, value] of Object.entries(headers))
    lines.push(`${name}: ${await fillPlaceholders(server, target, value)}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Fills the placeholders of a header value from this server's response to the target. */
async function fillPlaceholders(server: TestServer, target: string, value: string): Promise<string> {
  if (!/\{\w+\}/.test(value)) return value
  const response = await fetchPlain(server, target)
  const modified = findHeader(response, 'last-modified')!
  const moved = (seconds: number) => new Date(Date.parse(modified) + seconds * 1000).toUTCString()
  return value
    .replace('{etag}', () => findHeader(response, 'etag')!)
    .replace('{modified}', modified)
    .replace('{earlier}', moved(-60))
    .replace('{later}', moved(60))
}

async function fetchPlain(server: TestServer, target: string): Promise<RawResponse> {
  const responses = known.get(server) ?? new Map<string, RawResponse>()
  known.set(server, responses)
  const before = responses.get(target)
  if (before) return before
  const text = `GET ${target} HTTP/1.1\r\nHost: ${server.host}\r\n\r\n`
  const { responses: found } = await sendRaw(server.to, [Buffer.from(text)], { methods: ['GET'], count: 1 })
  responses.set(target, found[0]!)
  return found[0]!
}
