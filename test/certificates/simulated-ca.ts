import { randomUUID } from 'node:crypto'
import {
  type Acme,
  AcmeError,
  type ChallengeResponse,
  type ChallengeSolver,
  type Order,
  type RenewalInfo,
} from '../../packages/acme-client/acme.ts'
import type { CertificateCodec } from '../../server/certificates/deps.ts'
import type { Dns } from '../../server/domains/dns/dns.ts'
import { DAY_MS, HOUR_MS } from '../../server/lib/time.ts'
import { PublishedLimits } from './published-limits.ts'

/** Validity of an order, as at large CAs. */
const ORDER_LIFE = 7 * DAY_MS

/** Orders stored for the same names. */
const RECENT_ORDERS = 20

/** The steps of an order at which a CA can be made to fail. */
export type Step = 'order' | 'resume' | 'authorize' | 'finalize' | 'download' | 'information'

export interface SimulatedCaOptions {
  clock: () => number
  /** Validity of certificates in milliseconds. */
  life: number
  renewalInformation?: boolean
}

interface StoredOrder {
  order: Order
  at: number
  replaces: string | undefined
  issued?: FakeCertificate
}

/**
 * An in-process CA with fake certificates that enforces the limits of large CAs. Tests may set every property that is not
 * readonly at any time.
 */
export class SimulatedCa implements Acme {
  readonly limits: PublishedLimits
  /** Number of requests by step. */
  readonly requests: Record<Step, number> = {
    order: 0,
    resume: 0,
    authorize: 0,
    finalize: 0,
    download: 0,
    information: 0,
  }
  /** Certificates not yet replaced, by their id at the CA. */
  readonly issued = new Map<string, FakeCertificate>()
  /** Number of orders by names. */
  readonly ordered = new Map<string, number>()
  /** Number of issued certificates. */
  certificates = 0
  life: number
  hasInformation: boolean
  /** Called before each step; an error it throws is the CA's response. */
  before: (step: Step, names: readonly string[]) => void | Promise<void> = () => undefined
  /** Called after each step; an error it throws replaces the response. */
  after: (step: Step, names: readonly string[]) => void | Promise<void> = () => undefined
  window: (issued: FakeCertificate) => { start: number; end: number } = ({ notBefore, notAfter }) => ({
    start: notBefore + (notAfter - notBefore) * 0.64,
    end: notBefore + (notAfter - notBefore) * 0.67,
  })
  /** Validates a challenge; throws when it fails. */
  validate: (challenge: ChallengeResponse) => void | Promise<void> = () => undefined
  /** Transforms the downloaded chain. */
  chain: (issued: FakeCertificate) => FakeCertificate = (issued) => issued

  readonly #clock: () => number
  readonly #orders = new Map<string, StoredOrder>()
  readonly #recent = new Map<string, string[]>()
  #count = 0

  constructor({ clock, life, renewalInformation = true }: SimulatedCaOptions) {
    this.#clock = clock
    this.life = life
    this.hasInformation = renewalInformation
    this.limits = new PublishedLimits(clock)
  }

  async caaIdentity(): ReturnType<Acme['caaIdentity']> {
    return { identities: ['ca.example'], accountUrl: 'https://ca.example/account/1' }
  }

  async supportsRenewalInfo(): Promise<boolean> {
    return this.hasInformation
  }

  async newOrder(names: readonly string[], replaces?: string): Promise<Order> {
    return this.#step('order', names, () => {
      const known = replaces !== undefined && this.issued.has(replaces) ? replaces : undefined
      const passed = this.limits.order(names, known !== undefined)
      if (passed)
        throw new AcmeError('rate-limited', `too many: ${passed.limit}`, { notBefore: passed.notBefore })
      const url = `order/${++this.#count}`
      const order: Order = { url, status: 'pending', names, authorizations: [], finalize: url }
      this.#orders.set(url, { order, at: this.#clock(), replaces: known })
      const set = names.join()
      this.ordered.set(set, (this.ordered.get(set) ?? 0) + 1)
      this.#remember(set, url)
      return order
    })
  }

  async getOrder(url: string): Promise<Order | undefined> {
    const stored = this.#orders.get(url)
    return this.#step('resume', stored?.order.names ?? [], () => {
      if (!stored || this.#clock() > stored.at + ORDER_LIFE) return undefined
      return stored.order
    })
  }

  async authorize(order: Order, solver: ChallengeSolver): Promise<Order> {
    return this.#step('authorize', order.names, async () => {
      const stored = this.#orders.get(order.url)!
      for (const wanted of order.names) {
        const [type] = solver.types(wanted)
        const name = wanted.replace('*.', '')
        const challenge = { type: type!, name, token: order.url, keyAuthorization: `${order.url}.key` }
        await solver.present(challenge)
        try {
          await this.validate(challenge)
        } finally {
          await solver.remove(challenge)
        }
      }
      stored.order = { ...stored.order, status: 'ready' }
      return stored.order
    })
  }

  /** Fails the validation of the newest order for the names; returns the error. */
  failValidation(names: readonly string[]): AcmeError {
    for (const name of names) this.limits.failed(name)
    const problem = `nothing was found at ${names.join(' and ')}`
    const stored = this.#orders.get(this.#recent.get(names.join())!.at(-1)!)!
    stored.order = { ...stored.order, status: 'invalid', problem }
    return new AcmeError('challenge-failed', problem, { type: 'unauthorized' })
  }

  async finalize({ url, names }: Order, csr: Uint8Array): Promise<Order> {
    return this.#step('finalize', names, () => {
      const stored = this.#orders.get(url)!
      if (stored.order.status === 'valid') return stored.order
      const { key } = JSON.parse(Buffer.from(csr).toString()) as { key: string }
      const notBefore = this.#clock() - HOUR_MS
      const issued = { id: url, names, key, notBefore, notAfter: notBefore + this.life }
      stored.issued = issued
      this.certificates++
      this.issued.set(issued.id, issued)
      this.limits.issued(names, stored.replaces !== undefined)
      if (stored.replaces !== undefined) this.issued.delete(stored.replaces)
      stored.order = { ...stored.order, status: 'valid', certificate: url }
      return stored.order
    })
  }

  async download({ url, names }: Order): Promise<string> {
    return this.#step('download', names, () => {
      return JSON.stringify(this.chain(this.#orders.get(url)!.issued!))
    })
  }

  async renewalInfo(id: string): Promise<RenewalInfo | undefined> {
    const issued = this.issued.get(id)
    return this.#step('information', issued?.names ?? [], () => {
      if (!issued) return undefined
      return { ...this.window(issued), nextRequestAt: this.#clock() + 6 * HOUR_MS }
    })
  }

  #remember(set: string, url: string): void {
    const recent = [...(this.#recent.get(set) ?? []), url]
    for (const old of recent.splice(0, Math.max(0, recent.length - RECENT_ORDERS))) {
      this.#orders.delete(old)
      this.issued.delete(old)
    }
    this.#recent.set(set, recent)
  }

  async #step<T>(step: Step, names: readonly string[], work: () => T | Promise<T>): Promise<T> {
    this.requests[step]++
    await this.before(step, names)
    const done = await work()
    await this.after(step, names)
    return done
  }
}

/** Replaces an X.509 chain; stored as JSON. */
export interface FakeCertificate {
  id: string
  names: readonly string[]
  key: string
  notBefore: number
  notAfter: number
}

/** Certificates without cryptography, so that ten years are simulated in minutes. */
export const fakeCodec: CertificateCodec = {
  newKey: () => randomUUID(),
  request: async (names, key) => Buffer.from(JSON.stringify({ names, key })),
  id: async (chain) => readFakeCertificate(chain).id,
  check(chain, { names, key, now }) {
    const result = readFakeCertificate(chain)
    if (result.key !== key) return { problem: 'it is for another key' }
    if (result.names.join() !== names.join()) return { problem: 'it is for other names' }
    if (result.notAfter <= now) return { problem: 'it has ended' }
    return { chain, notBefore: result.notBefore, notAfter: result.notAfter }
  },
}

export function readFakeCertificate(chain: string): FakeCertificate {
  return JSON.parse(chain) as FakeCertificate
}

/** DNS without CAA records. */
export const noCaa: Pick<Dns, 'caa'> = { caa: async () => ({ records: [] }) }
