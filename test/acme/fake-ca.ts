import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { ChallengeType } from '../../server/certificates/acme/acme.ts'
import { certificateId } from '../../server/certificates/x509.ts'
import { DAY_MS, HOUR_MS } from '../../server/lib/time.ts'
import { type CaResponse, type FakeCaHttpServer, problem, startFakeCaHttp } from './fake-ca-http.ts'
import { type CaAuthorization, type CaChallenge, type CaOrder, CaOrders } from './fake-ca-orders.ts'
import { type Issuer, requestedNames } from './issuer.ts'
import { jwkThumbprint, readSignedRequest, type SignedRequest } from './signed-request.ts'

export interface FakeCaOptions {
  /** Milliseconds since 1970, for validity. */
  clock?: () => number
}

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
  method: string
  userAgent: string | undefined
  account: string | undefined
  payload: Record<string, unknown> | undefined
}

export interface ValidationRequest {
  type: ChallengeType
  name: string
  token: string
  keyAuthorization: string
}

export interface Issued {
  id: string
  names: readonly string[]
  /** Milliseconds since 1970. */
  at: number
  notBefore: number
  notAfter: number
  replaces: string | undefined
  profile: string | undefined
}

type DefaultHandler = () => Promise<CaResponse>

/**
 * An ACME server over HTTPS with renewal information and profiles. Tests may set every property
 * that is not readonly at any time, to make it misbehave.
 */
export class FakeCa implements AsyncDisposable {
  /** All requests in order. */
  readonly requests: AcmeRequest[] = []
  /** All issued certificates in order. */
  readonly issued: Issued[] = []
  /** Account keys by account URL. */
  readonly accounts = new Map<string, JsonWebKey>()
  readonly issuer: Issuer
  /** PEM file of the root, both of its HTTPS certificate and of issued certificates. */
  readonly caFile: string
  /** Directory URL, for SLIPWAY_ACME_URL. */
  readonly directory: string

  /** Whether it supports renewal information (RFC 9773). */
  renewalInformation = true
  /** Profile names with descriptions. */
  profiles: Record<string, string> = {}
  /** Whether it reuses valid authorizations. */
  reuse = false
  /** Validates a challenge: returns the error detail, or undefined when valid, which is the default. */
  validate: (request: ValidationRequest) => string | undefined | Promise<string | undefined> = () => undefined
  /** Replaces the response of the CA; undefined for the default response. */
  override: (
    request: AcmeRequest,
    runDefault: DefaultHandler,
  ) => CaResponse | undefined | Promise<CaResponse | undefined> = () => undefined
  /** The suggested renewal window; default after two thirds of the validity. */
  window: (issued: Issued) => { start: number; end: number } = ({ notBefore, notAfter }) => ({
    start: notBefore + ((notAfter - notBefore) * 2) / 3,
    end: notBefore + ((notAfter - notBefore) * 7) / 10,
  })

  readonly #orders = new CaOrders()
  readonly #nonces = new Set<string>()
  readonly #clock: () => number
  readonly #owned: AsyncDisposableStack

  private constructor(options: FakeCaOptions, server: FakeCaHttpServer) {
    this.#clock = options.clock ?? Date.now
    this.issuer = server.issuer
    this.caFile = server.caFile
    this.#owned = server.owned
    this.directory = `${server.origin}/directory`
  }

  static async start(options: FakeCaOptions = {}): Promise<FakeCa> {
    const server = await startFakeCaHttp()
    const ca = new FakeCa(options, server)
    server.answer = (request) => ca.#handle(request)
    return ca
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync()
  }

  /** Invalidates all nonces issued so far. */
  forgetNonces(): void {
    this.#nonces.clear()
  }

  /** Number of requests to an endpoint. */
  count(endpoint: Endpoint): number {
    return this.requests.filter((request) => request.endpoint === endpoint).length
  }

  async #handle(incoming: IncomingMessage): Promise<{ answer: CaResponse; headers: Record<string, string> }> {
    const [, endpoint, id = ''] = incoming.url!.split('/') as [string, Endpoint, string?]
    const body = await text(incoming)
    const request: AcmeRequest = {
      endpoint,
      id,
      method: incoming.method!,
      userAgent: incoming.headers['user-agent'],
      account: undefined,
      payload: undefined,
    }
    const runDefault = this.#read(request, body)
    this.requests.push(request)
    const answer = (await this.override(request, runDefault)) ?? (await runDefault())
    return { answer, headers: { 'replay-nonce': this.#nonce(), 'cache-control': 'no-store' } }
  }

  /** The default handler of a request; fills in `account` and `payload` of `request`. */
  #read(request: AcmeRequest, body: string): DefaultHandler {
    if (request.method !== 'POST') return async () => this.#open(request)
    let signed: SignedRequest
    try {
      signed = readSignedRequest(body)
    } catch (error) {
      return async () => problem(400, 'malformed', (error as Error).message)
    }
    request.payload = signed.payload
    const key = signed.jwk ?? this.accounts.get(signed.kid!)
    request.account = signed.kid ?? (key && this.#accountOf(key))
    return async () => {
      if (!this.#nonces.delete(signed.nonce)) return problem(400, 'badNonce', 'This nonce is not one of mine')
      if (!key) return problem(400, 'accountDoesNotExist', 'There is no such account')
      const url = `${this.#origin}/${request.endpoint}${request.id && `/${request.id}`}`
      if (signed.url !== url || !signed.signedBy(key))
        return problem(403, 'unauthorized', 'Not signed for this')
      if (request.endpoint === 'new-account') return this.#newAccount(signed)
      return request.account ? this.#own(request) : problem(403, 'unauthorized', 'Use your account')
    }
  }

  #open({ endpoint, id }: AcmeRequest): CaResponse {
    if (endpoint === 'nonce') return { status: 200 }
    if (endpoint === 'directory') return { status: 200, body: this.#directory() }
    if (endpoint === 'renewal-information') return this.#renewalInformation(id)
    return problem(405, 'malformed', 'Nothing can be read here without a signature')
  }

  #directory(): unknown {
    const at = (endpoint: Endpoint) => `${this.#origin}/${endpoint}`
    return {
      newNonce: at('nonce'),
      newAccount: at('new-account'),
      newOrder: at('new-order'),
      ...(this.renewalInformation ? { renewalInfo: at('renewal-information') } : {}),
      meta: { termsOfService: `${this.#origin}/terms`, profiles: this.profiles },
    }
  }

  #renewalInformation(id: string): CaResponse {
    const issued = this.issued.find((one) => one.id === id)
    if (!issued || !this.renewalInformation) return problem(404, 'malformed', 'There is no such certificate')
    const { start, end } = this.window(issued)
    const suggestedWindow = { start: new Date(start).toISOString(), end: new Date(end).toISOString() }
    return { status: 200, headers: { 'retry-after': '21600' }, body: { suggestedWindow } }
  }

  #newAccount({ jwk, payload }: SignedRequest): CaResponse {
    if (!jwk) return problem(400, 'malformed', 'Show your key')
    const known = this.#accountOf(jwk)
    if (!known && payload?.onlyReturnExisting) return problem(400, 'accountDoesNotExist', 'There is none')
    if (!known && !payload?.termsOfServiceAgreed)
      return problem(403, 'userActionRequired', 'Agree to the terms')
    const url = known ?? `${this.#origin}/account/${this.accounts.size + 1}`
    this.accounts.set(url, jwk)
    return { status: known ? 200 : 201, headers: { location: url }, body: { status: 'valid' } }
  }

  async #own({ endpoint, id, account, payload }: AcmeRequest): Promise<CaResponse> {
    if (endpoint === 'new-order') return this.#newOrder(account!, payload ?? {})
    const order = this.#orders.orders.get(id)
    if (order?.account === account) {
      if (endpoint === 'order') return this.#order(order!)
      if (endpoint === 'finalize') return this.#finalize(order!, payload ?? {})
      if (endpoint === 'certificate' && order!.chain) return this.#certificate(order!.chain)
    }
    const authorization = this.#orders.authorizations.get(id)
    if (endpoint === 'authorization' && authorization?.account === account)
      return this.#authorization(authorization!)
    const challenge = this.#orders.challenge(id)
    if (endpoint === 'challenge' && challenge?.authorization.account === account)
      return this.#challenge(challenge!.authorization, challenge!.challenge)
    return problem(404, 'malformed', 'There is nothing of yours here')
  }

  #newOrder(account: string, payload: Record<string, unknown>): CaResponse {
    const identifiers = payload.identifiers as { value: string }[]
    const names = identifiers.map(({ value }) => value)
    const { replaces, profile } = payload as { replaces?: string; profile?: string }
    if (profile !== undefined && !(profile in this.profiles))
      return problem(400, 'invalidProfile', `There is no profile ${profile}`)
    if (replaces !== undefined) {
      if (!this.issued.some(({ id }) => id === replaces))
        return problem(404, 'malformed', 'Unknown predecessor')
      if (this.issued.some((one) => one.replaces === replaces))
        return problem(409, 'alreadyReplaced', 'That certificate was replaced')
    }
    const more = { ...(replaces ? { replaces } : {}), ...(profile ? { profile } : {}), reuse: this.reuse }
    const order = this.#orders.open(account, names, more)
    return { ...this.#order(order), status: 201 }
  }

  #order(order: CaOrder): { status: number; headers: Record<string, string>; body: object } {
    const broken = order.authorizations.flatMap((one) => one.challenges).find((one) => one.error)
    return {
      status: 200,
      headers: { location: `${this.#origin}/order/${order.id}`, 'retry-after': '1' },
      body: {
        status: order.status,
        identifiers: order.names.map((value) => ({ type: 'dns', value })),
        authorizations: order.authorizations.map(({ id }) => `${this.#origin}/authorization/${id}`),
        finalize: `${this.#origin}/finalize/${order.id}`,
        ...(order.profile ? { profile: order.profile } : {}),
        ...(order.chain ? { certificate: `${this.#origin}/certificate/${order.id}` } : {}),
        ...(order.status === 'invalid' ? { error: broken?.error } : {}),
      },
    }
  }

  #authorization({ name, wildcard, status, challenges }: CaAuthorization): CaResponse {
    return {
      status: 200,
      headers: { 'retry-after': '1' },
      body: {
        status,
        identifier: { type: 'dns', value: name },
        ...(wildcard ? { wildcard } : {}),
        challenges: challenges.map((one) => this.#challengeBody(one)),
      },
    }
  }

  #challengeBody({ id, type, token, status, error }: CaChallenge): object {
    return { type, token, status, url: `${this.#origin}/challenge/${id}`, ...(error ? { error } : {}) }
  }

  async #challenge(authorization: CaAuthorization, challenge: CaChallenge): Promise<CaResponse> {
    if (authorization.status === 'pending' && challenge.status === 'pending') {
      challenge.status = 'processing'
      const { name, account } = authorization
      const thumbprint = jwkThumbprint(this.accounts.get(account)!)
      const keyAuthorization = `${challenge.token}.${thumbprint}`
      const detail = await this.validate({
        type: challenge.type,
        name,
        token: challenge.token,
        keyAuthorization,
      })
      const error = { type: 'urn:ietf:params:acme:error:unauthorized', detail: detail ?? '' }
      this.#orders.recordValidation(authorization, challenge, detail === undefined ? undefined : error)
    }
    return { status: 200, body: this.#challengeBody(challenge) }
  }

  async #finalize(order: CaOrder, payload: Record<string, unknown>): Promise<CaResponse> {
    if (order.status !== 'ready') return problem(403, 'orderNotReady', `The order is ${order.status}`)
    const csr = new Uint8Array(Buffer.from(payload.csr as string, 'base64url'))
    if (requestedNames(csr).toSorted().join() !== order.names.toSorted().join())
      return problem(400, 'badCSR', 'The request is for other names than the order')
    order.status = 'processing'
    await this.#issue(order, csr)
    return this.#order(order)
  }

  async #issue(order: CaOrder, csr: Uint8Array<ArrayBuffer>): Promise<void> {
    const { names, replaces, profile } = order
    const at = this.#clock()
    const life = { notBefore: at - HOUR_MS, notAfter: at - HOUR_MS + 90 * DAY_MS }
    const chain = await this.issuer.issue(csr, { names, ...life })
    const id = (await certificateId(chain))!
    this.issued.push({ id, names, at, ...life, replaces, profile })
    order.chain = chain
    order.status = 'valid'
  }

  #certificate(chain: string): CaResponse {
    return { status: 200, headers: { 'content-type': 'application/pem-certificate-chain' }, body: chain }
  }

  #accountOf(key: JsonWebKey): string | undefined {
    return this.accounts.entries().find(([, known]) => jwkThumbprint(known) === jwkThumbprint(key))?.[0]
  }

  #nonce(): string {
    const nonce = randomBytes(16).toString('base64url')
    this.#nonces.add(nonce)
    return nonce
  }

  get #origin(): string {
    return new URL(this.directory).origin
  }
}
