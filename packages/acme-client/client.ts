import {
  type Acme,
  AcmeError,
  type AcmeLog,
  type ChallengeSolver,
  type Order,
  type RenewalInfo,
} from './acme.ts'
import { solveChallenges } from './challenges.ts'
import { type AcmeDirectory, selectProfile } from './directory.ts'
import {
  type Json,
  oneLine,
  parseObject,
  parseProblem,
  parseProblemBody,
  parseRetryAfter,
  readString,
  requireLocation,
} from './response.ts'
import { AcmeSession, type AcmeSessionOptions } from './session.ts'
import { AcmeTransport, Deadline, type HttpResponse, unreachable } from './transport.ts'

export interface AcmeOptions extends AcmeSessionOptions {
  /** PEM file of additional trusted roots. */
  caFile?: string | undefined
  /** Certificate profile to request; may be empty. */
  profile: string
  /** Version of this service for the User-Agent. */
  version: string
  /** Resolves after `ms` milliseconds. */
  pause: (ms: number) => Promise<void>
  /** Milliseconds: for a response, and for all requests of a call. */
  deadlines: { request: number; call: number }
}

/** RFC 8555, 7.4; RFC 9773, 5. */
interface NewOrder {
  identifiers: { type: string; value: string }[]
  profile?: string
  replaces?: string
}

const HOUR_MS = 3_600_000

/** The polling interval of renewal information without Retry-After, and its bounds (RFC 9773, 4.3). */
const RENEWAL_INFO_INTERVAL_MS = 6 * HOUR_MS
const MIN_RENEWAL_INFO_INTERVAL_MS = 60_000
const MAX_RENEWAL_INFO_INTERVAL_MS = 24 * HOUR_MS

/** Lower and upper bounds of plausible dates in renewal information. */
const MIN_TIME = Date.UTC(2015)
const MAX_LIFETIME_MS = 10 * 366 * 24 * HOUR_MS

const ORDER_STATUSES = ['pending', 'ready', 'processing', 'valid', 'invalid'] as const

const MAX_NAMES = 100

const PEM_CHAIN = /^application\/pem-certificate-chain\b/i

/** Problem types with which CAs reject `replaces` (RFC 9773, 5). */
const REPLACES_REJECTED = ['alreadyReplaced', 'malformed', 'conflict', 'unauthorized']

/** A CA over HTTPS. Throws when the file of roots cannot be read. */
export function acmeClient(options: AcmeOptions): Acme & Disposable {
  return new AcmeClient(options)
}

class AcmeClient implements Acme, Disposable {
  readonly #options: AcmeOptions
  readonly #transport: AcmeTransport
  readonly #session: AcmeSession

  constructor(options: AcmeOptions) {
    const { request: requestTimeoutMs } = options.deadlines
    this.#options = options
    this.#transport = new AcmeTransport({ ...options, requestTimeoutMs })
    this.#session = new AcmeSession(options, this.#transport)
  }

  [Symbol.dispose](): void {
    this.#transport[Symbol.dispose]()
  }

  supportsRenewalInfo(): Promise<boolean> {
    return this.#call(async (deadline) => {
      return (await this.#session.directory(deadline)).renewalInfo !== undefined
    })
  }

  caaIdentity(): ReturnType<Acme['caaIdentity']> {
    return this.#call(async (deadline) => {
      const { caaIdentities: identities } = await this.#session.directory(deadline)
      return { identities, accountUrl: await this.#session.findAccountUrl() }
    })
  }

  newOrder(names: readonly string[], replaces?: string): Promise<Order> {
    return this.#call(async (deadline) => {
      const directory = await this.#session.directory(deadline)
      const identifiers = names.map((value) => ({ type: 'dns', value }))
      const payload = { identifiers, ...selectProfile(this.#options.profile, directory) }
      if (replaces === undefined || directory.renewalInfo === undefined)
        return this.#postOrder(directory, payload, deadline)
      try {
        return await this.#postOrder(directory, { ...payload, replaces }, deadline)
      } catch (error) {
        if (!(error instanceof AcmeError && REPLACES_REJECTED.includes(error.type ?? ''))) throw error
        const sentence = 'certificate authority rejected the order as a renewal; retrying without ARI'
        this.#options.log.warn(sentence, { names, replaces, error })
        return this.#postOrder(directory, payload, deadline)
      }
    })
  }

  getOrder(url: string): Promise<Order | undefined> {
    return this.#call(async (deadline) => {
      const { newOrder } = await this.#session.directory(deadline)
      if (URL.parse(url)?.origin !== URL.parse(newOrder)?.origin) return undefined
      const call = { url, action: 'return the order' }
      const response = await this.#session.send(call, deadline)
      if (response.status === 200) return parseOrder(response, url)
      if (isUnknownOrder(response)) return undefined
      throw this.#session.failure(response, call.action)
    })
  }

  authorize(order: Order, solver: ChallengeSolver): Promise<Order> {
    return this.#call(async (deadline) => {
      const { log } = this.#options
      await solveChallenges({ order, solver, session: this.#session, deadline, log })
      return this.#waitForStatus(['ready', 'processing', 'valid'], order, deadline)
    })
  }

  finalize(order: Order, csr: Uint8Array): Promise<Order> {
    return this.#call(async (deadline) => {
      if (order.status !== 'processing') {
        const payload = { csr: Buffer.from(csr).toString('base64url') }
        const call = { url: order.finalize, payload, action: 'issue the certificate' }
        await this.#session.request(call, deadline)
      }
      return this.#waitForStatus(['valid'], order, deadline)
    })
  }

  download({ certificate: url }: Order): Promise<string> {
    return this.#call(async (deadline) => {
      if (url === undefined) throw unreachable('returned no URL for the certificate')
      const call = { url, action: 'return the certificate' }
      const { headers, body } = await this.#session.request(call, deadline)
      if (!PEM_CHAIN.test(headers['content-type'] ?? ''))
        throw unreachable('returned a response that is not a certificate')
      return body
    })
  }

  renewalInfo(certificateId: string): Promise<RenewalInfo | undefined> {
    return this.#call(async (deadline) => {
      const { renewalInfo } = await this.#session.directory(deadline)
      if (renewalInfo === undefined) return undefined
      const url = `${renewalInfo.replace(/\/$/, '')}/${certificateId}`
      const response = await this.#session.get(url, deadline)
      if (response.status === 404) return undefined
      if (response.status !== 200) throw this.#session.failure(response, 'return renewal information')
      return parseRenewalInfo(response, this.#options)
    })
  }

  async #call<T>(work: (deadline: Deadline) => Promise<T>): Promise<T> {
    try {
      return await work(new Deadline(this.#options.deadlines.call, this.#options.pause))
    } catch (error) {
      if (error instanceof AcmeError && error.kind === 'unreachable') this.#session.forgetDirectory()
      throw error
    }
  }

  async #postOrder({ newOrder: url }: AcmeDirectory, payload: NewOrder, deadline: Deadline): Promise<Order> {
    const names = payload.identifiers.map(({ value }) => value)
    const response = await this.#session.request({ url, payload, action: 'accept the order' }, deadline)
    const order = parseOrder(response, requireLocation(response, 'the order'))
    if (order.names.toSorted().join() === names.toSorted().join()) return order
    throw unreachable('accepted an order for other names')
  }

  /** Polls an order until it is in one of these states. */
  #waitForStatus(statuses: Order['status'][], { url }: Order, deadline: Deadline): Promise<Order> {
    return this.#session.poll({ url, action: 'return the order' }, deadline, (response) => {
      const order = parseOrder(response, url)
      if (order.status === 'invalid') throw invalidOrder(order)
      return statuses.includes(order.status) ? order : undefined
    })
  }
}

/** Parses an order (RFC 8555, 7.1.3). */
function parseOrder(response: HttpResponse, url: string): Order {
  const object = parseObject(response)
  const status = ORDER_STATUSES.find((one) => one === object.status)
  if (status === undefined) throw unreachable('returned an order with an invalid status')
  const problem = parseProblem(object.error).detail
  return {
    url,
    status,
    names: parseIdentifiers(object),
    authorizations: parseAuthorizationUrls(object),
    finalize: readString(object, 'finalize'),
    ...(object.certificate === undefined ? {} : { certificate: readString(object, 'certificate') }),
    ...(problem === '' ? {} : { problem }),
  }
}

function parseIdentifiers({ identifiers }: Json): string[] {
  const values = Array.isArray(identifiers) ? identifiers.slice(0, MAX_NAMES) : []
  return values.map((identifier: unknown) => readString((identifier ?? {}) as Json, 'value').toLowerCase())
}

function parseAuthorizationUrls({ authorizations = [] }: Json): string[] {
  const isList = Array.isArray(authorizations) && authorizations.length <= MAX_NAMES
  if (!isList || !authorizations.every((url) => typeof url === 'string'))
    throw unreachable('returned invalid authorizations')
  return authorizations
}

/** The order is deleted or belongs to another account. */
function isUnknownOrder(response: HttpResponse): boolean {
  if (response.status === 404 || response.status === 410) return true
  return response.status === 403 && parseProblemBody(response).type === 'unauthorized'
}

function invalidOrder({ names, problem }: Order): AcmeError {
  const sentence = `The certificate authority invalidated the order for ${names.join(', ')}`
  return new AcmeError('rejected', `${sentence}: ${problem ?? 'no reason given'}`)
}

/** Parses renewal information (RFC 9773, 4.2); undefined when it is invalid. */
function parseRenewalInfo(
  response: HttpResponse,
  { clock, log }: { clock: () => number; log: AcmeLog },
): RenewalInfo | undefined {
  const now = clock()
  const object = parseObject(response)
  const window = (object.suggestedWindow ?? {}) as Json
  const [start, end] = [parseTimestamp(window.start), parseTimestamp(window.end)]
  if (!(start >= MIN_TIME && start < end && end < now + MAX_LIFETIME_MS)) {
    const body = oneLine(response.body)
    log.warn('certificate authority sent invalid renewal information', { url: response.url, body })
    return undefined
  }
  const wait = parseRetryAfter(response, now) ?? RENEWAL_INFO_INTERVAL_MS
  const interval = Math.min(Math.max(wait, MIN_RENEWAL_INFO_INTERVAL_MS), MAX_RENEWAL_INFO_INTERVAL_MS)
  return { start, end, nextRequestAt: now + interval }
}

/** Accepts RFC 3339 only: `Date.parse` accepts many other formats. */
function parseTimestamp(value: unknown): number {
  const form = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/
  return typeof value === 'string' && form.test(value) ? Date.parse(value.toUpperCase()) : Number.NaN
}
