import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { ChallengeType } from '../../packages/acme-client/acme.ts'
import { certificateId } from '../../packages/acme-client/x509.ts'
import { DAY_MS, HOUR_MS } from '../../server/lib/time.ts'
import { FOREVER, Issuer } from '../certificates/issuer.ts'
import { listen } from '../support/listen.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

export type Endpoint =
  | 'directory'
  | 'nonce'
  | 'new-account'
  | 'new-order'
  | 'order'
  | 'authorization'
  | 'challenge'
  | 'finalize'
  | 'certificate'
  | 'renewal-information'

/** One request, parsed. */
export interface AcmeRequest {
  endpoint: Endpoint
  id: string
  userAgent: string | undefined
  /** Undefined for an empty payload: POST-as-GET. */
  payload: Record<string, unknown> | undefined
}

/** A response of a CA: an object as body is sent as JSON. A function handles the request itself. */
export type CaResponse =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  | ((request: IncomingMessage, response: ServerResponse) => void)

/** A problem document (RFC 7807, RFC 8555, 6.7). */
export function problem(
  status: number,
  type: string,
  detail: string,
  headers: Record<string, string> = {},
): CaResponse {
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: { type: `urn:ietf:params:acme:error:${type}`, detail, status },
  }
}

/** The protected header of a request (RFC 8555, 6.2): with the account URL, or the key of a client without an account. */
interface RequestHeader {
  nonce: string
  kid?: string
  jwk?: JsonWebKey
}

interface CaOrder {
  id: string
  account: string
  names: string[]
  authorizations: CaAuthorization[]
  /** PEM, once it is valid. */
  chain?: string
}

interface CaAuthorization {
  id: string
  account: string
  /** May begin with `*.`. */
  name: string
  status: 'pending' | 'valid' | 'invalid'
  challenges: CaChallenge[]
}

interface CaChallenge {
  id: string
  type: ChallengeType
  token: string
  status: 'pending' | 'processing' | 'valid' | 'invalid'
  error?: { type: string; detail: string }
}

type DefaultHandler = () => CaResponse | Promise<CaResponse>

/**
 * An ACME server over HTTPS with renewal information and profiles, which verifies neither signatures nor challenges.
 * Tests may set every property that is not readonly at any time, to make it misbehave.
 */
export class FakeCa implements AsyncDisposable {
  /** All requests in order. */
  readonly requests: AcmeRequest[] = []
  /** Account keys by account URL. */
  readonly accounts = new Map<string, JsonWebKey>()
  /** PEM file of the root, both of its HTTPS certificate and of issued certificates. */
  readonly caFile: string
  /** Directory URL, for SLIPWAY_ACME_URL. */
  readonly directory: string
  readonly issuer: Issuer

  /** Whether it supports renewal information (RFC 9773). */
  renewalInformation = true
  /** The renewal window that it suggests for every certificate. */
  window = { start: 0, end: 0 }
  /** Profile names with descriptions. */
  profiles: Record<string, string> = {}
  /** Its names in CAA records (RFC 8555, 9.7.6). */
  caaIdentities: unknown = undefined
  /** Whether it reuses valid authorizations. */
  reuse = false
  /** Validates a name: returns the error detail, or undefined when valid, which is the default. */
  validate: (name: string) => string | undefined | Promise<string | undefined> = () => undefined
  /** Replaces the response of the CA; undefined for the default response. */
  override: (
    request: AcmeRequest,
    runDefault: DefaultHandler,
  ) => CaResponse | undefined | Promise<CaResponse | undefined> = () => undefined

  readonly #origin: string
  readonly #clock: () => number
  readonly #owned: AsyncDisposableStack
  readonly #nonces = new Set<string>()
  readonly #orders = new Map<string, CaOrder>()
  readonly #authorizations = new Map<string, CaAuthorization>()
  /** Identifiers of issued certificates. */
  readonly #issued = new Set<string>()

  /** `clock` returns milliseconds since 1970, for the validity of certificates. */
  static async start(clock: () => number = Date.now): Promise<FakeCa> {
    await using opened = new AsyncDisposableStack()
    const issuer = await Issuer.create()
    const caFile = join(opened.use(await memoryFolder()).path, 'root.pem')
    await writeFile(caFile, issuer.root)
    const { chain, key } = await issuer.issueWithKey({ names: ['localhost', '127.0.0.1'], ...FOREVER })
    const server = createServer({ cert: chain, key }, (request, response) => ca.#serve(request, response))
    const origin = `https://127.0.0.1:${await listen(server)}`
    opened.defer(async () => {
      server.close()
      server.closeAllConnections()
      if (server.listening) await once(server, 'close')
    })
    const ca: FakeCa = new FakeCa({ clock, issuer, caFile, origin, owned: opened.move() })
    return ca
  }

  private constructor(given: {
    clock: () => number
    issuer: Issuer
    caFile: string
    origin: string
    owned: AsyncDisposableStack
  }) {
    this.#clock = given.clock
    this.issuer = given.issuer
    this.caFile = given.caFile
    this.#origin = given.origin
    this.directory = `${given.origin}/directory`
    this.#owned = given.owned
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync()
  }

  /** Invalidates all nonces issued so far. */
  forgetNonces(): void {
    this.#nonces.clear()
  }

  /** Number of requests to an endpoint. */
  count(endpoint: Endpoint): number {
    return this.requests.filter((request) => request.endpoint === endpoint).length
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, endpoint, id = ''] = incoming.url!.split('/') as [string, Endpoint, string?]
    const signed = await text(incoming)
    const { protected: header, payload } = JSON.parse(signed || '{}') as Record<string, string | undefined>
    const request: AcmeRequest = {
      endpoint,
      id,
      userAgent: incoming.headers['user-agent'],
      payload: payload ? JSON.parse(decode(payload)) : undefined,
    }
    this.requests.push(request)
    const runDefault = () =>
      header === undefined ? this.#open(request) : this.#signed(request, JSON.parse(decode(header)))
    const answer = (await this.override(request, runDefault)) ?? (await runDefault())
    if (typeof answer === 'function') return answer(incoming, response)
    const { status, headers, body } = answer
    response.writeHead(status, {
      'content-type': 'application/json',
      'replay-nonce': this.#nonce(),
      ...headers,
    })
    response.end(typeof body === 'object' ? JSON.stringify(body) : (body as string | undefined))
  }

  #open({ endpoint, id }: AcmeRequest): CaResponse {
    if (endpoint === 'nonce') return { status: 200 }
    if (endpoint === 'directory') return { status: 200, body: this.#directory() }
    if (!this.#issued.has(id)) return problem(404, 'malformed', 'There is no such certificate')
    const { start, end } = this.window
    const suggestedWindow = { start: new Date(start).toISOString(), end: new Date(end).toISOString() }
    return { status: 200, headers: { 'retry-after': '21600' }, body: { suggestedWindow } }
  }

  #directory(): unknown {
    const at = (endpoint: Endpoint) => `${this.#origin}/${endpoint}`
    return {
      newNonce: at('nonce'),
      newAccount: at('new-account'),
      newOrder: at('new-order'),
      ...(this.renewalInformation ? { renewalInfo: at('renewal-information') } : {}),
      meta: {
        termsOfService: `${this.#origin}/terms`,
        profiles: this.profiles,
        caaIdentities: this.caaIdentities,
      },
    }
  }

  async #signed(request: AcmeRequest, { nonce, kid, jwk }: RequestHeader): Promise<CaResponse> {
    const { endpoint, id, payload } = request
    if (!this.#nonces.delete(nonce)) return problem(400, 'badNonce', 'This nonce is not one of mine')
    if (endpoint === 'new-account') return this.#newAccount(jwk!)
    if (kid === undefined || !this.accounts.has(kid))
      return problem(400, 'accountDoesNotExist', 'There is no such account')
    if (endpoint === 'new-order') return this.#newOrder(kid, payload!)
    const order = this.#orders.get(id)
    if (order?.account === kid) {
      if (endpoint === 'order') return this.#order(order)
      if (endpoint === 'finalize') return this.#finalize(order, payload!)
      return {
        status: 200,
        headers: { 'content-type': 'application/pem-certificate-chain' },
        body: order.chain,
      }
    }
    const authorization = this.#authorizations.get(id.split('-')[0]!)
    if (authorization?.account !== kid) return problem(404, 'malformed', 'There is nothing of yours here')
    if (endpoint === 'authorization') return this.#authorization(authorization)
    return this.#challenge(authorization, authorization.challenges.find((one) => one.id === id)!)
  }

  #newAccount(jwk: JsonWebKey): CaResponse {
    const known = this.accounts.entries().find(([, key]) => key.x === jwk.x)?.[0]
    const url = known ?? `${this.#origin}/account/${this.accounts.size + 1}`
    this.accounts.set(url, jwk)
    return { status: known ? 200 : 201, headers: { location: url }, body: { status: 'valid' } }
  }

  #newOrder(account: string, payload: Record<string, unknown>): CaResponse {
    const names = (payload.identifiers as { value: string }[]).map(({ value }) => value)
    const authorizations = names.map(
      (name) => (this.reuse && this.#proven(account, name)) || this.#createAuthorization(account, name),
    )
    const order: CaOrder = { id: newId(), account, names, authorizations }
    this.#orders.set(order.id, order)
    return { ...this.#order(order), status: 201 }
  }

  #proven(account: string, name: string): CaAuthorization | undefined {
    return this.#authorizations
      .values()
      .find((one) => one.account === account && one.name === name && one.status === 'valid')
  }

  #createAuthorization(account: string, name: string): CaAuthorization {
    const id = newId()
    const types: ChallengeType[] = name.startsWith('*.') ? ['dns-01'] : ['dns-01', 'tls-alpn-01', 'http-01']
    const challenges = types.map(
      (type, index): CaChallenge => ({ id: `${id}-${index}`, type, token: newId(), status: 'pending' }),
    )
    const authorization: CaAuthorization = { id, account, name, status: 'pending', challenges }
    this.#authorizations.set(id, authorization)
    return authorization
  }

  #order(order: CaOrder): { status: number; headers: Record<string, string>; body: object } {
    const status = orderStatus(order)
    const failed = order.authorizations.flatMap((one) => one.challenges).find((one) => one.error)
    return {
      status: 200,
      headers: { location: `${this.#origin}/order/${order.id}`, 'retry-after': '1' },
      body: {
        status,
        identifiers: order.names.map((value) => ({ type: 'dns', value })),
        authorizations: order.authorizations.map(({ id }) => `${this.#origin}/authorization/${id}`),
        finalize: `${this.#origin}/finalize/${order.id}`,
        ...(status === 'valid' ? { certificate: `${this.#origin}/certificate/${order.id}` } : {}),
        ...(status === 'invalid' ? { error: failed?.error } : {}),
      },
    }
  }

  #authorization({ name, status, challenges }: CaAuthorization): CaResponse {
    const wildcard = name.startsWith('*.')
    return {
      status: 200,
      headers: { 'retry-after': '1' },
      body: {
        status,
        identifier: { type: 'dns', value: wildcard ? name.slice(2) : name },
        ...(wildcard ? { wildcard } : {}),
        challenges: challenges.map((one) => this.#describe(one)),
      },
    }
  }

  async #challenge(authorization: CaAuthorization, challenge: CaChallenge): Promise<CaResponse> {
    if (challenge.status === 'pending') {
      challenge.status = 'processing'
      const detail = await this.validate(authorization.name)
      if (detail !== undefined) challenge.error = { type: 'urn:ietf:params:acme:error:unauthorized', detail }
      challenge.status = challenge.error ? 'invalid' : 'valid'
      authorization.status = challenge.status
    }
    return { status: 200, body: this.#describe(challenge) }
  }

  #describe({ id, ...challenge }: CaChallenge): object {
    return { ...challenge, url: `${this.#origin}/challenge/${id}` }
  }

  async #finalize(order: CaOrder, payload: Record<string, unknown>): Promise<CaResponse> {
    const csr = new Uint8Array(Buffer.from(payload.csr as string, 'base64url'))
    const notBefore = this.#clock() - HOUR_MS
    const life = { notBefore, notAfter: notBefore + 90 * DAY_MS }
    order.chain = await this.issuer.issue(csr, { names: order.names, ...life })
    this.#issued.add((await certificateId(order.chain))!)
    return this.#order(order)
  }

  #nonce(): string {
    const nonce = randomBytes(16).toString('base64url')
    this.#nonces.add(nonce)
    return nonce
  }
}

/** RFC 8555, 7.1.6. */
function orderStatus({ chain, authorizations }: CaOrder): string {
  if (chain !== undefined) return 'valid'
  if (authorizations.some(({ status }) => status === 'invalid')) return 'invalid'
  return authorizations.every(({ status }) => status === 'valid') ? 'ready' : 'pending'
}

function newId(): string {
  return randomBytes(16).toString('hex')
}

function decode(part: string): string {
  return Buffer.from(part, 'base64url').toString()
}
