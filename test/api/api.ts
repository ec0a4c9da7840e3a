import assert from 'node:assert/strict'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { after } from 'node:test'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import {
  isSlipwayError,
  type Outgoing,
  type Published,
  type PublishOptions,
  type Send,
  Slipway,
  type SlipwayError,
} from '../../client/sdk/slipway.ts'
import type { Plan } from '../../protocol/api/account.schema.ts'
import type { CreateResponse, UpdateResponse, UploadPlan } from '../../protocol/api/publish.schema.ts'
import type { OperatorContext } from '../../server/app.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runByHand } from '../../server/jobs/scheduler.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import {
  openOperator,
  type RunningService,
  startTestService,
  type TestServiceOptions,
} from '../support/service.ts'
import type { ApiResponse } from './api-response.ts'
import { type Contents, toFiles, toManifest } from './content.ts'
import { type ApiDocument, Conformance } from './document.ts'
import { assertInvariants } from './invariants.ts'

export { DAY_MS, HOUR_MS, MINUTE_MS }

export interface ApiRequest {
  key?: string | undefined
  headers?: Record<string, string> | undefined
  /** Sent as a JSON body. */
  json?: unknown
  body?: string | Buffer | Readable | undefined
  /** Whether the response ends with the test: its body is not read. */
  isStream?: boolean | undefined
}

/** An account with its API key and client. */
export interface Account {
  email: string
  key: string
  client: Slipway
  /** Sends a request with the key, without the SDK. */
  request(method: string, target: string, given?: Omit<ApiRequest, 'key'>): Promise<ApiResponse>
}

/**
 * A real service with clients: the SDK, plain HTTP, visitors and the operator. Every response under /api/ is checked
 * against the invariants of the API, whichever client receives it.
 */
export class Api implements AsyncDisposable {
  readonly running: RunningService
  readonly #settings: Record<string, string>
  readonly anonymous: Slipway
  conformance: Conformance | undefined
  /** The number of bodies that the service began to store as blobs. */
  begunPuts = 0
  #accounts = 0
  #operator: Promise<OperatorContext & AsyncDisposable> | undefined
  readonly #transport = nodeTransport()
  readonly #agent = new Agent({ keepAlive: true })

  /**
   * Starts a service ten minutes into an hour; `settings` are environment variables without `SLIPWAY_`. A sweep runs when
   * a test runs it: one by schedule could run between an action of the test and its check.
   */
  static async start(settings: Record<string, string> = {}, options: TestServiceOptions = {}): Promise<Api> {
    await using stack = new AsyncDisposableStack()
    const running = await startTestService(settings, Date.now(), { scheduledSweeps: [], ...options })
    const api = stack.use(new Api(running, settings))
    api.clock.now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS + 10 * MINUTE_MS
    stack.move()
    return api
  }

  private constructor(running: RunningService, settings: Record<string, string>) {
    this.running = running
    this.#settings = settings
    this.anonymous = this.client()
    const { blobs } = running.service
    const { put } = blobs
    blobs.put = (body, expected) => {
      this.begunPuts++
      return put(body, expected)
    }
  }

  get clock(): { now: number } {
    return this.running.clock
  }

  get baseUrl(): string {
    return this.running.baseUrl
  }

  get port(): number {
    return this.running.port
  }

  /** Of a command beside the service. */
  get settings(): Record<string, string> {
    return this.running.settings
  }

  get data(): string {
    return this.running.data
  }

  /** Moves the clock, by default by a millisecond, which is enough to order records. */
  pass(milliseconds = 1): void {
    this.clock.now += milliseconds
  }

  /** An SDK client on the clock of the test, whose pauses take no time. */
  client(key?: string): Slipway {
    const retryPolicy = { wait: async () => undefined, random: () => 0.5, now: () => this.clock.now }
    return new Slipway({ baseUrl: this.baseUrl, key, send: this.#send, retryPolicy })
  }

  /** Signs in with a code sent by email, by default to a new account. */
  async account(email = `user${++this.#accounts}@example.com`): Promise<Account> {
    await this.anonymous.requestCode(email)
    const { apiKey: key } = await this.anonymous.verifyCode(email, await this.running.mailedCode(email))
    return {
      email,
      key,
      client: this.client(key),
      request: (method, target, given) => this.request(method, target, { ...given, key }),
    }
  }

  /** Publishes through the SDK. */
  publish(
    client: Slipway,
    contents: Contents,
    options: Omit<PublishOptions, 'files'> = {},
  ): Promise<Published> {
    this.pass()
    return client.publish({ files: toFiles(contents), ...options })
  }

  /** Creates a site without its uploads. */
  create(client: Slipway, contents: Contents): Promise<CreateResponse> {
    this.pass()
    return client.create({ files: toManifest(contents) })
  }

  /** Stages a version without its uploads. */
  update(
    client: Slipway,
    slug: string,
    contents: Contents,
    more: { claimToken?: string; baseVersionId?: string; title?: string; preview?: string } = {},
  ): Promise<UpdateResponse> {
    this.pass()
    return client.update(slug, { files: toManifest(contents), ...more })
  }

  /** Uploads the files of a plan. */
  async upload({ uploads }: UploadPlan, contents: Contents): Promise<void> {
    await Promise.all(
      uploads.map((target) => this.anonymous.upload(target, Buffer.from(contents[target.path]!))),
    )
  }

  /** Sends a request as given, without the SDK. */
  async request(
    method: string,
    target: string,
    { key, headers, json, body, isStream }: ApiRequest = {},
  ): Promise<ApiResponse> {
    const answer = await this.#exchange(method, target, {
      headers: {
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...headers,
      },
      body: json === undefined ? body : JSON.stringify(json),
      isStream,
    })
    if (target.startsWith('/api/')) assertInvariants(answer, this.clock.now, this.conformance)
    return answer
  }

  /** Sends a visitor's request to the host of a URL such as `siteUrl`. */
  visit(url: string, path = '/', headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.#exchange('GET', path, { headers: { host: new URL(url).host, ...headers } })
  }

  /** Sends these bytes on a new connection, half-closes it, and returns everything received until it is closed. */
  cutOff(bytes: Buffer): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect({ port: this.port, host: '127.0.0.1' })
      const chunks: Buffer[] = []
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      socket.on('error', () => undefined)
      socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
      socket.end(bytes)
    })
  }

  /** Sends these bytes on a new connection and resets it. */
  reset(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect({ port: this.port, host: '127.0.0.1' })
      socket.on('error', () => undefined)
      socket.on('close', () => resolve())
      socket.write(bytes, () => socket.resetAndDestroy())
    })
  }

  /** Does what `slipway-server account plan EMAIL PLAN` does. */
  async setPlan(email: string, plan: Plan): Promise<void> {
    await (await this.operator()).administrators.setPlan(COMMAND_LINE, email, { plan })
  }

  /** Does what `slipway-server sweep NAME` does, and waits until the service has learned of it. */
  async sweep(name: string): Promise<number> {
    const found = await runByHand(sweeps.find((sweep) => sweep.name === name)!, await this.operator())
    await this.running.service.pollChanges()
    return found
  }

  /** The parts of the service as the operator's commands open them, to check what is stored. */
  operator(): Promise<OperatorContext> {
    this.#operator ??= openOperator(this.running, this.#settings)
    return this.#operator
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#transport.close()
    this.#agent.destroy()
    await (await this.#operator)?.[Symbol.asyncDispose]()
    await this.running[Symbol.asyncDispose]()
  }

  /** The SDK's transport, with a check of every JSON response. */
  #send: Send = async (outgoing) => {
    const incoming = await this.#transport.send(outgoing)
    if (!/json/.test(incoming.header('content-type') ?? '')) return incoming
    const text = await incoming.text()
    assertInvariants(
      toResponse(outgoing, incoming.status, incoming.header, text),
      this.clock.now,
      this.conformance,
    )
    return { ...incoming, text: async () => text }
  }

  #exchange(
    method: string,
    target: string,
    { headers, body, isStream }: { headers: Record<string, string> } & Pick<ApiRequest, 'body' | 'isStream'>,
  ): Promise<ApiResponse> {
    return new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port: this.port,
        agent: this.#agent,
        method,
        path: target,
        headers,
      }
      const outgoing = request(options)
      let answered = false
      outgoing.on('error', (error) => answered || reject(error))
      outgoing.on('response', (incoming) => {
        answered = true
        const isRead = !isStream || incoming.statusCode !== 200
        const reading = isRead ? buffer(incoming) : Promise.resolve(Buffer.alloc(0))
        if (!isRead) incoming.destroy()
        reading.then((bytes) => resolve(toAnswer(method, target, incoming, bytes)), reject)
      })
      if (body === undefined) outgoing.end()
      else if (typeof body === 'string' || Buffer.isBuffer(body)) {
        // Node sets no Content-Length on its own where a body is unusual, as with DELETE.
        outgoing.setHeader('Content-Length', Buffer.byteLength(body)).end(body)
      } else pipeline(body, outgoing).catch(() => undefined)
    })
  }
}

const started = new Map<string, Promise<Api>>()

/** The service with these settings, which the test files of a process share and which ends after them. */
export function startApi(settings: Record<string, string> = {}): Promise<Api> {
  const key = JSON.stringify(settings)
  const running = started.get(key) ?? startShared(settings)
  started.set(key, running)
  return running
}

/** Checks responses against the OpenAPI document too, whose schemas take long to compile. */
async function startShared(settings: Record<string, string>): Promise<Api> {
  const api = await Api.start(settings)
  after(() => api[Symbol.asyncDispose]())
  const { json } = await api.request('GET', '/api/openapi.json')
  api.conformance = new Conformance(json as ApiDocument)
  return api
}

/** Returns the SDK's error with this code; any other outcome fails the test. */
export async function expectFailure(
  call: Promise<unknown>,
  code: SlipwayError['code'],
): Promise<SlipwayError> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (!('error' in outcome)) assert.fail(`expected ${code}, but got ${JSON.stringify(outcome.value)}`)
  if (!isSlipwayError(outcome.error)) throw outcome.error
  assert.equal(outcome.error.code, code, outcome.error.message)
  return outcome.error
}

/** A call beyond a limit is refused until its Retry-After is over, to the second. */
export async function assertWaits({ clock }: Api, call: () => Promise<unknown>): Promise<void> {
  const { retryAfterSeconds } = await expectFailure(call(), 'RATE_LIMITED')
  clock.now += retryAfterSeconds! * 1000 - 1000
  await expectFailure(call(), 'RATE_LIMITED')
  clock.now += 1000
  await call()
}

/** Path and query of a URL. */
export function toTarget(url: string): string {
  return url.replace(/^https?:\/\/[^/]+/, '')
}

/** The folder of the blob store. */
export function blobFolder(api: Api): string {
  return join(api.data, 'blobs')
}

function toResponse(
  { method, url }: Outgoing,
  status: number,
  header: (name: string) => string | null,
  text: string,
): ApiResponse {
  const headers = Object.fromEntries(CHECKED_HEADERS.map((name) => [name, header(name) ?? undefined]))
  return { method, target: toTarget(url), status, headers, body: Buffer.from(text), text, json: parsed(text) }
}

const CHECKED_HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'content-type',
  'retry-after',
  'allow',
  'cache-control',
]

function toAnswer(method: string, target: string, incoming: IncomingMessage, body: Buffer): ApiResponse {
  const text = body.toString()
  const isJson = /^application\/json\b/.test(incoming.headers['content-type'] ?? '') && text !== ''
  return {
    method,
    target,
    status: incoming.statusCode!,
    headers: incoming.headers,
    body,
    text,
    json: isJson ? parsed(text) : undefined,
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
