import { randomUUID } from 'node:crypto'
import {
  type Acme,
  AcmeError,
  type ChallengeResponse,
  type ChallengeSolver,
  type Order,
  type RenewalInfo,
} from '../../server/certificates/acme/acme.ts'
import type { CertificateCodec } from '../../server/certificates/deps.ts'
import { PublishedLimits } from '../acme/published-limits.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** How long an order can be proven, as large CAs have it. */
const ORDER_LIFE = 7 * DAY_MS

/** Orders that are kept for the same names. */
const RECENT_ORDERS = 20

/** The steps of an order at which a CA can be made to fail. */
export type Step = 'order' | 'resume' | 'prove' | 'finalize' | 'download' | 'information'

export interface SimulatedCaOptions {
  clock: () => number
  /** How long certificates last, in milliseconds. */
  life: number
  renewalInformation?: boolean
}

interface Kept {
  order: Order
  at: number
  replaces: string | undefined
  issued?: FakeCertificate
}

/**
 * A CA in this process, with stand-ins for certificates, that enforces the limits that large CAs publish. Everything that is
 * not readonly may be changed at any time.
 */
export class SimulatedCa implements Acme {
  readonly limits: PublishedLimits
  /** What was asked, by step. */
  readonly asked: Record<Step, number> = {
    order: 0,
    resume: 0,
    prove: 0,
    finalize: 0,
    download: 0,
    information: 0,
  }
  /** Certificates that were not replaced, by what the CA calls them. */
  readonly issued = new Map<string, FakeCertificate>()
  /** Orders that were opened, by their names. */
  readonly ordered = new Map<string, number>()
  /** How many certificates were issued in all. */
  certificates = 0
  life: number
  hasInformation: boolean
  /** Called at each step, before the CA does it; what it throws is the CA's answer. */
  before: (step: Step, names: readonly string[]) => void | Promise<void> = () => undefined
  /** Called at each step, once the CA has done it: what it throws replaces the response. */
  after: (step: Step, names: readonly string[]) => void | Promise<void> = () => undefined
  window: (issued: FakeCertificate) => { start: number; end: number } = ({ notBefore, notAfter }) => ({
    start: notBefore + (notAfter - notBefore) * 0.64,
    end: notBefore + (notAfter - notBefore) * 0.67,
  })
  /** Looks at what is shown. */
  look: (challenge: ChallengeResponse) => void | Promise<void> = () => undefined
  /** Changes what is sent as the chain. */
  chain: (issued: FakeCertificate) => FakeCertificate = (issued) => issued

  readonly #clock: () => number
  readonly #orders = new Map<string, Kept>()
  readonly #recent = new Map<string, string[]>()
  #count = 0

  constructor({ clock, life, renewalInformation = true }: SimulatedCaOptions) {
    this.#clock = clock
    this.life = life
    this.hasInformation = renewalInformation
    this.limits = new PublishedLimits(clock)
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
    const kept = this.#orders.get(url)
    return this.#step('resume', kept?.order.names ?? [], () => {
      if (!kept || this.#clock() > kept.at + ORDER_LIFE) return undefined
      return kept.order
    })
  }

  async authorize(order: Order, solver: ChallengeSolver): Promise<Order> {
    return this.#step('prove', order.names, async () => {
      const kept = this.#orders.get(order.url)!
      for (const wanted of order.names) {
        const [type] = solver.types(wanted)
        const name = wanted.replace('*.', '')
        const challenge = { type: type!, name, token: order.url, keyAuthorization: `${order.url}.key` }
        await solver.present(challenge)
        try {
          await this.look(challenge)
        } finally {
          await solver.remove(challenge)
        }
      }
      kept.order = { ...kept.order, status: 'ready' }
      return kept.order
    })
  }

  /** Lets the newest order for names fail its validation, and returns the error. */
  fails(names: readonly string[]): AcmeError {
    for (const name of names) this.limits.failed(name)
    const problem = `nothing was found at ${names.join(' and ')}`
    const kept = this.#orders.get(this.#recent.get(names.join())!.at(-1)!)!
    kept.order = { ...kept.order, status: 'invalid', problem }
    return new AcmeError('challenge-failed', problem, { type: 'unauthorized' })
  }

  async finalize({ url, names }: Order, csr: Uint8Array): Promise<Order> {
    return this.#step('finalize', names, () => {
      const kept = this.#orders.get(url)!
      if (kept.order.status === 'valid') return kept.order
      const { key } = JSON.parse(Buffer.from(csr).toString()) as { key: string }
      const notBefore = this.#clock() - HOUR_MS
      const issued = { id: url, names, key, notBefore, notAfter: notBefore + this.life }
      kept.issued = issued
      this.certificates++
      this.issued.set(issued.id, issued)
      this.limits.issued(names, kept.replaces !== undefined)
      if (kept.replaces !== undefined) this.issued.delete(kept.replaces)
      kept.order = { ...kept.order, status: 'valid', certificate: url }
      return kept.order
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
    this.asked[step]++
    await this.before(step, names)
    const done = await work()
    await this.after(step, names)
    return done
  }
}

/** What a simulated CA issues in place of a chain in X.509, as JSON. */
export interface FakeCertificate {
  id: string
  names: readonly string[]
  key: string
  notBefore: number
  notAfter: number
}

/** Certificates without cryptography, so that ten years of them are made in minutes. */
export const fakeCodec: CertificateCodec = {
  newKey: () => randomUUID(),
  request: async (names, key) => Buffer.from(JSON.stringify({ names, key })),
  id: async (chain) => readFakeCertificate(chain).id,
  check(chain, { names, key, now }) {
    const found = readFakeCertificate(chain)
    if (found.key !== key) return { problem: 'it is for another key' }
    if (found.names.join() !== names.join()) return { problem: 'it is for other names' }
    if (found.notAfter <= now) return { problem: 'it has ended' }
    return { chain, notBefore: found.notBefore, notAfter: found.notAfter }
  },
}

export function readFakeCertificate(chain: string): FakeCertificate {
  return JSON.parse(chain) as FakeCertificate
}
