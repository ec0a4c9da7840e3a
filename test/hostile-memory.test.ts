import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { inspect } from 'node:util'
import { nodeTransport } from '../client/sdk/node-transport.ts'
import { Slipway } from '../client/sdk/slipway.ts'
import { toTarget } from './api/api.ts'
import { formatHead, send } from './bodies/body-routes.ts'
import { Program } from './operator/program.ts'

const MIB = 2 ** 20

/** The state of an open connection in /proc/net/tcp. */
const ESTABLISHED = '01'

/** The limit of V8's heap, in MiB. */
const HEAP_MIB = 256

/** Memory limit of all clients in MiB; one address may use a quarter. */
const CLIENT_MEMORY_MIB = 64

/** Allowed growth of the process during attacks in MiB, most of it garbage that V8 has not collected. */
const MAX_GROWTH_MIB = 200

/** The service under attack. */
interface Victim {
  server: Program
  port: number
}

interface Attack {
  sentence: string
  /** Sends all data; returns the connections, which stay open until memory is measured. */
  run(victim: Victim): Promise<Disposable[]>
}

const json = (target: string) => ({ method: 'POST', target, type: 'application/json' }) as const
const zip = { ...json('/api/v1/publish'), type: 'application/zip' }

/** A chunked body of `bytes` bytes in chunks of `size`, without its end. */
const chunks = (bytes: number, size: number) =>
  Buffer.from(`${size.toString(16)}\r\n${'['.repeat(size)}\r\n`.repeat(bytes / size))

/** A body of the maximum number of small values. */
const values = Buffer.from(`{"files":[${'{},'.repeat(690_000)}{}]}`)
const manyValues = Buffer.concat([
  Buffer.from(`${values.length.toString(16)}\r\n`),
  values,
  Buffer.from('\r\n0\r\n\r\n'),
])

/** Attacks over HTTP/1.1; those over HTTP/2 use the same rows. */
const attacks: Attack[] = [
  {
    sentence: 'JSON in chunks of one byte, to an address that is not there',
    run: (victim) => flood(victim, 4, [formatHead(json('/stuff')), chunks(300_000, 1)]),
  },
  {
    sentence: 'JSON in chunks of one byte, to publish',
    run: (victim) => flood(victim, 4, [formatHead(json('/api/v1/publish')), chunks(300_000, 1)]),
  },
  {
    sentence: '150 bodies of 2 MB without their last byte, to publish',
    run: (victim) => flood(victim, 150, [formatHead(json('/api/v1/publish')), chunks(2_000_000, 50_000)]),
  },
  {
    sentence: '30 uploads of one publish in chunks of one byte',
    run: async (victim) => {
      const targets = await uploadTargets(victim, 30)
      const bytes = chunks(70_000, 1)
      return (
        await Promise.all(targets.map((target) => flood(victim, 1, [formatHead(target), bytes])))
      ).flat()
    },
  },
  {
    sentence: '30 zips in chunks of one byte',
    run: (victim) => flood(victim, 30, [formatHead(zip), chunks(70_000, 1)]),
  },
  {
    sentence: '10 manifests with the maximum number of values',
    run: (victim) => flood(victim, 10, [formatHead(json('/api/v1/publish')), manyValues]),
  },
]

let data: string
let server: Program
let residentBefore: number
const measured = existsSync('/proc/self/status')
  ? {}
  : { skip: 'needs /proc, to see how much memory a process takes' }

describe('the service continues within its memory limit while one client sends', measured, () => {
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'slipway-test-'))
    server = await Program.serve(
      { DATA: data, CLIENT_MEMORY_BYTES: `${CLIENT_MEMORY_MIB * MIB}` },
      { nodeArgs: [`--max-old-space-size=${HEAP_MIB}`] },
    )
    residentBefore = residentMib()
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    await rm(data, { recursive: true, force: true })
  })

  for (const { sentence, run } of attacks) {
    test(sentence, async () => {
      using held = new DisposableStack()
      for (const one of await run({ server, port: server.port })) held.use(one)
      do await assertHealthy()
      while (queuedBytes(server.port) > 0)
      await assertHealthy()
      const grown = residentMib() - residentBefore
      assert.ok(grown < MAX_GROWTH_MIB, `${Math.round(grown)} MiB more`)
    })
  }
})

/** Sends the parts on `connections` concurrent connections, each until the service closes it. */
function flood({ port }: Victim, connections: number, parts: (string | Buffer)[]): Promise<Disposable[]> {
  return Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = (await send(port, ...parts)).resume()
      // The service may close the connection first: EPIPE or ECONNRESET.
      if (socket.writableLength > 0)
        await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined)
      return { [Symbol.dispose]: () => socket.destroy() }
    }),
  )
}

async function uploadTargets({ server }: Victim, count: number) {
  const transport = nodeTransport({})
  const client = new Slipway({ baseUrl: server.baseUrl, send: transport.send })
  const type = 'application/octet-stream'
  const files = Array.from({ length: count }, (_, n) => ({ path: `${n}`, size: 5 * MIB, contentType: type }))
  const { upload } = await client.create({ files })
  transport.close()
  return upload.uploads.map(({ url }) => ({ method: 'PUT', target: toTarget(url), type }) as const)
}

async function assertHealthy(): Promise<void> {
  const answer = await fetch(`${server.baseUrl}/health`).catch((error: Error) => error)
  assert.ok(answer instanceof Response && answer.ok, inspect([answer, server.output]))
}

function residentMib(): number {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))!
  return Number(kib) / 1024
}

/** Bytes in the receive queues of the connections to a port. */
function queuedBytes(port: number): number {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  let sum = 0
  for (const row of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1, -1)) {
    const [, local = '', remote = '', state, sizes = ''] = row.trim().split(/\s+/)
    if (state !== ESTABLISHED) continue
    const [unacknowledged = 0, unread = 0] = sizes.split(':').map((size) => Number.parseInt(size, 16))
    if (local.endsWith(end)) sum += unread
    if (remote.endsWith(end)) sum += unacknowledged
  }
  return sum
}
