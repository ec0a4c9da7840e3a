import assert from 'node:assert/strict'
import type { NetConnectOpts } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { sha256, toFiles } from '../api/content.ts'
import { type RunningService, startTestService } from '../service.ts'
import { requires } from '../tools/part.ts'
import { startNginx } from './nginx.ts'
import { DIFFERENCES, type Exchange } from './nginx-differences.ts'
import { describeRequest, PIPELINES, type Plain, REQUESTS } from './plain-requests.ts'
import { PLAIN_SITE } from './plain-site.ts'
import { type Seen, seen } from './seen.ts'
import { findHeader, talk, type WireResponse } from './wire.ts'

// The same folder, published and under nginx, and the same requests to both.

/** A server and what a client says to it. */
interface Peer {
  to: NetConnectOpts
  host: string
}

const names = new Map(Object.entries(PLAIN_SITE).map(([path, content]) => [sha256(content), path]))
/** Of each peer, what it said of a target when nothing was asked of it. */
const known = new Map<Peer, Map<string, WireResponse>>()

const stack = new AsyncDisposableStack()
const exchanges: Exchange[] = []
let service: RunningService
let nginx: Peer
let slipway: Peer

const inNginx = requires('nginx')

describe('beside nginx', inNginx, () => {
  before(async () => {
    service = stack.use(await startTestService())
    const { slug } = await service.client().publish({ files: toFiles(PLAIN_SITE) })
    slipway = { to: { port: service.port, host: '127.0.0.1' }, host: `${slug}.localhost` }
    nginx = { to: { path: stack.use(await startNginx(PLAIN_SITE)).path }, host: 'nginx.example' }
    await service.service.precompressor.onIdle()
    for (const asked of REQUESTS) {
      const [theirs, ours] = await Promise.all([nginx, slipway].map((peer) => ask(peer, [asked])))
      exchanges.push({ asked, name: describeRequest(asked), nginx: theirs![0]!, slipway: ours![0]! })
    }
  })
  after(() => stack.disposeAsync())

  test('a site is served alike, but for the differences that have a reason', () => {
    assert.ok(exchanges.length >= 300)
    assert.deepEqual(exchanges.flatMap(unexplained), [])
  })

  for (const [number, pipeline] of PIPELINES.entries()) {
    test(`requests in one piece are answered alike, ${number + 1}: ${describeRequest(pipeline[0]!)} …`, async () => {
      const [theirs, ours] = await Promise.all([nginx, slipway].map((peer) => ask(peer, pipeline)))
      assert.equal(ours!.length, theirs!.length)
      const answers = ours!.map((slipway, at) => ({ nginx: theirs![at]!, slipway }))
      const found = answers.flatMap(({ nginx, slipway }, at) =>
        unexplained({ asked: pipeline[at]!, name: describeRequest(pipeline[at]!), nginx, slipway }),
      )
      assert.deepEqual(found, [])
    })
  }

  for (const difference of DIFFERENCES) {
    test(`it is still so: ${difference.why}`, () => {
      const of = exchanges.filter(difference.of)
      assert.ok(of.length > 0, 'no request shows it')
      for (const exchange of of) {
        for (const [field, [theirs, ours]] of Object.entries(difference.fields)) {
          const said = [exchange.nginx[field as keyof Seen], exchange.slipway[field as keyof Seen]]
          assert.notEqual(said[0], said[1], `${exchange.name}: ${field}`)
          assert.ok(
            isLike(said[0]!, theirs) && isLike(said[1]!, ours),
            `${exchange.name}: ${field} is ${said.join(', ')}`,
          )
        }
      }
    })
  }
})

/** What is said of a body is compared where the bodies are alike. */
const OF_BODIES = new Set<keyof Seen>(['type', 'length', 'ranges', 'etag', 'modified', 'encoding', 'vary'])

/** The differences of an exchange that no entry of the table gives a reason for. */
function unexplained(exchange: Exchange): string[] {
  const reasons = DIFFERENCES.filter((difference) => difference.of(exchange))
  const fields = Object.keys(exchange.nginx) as (keyof Seen)[]
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

function isLike(said: string, expected: string | RegExp): boolean {
  return typeof expected === 'string' ? said === expected : expected.test(said)
}

async function ask(peer: Peer, requests: readonly Plain[]): Promise<Seen[]> {
  const texts: string[] = []
  for (const request of requests) texts.push(await textOf(peer, request))
  const methods = requests.map(({ method }) => method)
  const { answers } = await talk(peer.to, [Buffer.from(texts.join(''), 'latin1')], {
    methods,
    count: requests.length,
  })
  return answers.map((answer) => seen(answer, names))
}

async function textOf(peer: Peer, { method, target, headers, host, version }: Plain): Promise<string> {
  const named = (text: string) => text.replace('{host}', peer.host).replace('{HOST}', peer.host.toUpperCase())
  const lines = [`${method} ${named(target)} HTTP/${version}`, `Host: ${named(host)}`]
  for (const [name, value] of Object.entries(headers))
    lines.push(`${name}: ${await filled(peer, target, value)}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** A header's value with what this server says of the target. */
async function filled(peer: Peer, target: string, value: string): Promise<string> {
  if (!/\{\w+\}/.test(value)) return value
  const answer = await plainAnswer(peer, target)
  const modified = findHeader(answer, 'last-modified')!
  const moved = (seconds: number) => new Date(Date.parse(modified) + seconds * 1000).toUTCString()
  return value
    .replace('{etag}', () => findHeader(answer, 'etag')!)
    .replace('{modified}', modified)
    .replace('{earlier}', moved(-60))
    .replace('{later}', moved(60))
}

async function plainAnswer(peer: Peer, target: string): Promise<WireResponse> {
  const answers = known.get(peer) ?? new Map<string, WireResponse>()
  known.set(peer, answers)
  const before = answers.get(target)
  if (before) return before
  const text = `GET ${target} HTTP/1.1\r\nHost: ${peer.host}\r\n\r\n`
  const { answers: found } = await talk(peer.to, [Buffer.from(text)], { methods: ['GET'], count: 1 })
  answers.set(target, found[0]!)
  return found[0]!
}
