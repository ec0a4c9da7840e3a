import { Account, type AccountOptions } from './account.ts'
import { type Acme, AcmeFailure, type Order, type Proofs, type RenewalInformation } from './acme.ts'
import { Conversation } from './conversation.ts'
import { Directories, type Directory } from './directory.ts'
import { readOrder } from './order.ts'
import { Patience } from './patience.ts'
import { poll } from './polling.ts'
import { Posts } from './posts.ts'
import { failureOf, problemOf } from './problem.ts'
import { proveNames } from './proving.ts'
import { readRenewalInformation } from './renewal-information.ts'
import { away, locationOf, type Reply, Transport } from './transport.ts'

export interface AcmeOptions extends AccountOptions {
  /** PEM file of roots to trust besides those that Node trusts. */
  caFile?: string | undefined
  /** Profile to order by; may be empty. */
  profile: string
  /** Of this service, for the User-Agent. */
  version: string
  /** Resolves after so many milliseconds. */
  pause: (ms: number) => Promise<void>
  /** Milliseconds that one request may take; 30 seconds. */
  requestTime?: number
}

/** Milliseconds that a call may take, with all its requests and pauses. */
const CALL = 60_000

const REQUEST = 30_000

const PEM_CHAIN = /^application\/pem-certificate-chain\b/i

/** What CAs answer when they do not want `replaces` (RFC 9773, 5). */
const NO_REPLACEMENT = ['alreadyReplaced', 'malformed', 'conflict', 'unauthorized']

/** RFC 8555, 7.4; RFC 9773, 5. */
interface NewOrder {
  identifiers: { type: string; value: string }[]
  profile?: string
  replaces?: string
}

/** A CA over HTTPS. Throws when the file with the roots cannot be read. */
export function acmeClient(options: AcmeOptions): Acme & Disposable {
  return new Client(options)
}

class Client implements Acme, Disposable {
  readonly #options: AcmeOptions
  readonly #transport: Transport
  readonly #directories: Directories
  readonly #conversation: Conversation

  constructor(options: AcmeOptions) {
    const { clock, directory: url } = options
    this.#options = options
    this.#transport = new Transport({ ...options, requestTime: options.requestTime ?? REQUEST })
    this.#directories = new Directories({ url, transport: this.#transport, clock })
    const posts = new Posts({ transport: this.#transport, directories: this.#directories, clock })
    const account = new Account(options, { directories: this.#directories, posts })
    this.#conversation = new Conversation({ account, posts, clock })
  }

  [Symbol.dispose](): void {
    this.#transport[Symbol.dispose]()
  }

  hasRenewalInformation(): Promise<boolean> {
    return this.#call(async (patience) => {
      return (await this.#directories.get(patience)).renewalInfo !== undefined
    })
  }

  order(names: readonly string[], replaces?: string): Promise<Order> {
    return this.#call(async (patience) => {
      const directory = await this.#directories.get(patience)
      const identifiers = names.map((value) => ({ type: 'dns', value }))
      const payload = { identifiers, ...wantedProfile(this.#options.profile, directory) }
      if (replaces === undefined || directory.renewalInfo === undefined)
        return this.#newOrder(directory, payload, patience)
      try {
        return await this.#newOrder(directory, { ...payload, replaces }, patience)
      } catch (error) {
        if (!(error instanceof AcmeFailure && NO_REPLACEMENT.includes(error.type ?? ''))) throw error
        const { log } = this.#options
        log.warn('the certificate authority takes this order for no renewal', { names, replaces, error })
        return this.#newOrder(directory, payload, patience)
      }
    })
  }

  resume(url: string): Promise<Order | undefined> {
    return this.#call(async (patience) => {
      const { newOrder } = await this.#directories.get(patience)
      if (URL.parse(url)?.origin !== URL.parse(newOrder)?.origin) return undefined
      const told = { url, to: 'show the order' }
      const reply = await this.#conversation.hear(told, patience)
      if (reply.status === 200) return readOrder(reply, url)
      if (isOfNobody(reply)) return undefined
      throw this.#conversation.failure(reply, told)
    })
  }

  prove(order: Order, proofs: Proofs): Promise<Order> {
    return this.#call(async (patience) => {
      const { clock, log } = this.#options
      const conversation = this.#conversation
      await proveNames({ order, proofs, conversation, patience, clock, log })
      return this.#until(['ready', 'processing', 'valid'], order, patience)
    })
  }

  finalize(order: Order, csr: Uint8Array): Promise<Order> {
    return this.#call(async (patience) => {
      if (order.status !== 'processing') {
        const payload = { csr: Buffer.from(csr).toString('base64url') }
        const told = { url: order.finalize, payload, to: 'issue the certificate' }
        await this.#conversation.tell(told, patience)
      }
      return this.#until(['valid'], order, patience)
    })
  }

  download({ certificate: url }: Order): Promise<string> {
    return this.#call(async (patience) => {
      if (url === undefined) throw away('did not say where the certificate is')
      const told = { url, to: 'hand out the certificate' }
      const { headers, body } = await this.#conversation.tell(told, patience)
      if (!PEM_CHAIN.test(headers['content-type'] ?? ''))
        throw away('answered something that is no certificate')
      return body
    })
  }

  renewalInformation(certificateId: string): Promise<RenewalInformation | undefined> {
    return this.#call(async (patience) => {
      const { renewalInfo } = await this.#directories.get(patience)
      if (renewalInfo === undefined) return undefined
      const url = `${renewalInfo.replace(/\/$/, '')}/${certificateId}`
      const reply = await this.#transport.ask({ method: 'GET', url }, patience)
      const now = this.#options.clock()
      if (reply.status === 404) return undefined
      if (reply.status !== 200) throw failureOf(reply, 'say when to renew', now)
      return readRenewalInformation(reply, { now, log: this.#options.log })
    })
  }

  /** A CA that is away may come back with everything at other addresses. */
  async #call<T>(work: (patience: Patience) => Promise<T>): Promise<T> {
    try {
      return await work(new Patience(CALL, this.#options.pause))
    } catch (error) {
      if (error instanceof AcmeFailure && error.trouble === 'away') this.#directories.forget()
      throw error
    }
  }

  async #newOrder({ newOrder: url }: Directory, payload: NewOrder, patience: Patience): Promise<Order> {
    const names = payload.identifiers.map(({ value }) => value)
    const reply = await this.#conversation.tell({ url, payload, to: 'take the order' }, patience)
    const order = readOrder(reply, locationOf(reply, 'the order'))
    if (order.names.toSorted().join() === names.toSorted().join()) return order
    throw away('took an order for other names')
  }

  /** Looks at an order until it is in one of these states. */
  #until(states: Order['status'][], { url }: Order, patience: Patience): Promise<Order> {
    const look = async () => {
      const reply = await this.#conversation.tell({ url, to: 'show the order' }, patience)
      const order = readOrder(reply, url)
      if (order.status === 'invalid') throw givenUp(order)
      return { found: states.includes(order.status) ? order : undefined, reply }
    }
    return poll(look, { patience, clock: this.#options.clock })
  }
}

/** A CA without profiles has none to choose from; one that lacks just this one is not asked for another. */
function wantedProfile(profile: string, { profiles }: Directory): { profile?: string } {
  if (profile === '' || profiles === undefined) return {}
  if (profiles.includes(profile)) return { profile }
  const has = profiles.slice(0, 10).join(', ').slice(0, 200)
  const sentence = `The certificate authority has no profile ${profile} (SLIPWAY_ACME_PROFILE); it has ${has}`
  throw new AcmeFailure('refused', sentence, { type: 'invalidProfile' })
}

/** An order that is gone, or that another account made. */
function isOfNobody(reply: Reply): boolean {
  if (reply.status === 404 || reply.status === 410) return true
  return reply.status === 403 && problemOf(reply).type === 'unauthorized'
}

function givenUp({ names, problem }: Order): AcmeFailure {
  const sentence = `The certificate authority has given up the order for ${names.join(', ')}`
  return new AcmeFailure('refused', `${sentence}: ${problem ?? 'it does not say why'}`)
}
