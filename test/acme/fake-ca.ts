import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { ChallengeType } from '../../server/certificates/acme/acme.ts'
import { certificateId } from '../../server/certificates/x509.ts'
import { type CaResponse, type FakeCaHttpServer, problem, startFakeCaHttp } from './fake-ca-http.ts'
import { type CaAuthorization, type CaChallenge, type CaOrder, CaOrders } from './fake-ca-orders.ts'
import { type Issuer, requestedNames } from './issuer.ts'
import { PublishedLimits } from './published-limits.ts'
import { jwkThumbprint, readSignedRequest, type SignedRequest } from './signed-request.ts'

export interface FakeCaOptions {
  /** Milliseconds since 1970: for the lives of certificates and for the limits. */
  clock?: () => number
  /** How long certificates last, in milliseconds; 90 days. */
  life?: number
  /** Whether it has renewal information (RFC 9773); it has. */
  renewalInformation?: boolean
  /** Names of profiles with what they are; none. */
  profiles?: Record<string, string>
  /** Whether a name that was proven once is not asked about again; it is asked. */
  reuse?: boolean
}

export type Place =
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
export interface Asked {
  place: Place
  id: string
  method: string
  userAgent: string | undefined
  account: string | undefined
  payload: Record<string, unknown> | undefined
}

export interface Sought {
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

type Ordinary = () => Promise<CaResponse>

/**
 * A CA of ours that speaks ACME over HTTPS, with renewal information, profiles and the published limits, and that
 * misbehaves as a test wants: everything that is not readonly may be changed at any time.
 */
export class FakeCa implements AsyncDisposable {
  readonly limits: PublishedLimits
  /** All that was asked, in order. */
  readonly asked: Asked[] = []
  /** All that was issued, in order. */
  readonly issued: Issued[] = []
  /** The keys of all accounts by their addresses. */
  readonly accounts = new Map<string, JsonWebKey>()
  readonly issuer: Issuer
  /** PEM of the root of its own HTTPS, which is that of what it issues. */
  readonly caFile: string
  /** For SLIPWAY_ACME_URL. */
  readonly directory: string

  life: number
  renewalInformation: boolean
  profiles: Record<string, string>
  reuse: boolean
  /** Looks at a name: what it did not like, undefined when it is proven, which is what it finds when nothing is set. */
  look: (sought: Sought) => string | undefined | Promise<string | undefined> = () => undefined
  /** Answers in place of the CA; undefined for its ordinary answer. */
  instead: (asked: Asked, ordinary: Ordinary) => CaResponse | undefined | Promise<CaResponse | undefined> =
    () => undefined
  /** When it wants a certificate renewed: two thirds into its life when nothing else is set. */
  window: (issued: Issued) => { start: number; end: number } = ({ notBefore, notAfter }) => ({
    start: notBefore + ((notAfter - notBefore) * 2) / 3,
    end: notBefore + ((notAfter - notBefore) * 7) / 10,
  })

  readonly #orders = new CaOrders()
  readonly #nonces = new Set<string>()
  readonly #clock: () => number
  readonly #owned: AsyncDisposableStack

  private constructor(options: FakeCaOptions, door: FakeCaHttpServer) {
    this.#clock = options.clock ?? Date.now
    this.limits = new PublishedLimits(this.#clock)
    this.issuer = door.issuer
    this.caFile = door.caFile
    this.#owned = door.owned
    this.directory = `${door.origin}/directory`
    this.life = options.life ?? 90 * 86_400_000
    this.renewalInformation = options.renewalInformation ?? true
    this.profiles = options.profiles ?? {}
    this.reuse = options.reuse ?? false
  }

  static async start(options: FakeCaOptions = {}): Promise<FakeCa> {
    const door = await startFakeCaHttp()
    const ca = new FakeCa(options, door)
    door.answer = (request) => ca.#answer(request)
    return ca
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync()
  }

  /** From now on it takes none of the nonces that it has given out. */
  forgetNonces(): void {
    this.#nonces.clear()
  }

  /** How often a place was asked. */
  count(place: Place): number {
    return this.asked.filter((asked) => asked.place === place).length
  }

  async #answer(request: IncomingMessage): Promise<{ answer: CaResponse; headers: Record<string, string> }> {
    const [, place, id = ''] = request.url!.split('/') as [string, Place, string?]
    const body = await text(request)
    const asked: Asked = {
      place,
      id,
      method: request.method!,
      userAgent: request.headers['user-agent'],
      account: undefined,
      payload: undefined,
    }
    const ordinary = this.#read(asked, body)
    this.asked.push(asked)
    const answer = (await this.instead(asked, ordinary)) ?? (await ordinary())
    return { answer, headers: { 'replay-nonce': this.#nonce(), 'cache-control': 'no-store' } }
  }

  /** What it answers to a request; fills in `asked` what there is to know before. */
  #read(asked: Asked, body: string): Ordinary {
    if (asked.method !== 'POST') return async () => this.#open(asked)
    let signed: SignedRequest
    try {
      signed = readSignedRequest(body)
    } catch (error) {
      return async () => problem(400, 'malformed', (error as Error).message)
    }
    asked.payload = signed.payload
    const key = signed.jwk ?? this.accounts.get(signed.kid!)
    asked.account = signed.kid ?? (key && this.#accountOf(key))
    return async () => {
      if (!this.#nonces.delete(signed.nonce)) return problem(400, 'badNonce', 'This nonce is not one of mine')
      if (!key) return problem(400, 'accountDoesNotExist', 'There is no such account')
      const url = `${this.#origin}/${asked.place}${asked.id && `/${asked.id}`}`
      if (signed.url !== url || !signed.signedBy(key))
        return problem(403, 'unauthorized', 'Not signed for this')
      if (asked.place === 'new-account') return this.#newAccount(signed)
      return asked.account ? this.#own(asked) : problem(403, 'unauthorized', 'Use your account')
    }
  }

  #open({ place, id }: Asked): CaResponse {
    if (place === 'nonce') return { status: 200 }
    if (place === 'directory') return { status: 200, body: this.#directory() }
    if (place === 'renewal-information') return this.#renewalInformation(id)
    return problem(405, 'malformed', 'Nothing can be read here without a signature')
  }

  #directory(): unknown {
    const at = (place: Place) => `${this.#origin}/${place}`
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

  async #own({ place, id, account, payload }: Asked): Promise<CaResponse> {
    if (place === 'new-order') return this.#newOrder(account!, payload ?? {})
    const order = this.#orders.orders.get(id)
    if (order?.account === account) {
      if (place === 'order') return this.#order(order!)
      if (place === 'finalize') return this.#finalize(order!, payload ?? {})
      if (place === 'certificate' && order!.chain) return this.#certificate(order!.chain)
    }
    const authorization = this.#orders.authorizations.get(id)
    if (place === 'authorization' && authorization?.account === account)
      return this.#authorization(authorization!)
    const challenge = this.#orders.challenge(id)
    if (place === 'challenge' && challenge?.authorization.account === account)
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
    const passed = this.limits.order(names, replaces !== undefined)
    if (passed) {
      const seconds = Math.max(1, Math.ceil((passed.notBefore - this.#clock()) / 1000))
      return problem(429, 'rateLimited', `Too many: ${passed.limit}`, { 'retry-after': `${seconds}` })
    }
    const more = { ...(replaces ? { replaces } : {}), ...(profile ? { profile } : {}), reuse: this.reuse }
    const order = this.#orders.open(account, names, more)
    const answer = { ...this.#order(order), status: 201 }
    return answer
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
      const detail = await this.look({ type: challenge.type, name, token: challenge.token, keyAuthorization })
      if (detail !== undefined) this.limits.failed(name)
      const error = { type: 'urn:ietf:params:acme:error:unauthorized', detail: detail ?? '' }
      this.#orders.found(authorization, challenge, detail === undefined ? undefined : error)
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
    const life = { notBefore: at - 3_600_000, notAfter: at - 3_600_000 + this.life }
    const chain = await this.issuer.issue(csr, { names, ...life })
    const id = (await certificateId(chain))!
    this.issued.push({ id, names, at, ...life, replaces, profile })
    this.limits.issued(names, replaces !== undefined)
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
