import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { CreateResponse } from '../../protocol/api/publish.schema.ts'
import { BASE, SecureService } from '../tls/secure-service.ts'
import { requires } from '../tools/part.ts'

// What a client with a body of 20 MB does with an early response depends on its library: each has to read the refusal
// every time. One that sends its body to the end before it reads loses the response when the connection is reset.

const run = promisify(execFile)

const BODY_BYTES = 20_000_000
const ROUNDS = 20
/** An address, so that clients send no name and get the certificate of the service, which they do not verify. */
const HOST = '127.0.0.1'

interface Plan {
  url: string
  method: string
  headers: Record<string, string>
  bytes: number
  rounds: number
}

type Program = (plan: Plan) => Promise<unknown[]>

const file = (name: string) => join(import.meta.dirname, 'clients', name)

/** Runs a program with the plan as its argument. */
function program(command: string, args: readonly string[], env: Record<string, string> = {}): Program {
  return async (plan) => {
    const { stdout } = await run(command, [...args, JSON.stringify(plan)], {
      env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1', ...env },
    })
    return JSON.parse(stdout) as unknown[]
  }
}

function curl(...options: string[]): Program {
  return async ({ url, method, headers, bytes, rounds }) => {
    const body = join(work, `body-${bytes}`)
    writeFileSync(body, Buffer.alloc(bytes))
    const lines = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const statuses: unknown[] = []
    for (let round = 0; round < rounds; round++) {
      const args = ['-sSk', '-o', '/dev/null', '-w', '%{http_code}', '-X', method, ...lines, ...options]
      const sent = run('curl', [...args, '--data-binary', `@${body}`, url])
      statuses.push(
        await sent.then(
          ({ stdout }) => Number(stdout),
          (error: Error) => error.message,
        ),
      )
    }
    return statuses
  }
}

const go = () => join(work, 'send')

/** Each client, and whether it connects to the secure port. */
const CLIENTS: [name: string, isSecure: boolean, send: Program][] = [
  ['urllib', false, program('/usr/bin/python3', [file('send-urllib.py')])],
  ['urllib over TLS', true, program('/usr/bin/python3', [file('send-urllib.py')])],
  ['requests', false, program('/usr/bin/python3', [file('send-requests.py')])],
  ['requests over TLS', true, program('/usr/bin/python3', [file('send-requests.py')])],
  ["Node's fetch", false, program(process.execPath, [file('send-fetch.mjs')])],
  ["Node's fetch over HTTP/2", true, program(process.execPath, [file('send-fetch.mjs')])],
  ['curl', false, curl('--http1.1')],
  ['curl without Expect', false, curl('--http1.1', '-H', 'Expect:')],
  ['curl over TLS', true, curl('--http1.1', '-H', 'Expect:')],
  ['curl over HTTP/2', true, curl('--http2')],
  ['Go', false, (plan) => program(go(), [])(plan)],
  ['Go over TLS', true, (plan) => program(go(), [], { GODEBUG: 'http2client=0' })(plan)],
  ['Go over HTTP/2', true, (plan) => program(go(), [])(plan)],
]

let service: SecureService
let work: string
/** A site without an owner, one of an account, and a target for a file of 1 MB. */
let unowned: CreateResponse
let owned: CreateResponse
let uploadPath: string

const WRONG_KEY = { Authorization: `Bearer sl_live_${'0'.repeat(32)}` }
const ZIP = { 'Content-Type': 'application/zip' }
const FILE = { 'Content-Type': 'application/octet-stream' }

// biome-ignore format: one case a row
const REFUSALS: [what: string, status: number, request: () => Omit<Plan, 'url' | 'rounds' | 'bytes'> & { path: string }][] = [
  ['an archive with a wrong key', 401, () => ({ path: '/api/v1/publish', method: 'POST', headers: { ...ZIP, ...WRONG_KEY } })],
  ['a body of an unknown type', 415, () => ({ path: '/api/v1/publish', method: 'POST', headers: { 'Content-Type': 'a/b' } })],
  ['a manifest that is too long', 413, () => ({ path: '/api/v1/publish', method: 'POST', headers: { 'Content-Type': 'application/json' } })],
  ['a file with a wrong claim token', 403, () => ({ path: `/${unowned.slug}`, method: 'PUT', headers: { ...ZIP, 'X-Slipway-Claim-Token': crypto.randomUUID() } })],
  ['a file without a claim token', 401, () => ({ path: `/${unowned.slug}`, method: 'PUT', headers: ZIP })],
  ['a file that is longer than declared', 400, () => ({ path: uploadPath, method: 'PUT', headers: FILE })],
  ['a version of a site without a key', 401, () => ({ path: `/api/v1/publish/${owned.slug}`, method: 'PUT', headers: ZIP })],
  ['a version with a key that is unknown', 401, () => ({ path: `/api/v1/publish/${owned.slug}`, method: 'PUT', headers: { ...ZIP, ...WRONG_KEY } })],
  ['a version of a site of another account', 404, () => ({ path: `/api/v1/publish/${owned.slug}`, method: 'PUT', headers: { ...ZIP, Authorization: `Bearer ${stranger}` } })],
]

let stranger: string

const parts = requires('curl', 'requests', 'go')

describe('a client with a large body', parts, () => {
  before(async () => {
    work = mkdtempSync(join(tmpdir(), 'slipway-clients-'))
    await run('go', ['build', '-o', go(), file('send.go')], {
      env: { ...process.env, GOCACHE: join(work, 'cache'), GO111MODULE: 'off' },
    })
    service = await SecureService.start()
    await service.certify(BASE)
    const manifest = { files: [{ path: 'a.bin', size: 1_000_000, contentType: FILE['Content-Type'] }] }
    const client = service.running.client().with({ baseUrl: `http://127.0.0.1:${service.running.port}` })
    const signIn = async (email: string) => {
      await client.requestCode(email)
      const { apiKey } = await client.verifyCode(email, await service.running.mailedCode(email))
      return apiKey
    }
    const key = await signIn('ann@example.test')
    stranger = await signIn('ben@example.test')
    unowned = await client.create(manifest)
    owned = await client.with({ key }).create(manifest)
    const url = new URL(unowned.upload.uploads[0]!.url)
    uploadPath = url.pathname + url.search
  })
  after(async () => {
    await service?.[Symbol.asyncDispose]()
    if (work !== undefined) rmSync(work, { recursive: true })
  })

  for (const [client, isSecure, send] of CLIENTS.filter(([name]) =>
    name.includes(process.env.CLIENT ?? ''),
  )) {
    describe(`${client} reads the refusal of 20 MB, 20 of 20 times:`, parts, () => {
      for (const [what, status, request] of REFUSALS) {
        test(what, async () => {
          const { path, ...rest } = request()
          const base = isSecure ? `https://${HOST}:${service.port}` : `http://${HOST}:${service.running.port}`
          const plan = { ...rest, url: base + path, bytes: BODY_BYTES, rounds: ROUNDS }
          assert.deepEqual(
            await send(plan),
            Array.from({ length: ROUNDS }, () => status),
          )
        })
      }
    })
  }
})
