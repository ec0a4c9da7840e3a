import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ClientMemory } from '../../packages/http-server/clients/client-memory.ts'
import { TYPE } from '../../packages/http-server/http2/frame.ts'
import { OPERATIONS } from '../../protocol/api/operations.schema.ts'
import type { OperationId } from '../../protocol/api/paths.ts'
import { Blocklist } from '../../server/accounts/blocklist.ts'
import { OAUTH_ROUTES } from '../../server/accounts/oauth/authorization-server.ts'
import { MCP_ACCOUNT_PATH, MCP_PATH } from '../../server/api/mcp/resource.ts'
import { buildRouteTable } from '../../server/edge/resolve/route-table.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runByHand } from '../../server/jobs/scheduler.ts'
import { ChangeWaits } from '../../server/lib/change-waits.ts'
import { hashPassword, verifyPassword } from '../../server/sites/password.ts'
import { zip } from '../archive/zip-file.ts'
import { CALLS } from '../calls.ts'
import { getResponse, header, NOW, toSite, toStoredFile } from '../edge/responses.ts'
import { Http2Fixture } from '../http2/http2-fixture.ts'
import { frame, getFields, headerBlock } from '../http2/raw-client.ts'
import { openOperator, type RunningService, startTestService } from '../support/service.ts'
import { HOSTILE_QUERIES, HOSTILE_REQUESTS, type HostileRequest } from './hostile-requests.ts'
import { HOSTILE_SITES } from './hostile-sites.ts'
import { calibrate, StallMeter } from './stall-meter.ts'

/** Limit for one turn of the event loop, on machines where the calibration takes at most a quarter of it. */
const MAX_STALL_MS = 50

const LONG_NAMES = [
  ['in folders', 'a/'.repeat(245)],
  ['with marks', 'e\u0301\u0323'.repeat(160)],
  ['of marks', '\u0301\u0323'.repeat(245)],
] as const

const PUBLISHED_OR_REFUSED = /^HTTP\/1.1 (201|400|413|422) /

/** Words that the titles of sites contain. */
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** The first runs include compilation, and others other load; a real stall occurs in every run. */
const MAX_TRIES = 20

let running: RunningService
let key: string
let calibratedLimitMs: number
before(async () => {
  calibratedLimitMs = Math.max(MAX_STALL_MS, 4 * calibrate())
  await start()
})
after(() => running[Symbol.asyncDispose]())

describe('no request holds the event loop for more than 50 ms', () => {
  let siteHost: string
  before(async () => {
    const parts = ['index.html', '404.html', 'a/b.txt'].map((name) => ({ name, data: Buffer.from('x') }))
    siteHost = hostOf((await publish(zip(parts)))!)
  })

  for (const { title, host = 'service', signedIn, ...request } of HOSTILE_REQUESTS) {
    test(title, async () => {
      const hosts: Record<string, string> = { site: siteHost, service: serviceHost() }
      const headers = { ...request.headers, ...(signedIn ? bearer() : {}) }
      const bytes = serialized({ ...request, headers, host: hosts[host] ?? host })
      await assertNoStall(() => exchange(bytes))
    })
  }
})

test('no batch of HTTP/2 requests in one packet holds the event loop for more than 50 ms', async () => {
  await using fixture = await Http2Fixture.start()
  const rules = Array.from({ length: 100 }, (_, index) => `/* /${':splat'.repeat(5)}/${index} 302`)
  const host = fixture.edge.host(await fixture.edge.publish({ _redirects: rules.join('\n') }))
  const fields = { ...getFields(host, `${'/x'.repeat(1900)}%41`), ':method': 'HEAD' }
  const indexed = headerBlock(fields, 0x40)
  await assertNoStall(async () => {
    const client = await fixture.open(frame(TYPE.headers, 5, 1, indexed))
    await client.ended(1)
    client.send(
      ...Array.from({ length: 4000 }, (_, index) =>
        frame(TYPE.headers, 5, 2 * index + 3, '\xc1\xc0\xbf\xbe'),
      ),
    )
    await client.ended(8001)
  })
})

describe('no query holds the event loop for more than 50 ms', () => {
  // The requests end the key, and then use up the lookups of unknown keys.
  after(async () => {
    await running[Symbol.asyncDispose]()
    await start()
  })
  // A route without a schema of its query reads nothing of one, as /health does.
  const known = Object.entries(CALLS)
    .filter(([id]) => 'query' in OPERATIONS[id as OperationId])
    .map(([, { route }]) => route.split(' ') as [string, string])
  const others = [
    '/docs',
    '/install.sh',
    '/report',
    '/unsubscribe',
    '/health',
    '/.well-known/oauth-authorization-server',
  ]
  const authorization = `${OAUTH_ROUTES.authorization}/{uid}`
  for (const [method, template] of [
    ...known,
    ...[...others, OAUTH_ROUTES.authorization, authorization].map((path) => ['GET', path] as const),
    ...[
      MCP_PATH,
      MCP_ACCOUNT_PATH,
      OAUTH_ROUTES.token,
      OAUTH_ROUTES.registration,
      OAUTH_ROUTES.revocation,
      OAUTH_ROUTES.device_authorization,
    ].map((path) => ['POST', path] as const),
  ])
    test(`of ${method} ${template}`, async () => {
      const path = template.replaceAll(/\{\w+\}/g, 'abc')
      for (const query of HOSTILE_QUERIES) {
        const bytes = serialized({ method, path: `${path}?${query}`, headers: bearer() })
        await assertNoStall(() => exchange(bytes))
      }
    })
})

describe('no merge holds the event loop for more than 50 ms', () => {
  for (const [title, name] of LONG_NAMES) {
    test(`of 1,000 names of 500 characters ${title}`, async () => {
      const names = Array.from({ length: 999 }, (_, index) => `${name}${index}.txt`)
      const slug = await publish(
        zip(['index.html', ...names].map((name) => ({ name, data: Buffer.from('x') }))),
      )
      const files = names.map((path) => ({ path, size: 1, contentType: 'text/plain' }))
      const merge = serialized({
        method: 'PUT',
        path: `/api/v1/publish/${slug}`,
        headers: { 'content-type': 'application/json', ...bearer() },
        body: JSON.stringify({ files, merge: true }),
      })
      await assertNoStall(async () => assert.match(await exchange(merge), /^HTTP\/1.1 200 /))
    })
  }
})

describe('no site holds the event loop for more than 50 ms', () => {
  for (const { title, archive, refused, paths = [] } of HOSTILE_SITES) {
    test(title, async () => {
      const body = archive()
      const type = title.startsWith('a tar') ? 'application/x-tar' : 'application/zip'
      await assertNoStall(async () => {
        const slug = await publish(body, { type, ...(refused && { refused }) })
        return async () => {
          if (slug === undefined) return
          const json = { 'content-type': 'application/json', ...bearer() }
          const path = `/api/v1/publish/${slug}/metadata`
          const rename = serialized({ method: 'PATCH', path, headers: json, body: '{"title":"x"}' })
          assert.match(await exchange(rename), /^HTTP\/1.1 200 /)
          for (const path of paths) await exchange(serialized({ path, host: hostOf(slug) }))
        }
      })
    })
  }
})

describe('building the route table of 1,000 names of 500 characters holds the event loop for no more than 50 ms', () => {
  for (const [title, name] of LONG_NAMES) {
    test(title, async () => {
      const site = toSite(
        Array.from({ length: 1000 }, (_, index) => `${name}${index % 2 ? index : `${index}/index`}.html`),
      )
      await assertNoStall(async () => void getResponse(buildRouteTable(site), '/'))
    })
  }
})

test('5,000 former files of long names add no stall to a route table', async () => {
  const former = Array.from({ length: 5000 }, (_, index) => `${'\u1100\u1161'.repeat(240)}${index}.html`)
  const formerFiles = former.map((path) => ({
    ...toStoredFile(path),
    nfc: path.normalize('NFC'),
    until: NOW + 1000,
  }))
  const site = toSite(['index.html'], { formerFiles })
  const path = `/${encodeURI(former.at(-1)!)}`
  await assertNoStall(async () => assert.equal(getResponse(buildRouteTable(site), path).status, 200))
})

test('visitors of further languages add no stall to a list of 1,000 files of long names', async () => {
  const site = toSite(Array.from({ length: 1000 }, (_, index) => `${'&'.repeat(490)}${index}.png`))
  const table = buildRouteTable(site)
  const get = (language: string) => getResponse(table, '/', { 'accept-language': language })
  const first = header(get('en'), 'etag')
  await assertNoStall(async () => {
    const others = ['de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'ja', 'zh'].map((one) =>
      header(get(one), 'etag'),
    )
    assert.equal(new Set([first, ...others]).size, 10)
  })
})

test('responses that grow while 20,000 networks use up the memory hold the event loop for no more than 50 ms', async () => {
  const memory = new ClientMemory({ totalBytes: 20_000 * 10_000, perNetworkBytes: 2 ** 20 })
  const held = Array.from({ length: 20_000 }, (_, number) =>
    memory.reserve(`10.${number >> 8}.${number & 255}.1`, () => undefined),
  )
  for (const response of held) response.require(10_000)
  await assertNoStall(async () => {
    for (const response of held.slice(0, 4000)) response.require(20_000)
  })
  assert.equal(memory.heldBytes, 20_000 * 10_000)
})

test('a typed password of marks holds the event loop for no more than 50 ms', async () => {
  const hash = await hashPassword('a word')
  const typed = `a${'\u0301'.repeat(16_000)}${'\u0323'.repeat(16_000)}`
  await assertNoStall(async () => assert.equal(await verifyPassword(typed, hash), false))
})

test('a change lets at most 50 waiting requests check in one turn of the event loop', async () => {
  const waits = new ChangeWaits({ total: 1000, perKey: 1000, perName: 1000 })
  const signal = new AbortController().signal
  let [turn, hasChanged] = [0, false]
  const checked: number[] = []
  const check = async () => (hasChanged ? checked.push(turn) : undefined)
  const waiting = Array.from({ length: 1000 }, () => waits.wait(['site'], { caller: 'one', signal, check }))
  const count = () => {
    turn++
    if (checked.length < 1000) setImmediate(count)
  }
  await nextTurn()
  hasChanged = true
  setImmediate(count)
  waits.notify(['site'])
  waits.notify(['site'])
  await Promise.all(waiting)
  const turns = [...Map.groupBy(checked, (one) => one).values()]
  assert.deepEqual(new Set(turns.map(({ length }) => length)), new Set([50]))
})

describe('no account of 40,000 sites holds the event loop for more than 50 ms', () => {
  before(() => {
    using database = new DatabaseSync(join(running.data, 'slipway.db'))
    const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000)'
    database.exec(`begin;
      insert into versions (id, slug, state, file_count, total_bytes, created_at, published_at, metadata, is_encoded, title, live_reload, files)
        ${numbers} select 'many ' || i, 'many-' || i, 'ready', 1, 1, i, i, '{}', 1, '${LETTERS}', 0, '{"hash":[],"path":[],"size":[],"contentType":[]}' from n;
      insert into sites (slug, owner_id, live_version_id, is_finalized, created_at, updated_at, visits_key)
        ${numbers} select 'many-' || i, (select id from accounts limit 1), 'many ' || i, 1, i, i, 'many-' || i from n;
      commit`)
  })

  test('in a search', async () => {
    const path = `/api/v1/publishes?q=${[...LETTERS, '!'].join('+')}`
    const search = serialized({ path, headers: bearer() })
    await assertNoStall(async () => assert.match(await exchange(search), /"publishes":\[\]/))
  })

  test('in a sweep of all versions', async () => {
    await using operator = await openOperator(running, {})
    const sweep = sweeps.find(({ name }) => name === 'old-versions')!
    await assertNoStall(() => runByHand(sweep, operator))
  })
})

test('20,000 blocks do not hold the event loop for more than 50 ms when they are read or listed', async () => {
  await using service = await startTestService()
  await using operator = await openOperator(service, {})
  const { store, blocks } = operator
  const one = { reason: 'x'.repeat(200), createdAt: NOW, expiresAt: null }
  await store.write('durable', {}, async (tx) => {
    for (let number = 0; number < 10_000; number++) {
      const network = `198.18.${number >> 8}.${number & 255}/32`
      await tx.rows.put('blocks', { ...one, kind: 'network', value: network })
      await tx.rows.put('blocks', { ...one, kind: 'hash', value: `${number}`.padStart(64, '0') })
    }
  })
  const clock = () => NOW
  await assertNoStall(() => new Blocklist({ store, clock }).assertCaller('192.0.2.1'))
  await assertNoStall(async () => JSON.stringify(await blocks.list()))
})

/** Runs the work, and the work that it returns, until one of the tries stays within the limit. */
async function assertNoStall(work: () => Promise<unknown>): Promise<void> {
  const meter = new StallMeter()
  let limit = calibratedLimitMs
  let stall = 0
  for (let round = 0; round < MAX_TRIES; round++) {
    let more: unknown
    const first = await meter.measure(async () => {
      more = await work()
    })
    const second = typeof more === 'function' ? await meter.measure(more as () => Promise<unknown>) : 0
    stall = Math.max(first, second)
    if (stall <= limit) return
    limit = Math.max(MAX_STALL_MS, 4 * calibrate())
  }
  assert.fail(`it held the event loop for ${Math.round(stall)} ms, limit ${Math.round(limit)} ms`)
}

async function start(): Promise<void> {
  running = await startTestService()
  key = await running.signIn('owner@example.com')
}

/** Publishes an archive as a new site; returns its slug, or undefined when it was refused, which `refused` requires. */
async function publish(
  body: Buffer,
  { type = 'application/zip', refused = PUBLISHED_OR_REFUSED }: { type?: string; refused?: RegExp } = {},
): Promise<string | undefined> {
  const headers = { 'content-type': type, ...bearer() }
  const answer = await exchange(serialized({ method: 'POST', path: '/api/v1/publish', headers, body }))
  assert.match(answer, refused)
  return /"slug":"([^"]+)"/.exec(answer)?.[1]
}

function bearer(): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}

function serviceHost(): string {
  return `localhost:${running.port}`
}

function hostOf(slug: string): string {
  return `${slug}.localhost:${running.port}`
}

function serialized({
  method = 'GET',
  path = '/',
  host = serviceHost(),
  headers = {},
  body = '',
}: Omit<HostileRequest, 'title' | 'signedIn'>): Uint8Array[] {
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries({ host, connection: 'close', ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  // Not copied: memory for a large body takes as long as a stall on some machines.
  return [head, typeof body === 'string' ? Buffer.from(body) : body]
}

/** Sends a request on its own connection; returns the beginning of the response. */
async function exchange(parts: Uint8Array[]): Promise<string> {
  const socket = connect(running.port, '127.0.0.1')
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.length < 2 && received.push(chunk))
  socket.on('error', () => undefined)
  for (const part of parts) socket.write(part)
  await new Promise((resolve) => socket.once('close', resolve))
  return Buffer.concat(received).toString('latin1')
}
