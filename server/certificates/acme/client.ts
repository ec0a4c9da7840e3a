import { AcmeAccount, type AcmeAccountOptions } from './account.ts'
import { type Acme, AcmeError, type ChallengeSolver, type Order, type RenewalInformation } from './acme.ts'
import { solveChallenges } from './challenges.ts'
import { Deadline } from './deadline.ts'
import { type AcmeDirectory, DirectoryCache } from './directory.ts'
import { parseOrder } from './order.ts'
import { poll } from './polling.ts'
import { parseProblemBody, toAcmeError } from './problem.ts'
import { parseRenewalInfo } from './renewal-information.ts'
import { AcmeSession } from './session.ts'
import { SignedRequests } from './signed-requests.ts'
import { AcmeTransport, type HttpResponse, requireLocation, unreachable } from './transport.ts'

export interface AcmeOptions extends AcmeAccountOptions {
  /** PEM file of additional trusted roots. */
  caFile?: string | undefined
  /** Certificate profile to request; may be empty. */
  profile: string
  /** Version of this service for the User-Agent. */
  version: string
  /** Resolves after `ms` milliseconds. */
  pause: (ms: number) => Promise<void>
  /** Time-out of one request in milliseconds; default 30 seconds. */
  requestTimeoutMs?: number
}

/** Time-out of one call in milliseconds, with all its requests and pauses. */
const CALL_TIMEOUT_MS = 60_000

const REQUEST_TIMEOUT_MS = 30_000

const PEM_CHAIN = /^application\/pem-certificate-chain\b/i

/** Problem types with which CAs reject `replaces` (RFC 9773, 5). */
const NO_REPLACEMENT = ['alreadyReplaced', 'malformed', 'conflict', 'unauthorized']

/** RFC 8555, 7.4; RFC 9773, 5. */
interface NewOrder {
  identifiers: { type: string; value: string }[]
  profile?: string
  replaces?: string
}

/** A CA over HTTPS. Throws when the file of roots cannot be read. */
export function acmeClient(options: AcmeOptions): Acme & Disposable {
  return new AcmeClient(options)
}

class AcmeClient implements Acme, Disposable {
  readonly #options: AcmeOptions
  readonly #transport: AcmeTransport
  readonly #directories: DirectoryCache
  readonly #session: AcmeSession

  constructor(options: AcmeOptions) {
    const { clock, directory: url } = options
    this.#options = options
    this.#transport = new AcmeTransport({
      ...options,
      requestTimeoutMs: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    })
    this.#directories = new DirectoryCache({ url, transport: this.#transport, clock })
    const posts = new SignedRequests({ transport: this.#transport, directories: this.#directories, clock })
    const account = new AcmeAccount(options, { directories: this.#directories, posts })
    this.#session = new AcmeSession({ account, posts, clock })
  }

  [Symbol.dispose](): void {
    this.#transport[Symbol.dispose]()
  }

  hasRenewalInformation(): Promise<boolean> {
    return this.#call(async (deadline) => {
      return (await this.#directories.get(deadline)).renewalInfo !== undefined
    })
  }

  order(names: readonly string[], replaces?: string): Promise<Order> {
    return this.#call(async (deadline) => {
      const directory = await this.#directories.get(deadline)
      const identifiers = names.map((value) => ({ type: 'dns', value }))
      const payload = { identifiers, ...selectProfile(this.#options.profile, directory) }
      if (replaces === undefined || directory.renewalInfo === undefined)
        return this.#newOrder(directory, payload, deadline)
      try {
        return await this.#newOrder(directory, { ...payload, replaces }, deadline)
      } catch (error) {
        if (!(error instanceof AcmeError && NO_REPLACEMENT.includes(error.type ?? ''))) throw error
        const { log } = this.#options
        log.warn('certificate authority rejected the order as a renewal; retrying without ARI', {
          names,
          replaces,
          error,
        })
        return this.#newOrder(directory, payload, deadline)
      }
    })
  }

  resume(url: string): Promise<Order | undefined> {
    return this.#call(async (deadline) => {
      const { newOrder } = await this.#directories.get(deadline)
      if (URL.parse(url)?.origin !== URL.parse(newOrder)?.origin) return undefined
      const call = { url, action: 'show the order' }
      const reply = await this.#session.send(call, deadline)
      if (reply.status === 200) return parseOrder(reply, url)
      if (isUnknownOrder(reply)) return undefined
      throw this.#session.failure(reply, call)
    })
  }

  prove(order: Order, solver: ChallengeSolver): Promise<Order> {
    return this.#call(async (deadline) => {
      const { clock, log } = this.#options
      const session = this.#session
      await solveChallenges({ order, solver, session, deadline, clock, log })
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
      if (url === undefined) throw unreachable('did not say where the certificate is')
      const call = { url, action: 'hand out the certificate' }
      const { headers, body } = await this.#session.request(call, deadline)
      if (!PEM_CHAIN.test(headers['content-type'] ?? ''))
        throw unreachable('answered something that is no certificate')
      return body
    })
  }

  renewalInformation(certificateId: string): Promise<RenewalInformation | undefined> {
    return this.#call(async (deadline) => {
      const { renewalInfo } = await this.#directories.get(deadline)
      if (renewalInfo === undefined) return undefined
      const url = `${renewalInfo.replace(/\/$/, '')}/${certificateId}`
      const reply = await this.#transport.request({ method: 'GET', url }, deadline)
      const now = this.#options.clock()
      if (reply.status === 404) return undefined
      if (reply.status !== 200) throw toAcmeError(reply, 'say when to renew', now)
      return parseRenewalInfo(reply, { now, log: this.#options.log })
    })
  }

  /** After an outage the CA's directory may have changed. */
  async #call<T>(work: (deadline: Deadline) => Promise<T>): Promise<T> {
    try {
      return await work(new Deadline(CALL_TIMEOUT_MS, this.#options.pause))
    } catch (error) {
      if (error instanceof AcmeError && error.kind === 'away') this.#directories.invalidate()
      throw error
    }
  }

  async #newOrder({ newOrder: url }: AcmeDirectory, payload: NewOrder, deadline: Deadline): Promise<Order> {
    const names = payload.identifiers.map(({ value }) => value)
    const reply = await this.#session.request({ url, payload, action: 'take the order' }, deadline)
    const order = parseOrder(reply, requireLocation(reply, 'the order'))
    if (order.names.toSorted().join() === names.toSorted().join()) return order
    throw unreachable('took an order for other names')
  }

  /** Polls an order until it is in one of these states. */
  #waitForStatus(states: Order['status'][], { url }: Order, deadline: Deadline): Promise<Order> {
    const look = async () => {
      const reply = await this.#session.request({ url, action: 'show the order' }, deadline)
      const order = parseOrder(reply, url)
      if (order.status === 'invalid') throw invalidOrder(order)
      return { found: states.includes(order.status) ? order : undefined, reply }
    }
    return poll(look, { deadline, clock: this.#options.clock })
  }
}

/**
 * The configured profile is dropped for a CA without profiles, and an error for a CA that has other profiles.
 */
function selectProfile(profile: string, { profiles }: AcmeDirectory): { profile?: string } {
  if (profile === '' || profiles === undefined) return {}
  if (profiles.includes(profile)) return { profile }
  const has = profiles.slice(0, 10).join(', ').slice(0, 200)
  const sentence = `The certificate authority has no profile ${profile} (SLIPWAY_ACME_PROFILE); it has ${has}`
  throw new AcmeError('refused', sentence, { type: 'invalidProfile' })
}

/** The order is deleted or belongs to another account. */
function isUnknownOrder(reply: HttpResponse): boolean {
  if (reply.status === 404 || reply.status === 410) return true
  return reply.status === 403 && parseProblemBody(reply).type === 'unauthorized'
}

function invalidOrder({ names, problem }: Order): AcmeError {
  const sentence = `The certificate authority has given up the order for ${names.join(', ')}`
  return new AcmeError('refused', `${sentence}: ${problem ?? 'it does not say why'}`)
}
