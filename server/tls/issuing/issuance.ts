import { randomUUID } from 'node:crypto'
import type { CertificateSummary } from '../../store/queries/certificates.ts'
import type { CertificateRow } from '../../store/schema.ts'
import type { Durability, Writing } from '../../store/store.ts'
import { iso } from '../../time.ts'
import { AcmeFailure, type ChallengeType, type Order } from '../acme/acme.ts'
import { countCertificate, countFailure, leaveAlone, namesOf, takeRoom } from './budget.ts'
import { type IssuingParts, LEASE, leaseOf, X509 } from './parts.ts'
import { proofsOf, typesFor } from './proofs.ts'
import { firstPlan, lifeLeft, nextOf } from './renewal.ts'
import { setbackOf } from './setback.ts'

/** How a visit ended: the CA was away, wants to be left alone, or neither. */
export type Outcome = 'issued' | 'waits' | 'failed' | 'away' | 'paused'

/** One name in the hands of this process. */
interface Turn {
  name: string
  row: CertificateRow
  holder: string
  fence: number
  hasRoom: boolean
  /** Whether the CA may have issued: what the order replaces cannot be replaced again. */
  mayBeIssued: boolean
  /** The order under way and the key it is for. */
  order?: string
  key?: string
  /** How the name was shown to the CA. */
  shown?: ChallengeType
}

/** Thrown in a visit that goes on no more: the process stops, or was so slow that another one has taken over. */
class TakenOver extends Error {}

/**
 * Takes names from due to issued, in steps after each of which the process may die: an order and its key are kept before the CA
 * is asked to issue, and the chain that it issues takes the place of the one before in one durable write.
 */
export class Issuance {
  readonly #parts: IssuingParts
  readonly #turns = new Set<Turn>()
  #stopped = false

  constructor(parts: IssuingParts) {
    this.#parts = parts
  }

  /**
   * Does what is due for a name, unless another node is at it. `caIsThere` when the CA has last done something for some name.
   * Throws only when the store does.
   */
  async visit(name: string, { caIsThere }: { caIsThere: boolean }): Promise<Outcome> {
    const turn = await this.#begin(name)
    if (!turn) return 'waits'
    this.#turns.add(turn)
    try {
      return await this.#obtain(turn)
    } catch (error) {
      return await this.#setBack(turn, error, caIsThere)
    } finally {
      this.#turns.delete(turn)
    }
  }

  /** Writes nothing any more and gives up what it has in hand: other processes go on with it. */
  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#turns.size === 0) return
    await this.#parts.store.write('soft', async (tx) => {
      for (const { name, holder } of this.#turns) await tx.leases.drop(leaseOf(name), holder)
    })
  }

  /** Takes the lease, and room for the order that the name needs if it has none; undefined when there is nothing to do. */
  #begin(name: string): Promise<Turn | undefined> {
    const holder = randomUUID()
    return this.#write('soft', async (tx) => {
      const now = this.#parts.clock()
      const row = await tx.certificates.find(name)
      if (!row || !needsOrder(row, now)) return undefined
      const fence = await tx.leases.take(leaseOf(name), holder, now, now + LEASE)
      if (fence === undefined) return undefined
      const hasRoom = row.order_url === null
      if (!hasRoom || (await this.#takeRoom(tx, row)))
        return { name, row, holder, fence, hasRoom, mayBeIssued: false }
      await tx.leases.drop(leaseOf(name), holder)
      return undefined
    })
  }

  async #obtain(turn: Turn): Promise<Outcome> {
    const { acme } = this.#parts
    const order = (await this.#resume(turn)) ?? (await this.#open(turn))
    if (!order) return 'waits'
    const proven = order.status === 'pending' ? await acme.prove(order, this.#proofs(turn)) : order
    if (proven.status === 'invalid')
      throw new AcmeFailure('failed', proven.problem ?? 'The certificate authority has given up the order')
    const issued = proven.status === 'valid' ? proven : await this.#finalize(turn, proven)
    turn.mayBeIssued = true
    if (issued.status !== 'valid')
      throw new AcmeFailure('slow', 'The certificate authority has not issued the certificate in time')
    await this.#install(turn, issued)
    return 'issued'
  }

  /** The order that was under way when a process ended, if the CA still knows it and its key can be read. */
  async #resume(turn: Turn): Promise<Order | undefined> {
    const { acme, seal, log } = this.#parts
    const { name, row } = turn
    if (row.order_url === null) return undefined
    const key = seal.open(row.order_key ?? '', `order ${name}`)
    if (key === undefined) log.warn('the key of an order cannot be read; it is made anew', { name })
    const order = key === undefined ? undefined : await acme.resume(row.order_url)
    if (!order || (order.status === 'invalid' && order.problem === undefined)) return undefined
    turn.order = row.order_url
    turn.key = key!
    return order
  }

  /** A new order, kept with its key; undefined when there is no room for one now. */
  async #open(turn: Turn): Promise<Order | undefined> {
    const { acme, seal, form = X509 } = this.#parts
    const { name, row } = turn
    if (!turn.hasRoom && !(await this.#holding(turn, 'soft', (tx) => this.#roomOrRest(tx, turn))))
      return undefined
    const order = await acme.order(namesOf(name), isRenewal(row) ? row.certificate_id! : undefined)
    const key = form.newKey()
    turn.order = order.url
    turn.key = key
    const change = { order_url: order.url, order_key: seal.seal(key, `order ${name}`) }
    await this.#holding(turn, 'durable', (tx) => tx.certificates.update(name, change))
    return order
  }

  async #finalize(turn: Turn, order: Order): Promise<Order> {
    const { acme, clock, form = X509 } = this.#parts
    const { name, row } = turn
    if (!isRenewal(row))
      await this.#holding(turn, 'soft', (tx) => countCertificate(tx, name, turn.order!, clock()))
    turn.mayBeIssued = true
    const { csr } = await form.request(namesOf(name), turn.key!)
    return acme.finalize(order, csr)
  }

  async #install(turn: Turn, order: Order): Promise<void> {
    const { acme, clock, log } = this.#parts
    const { name } = turn
    const change = await this.#readChain(turn, await acme.download(order))
    const installed = await this.#write('durable', async (tx) => {
      const row = await tx.certificates.summary(name)
      if (row?.order_url !== turn.order) return false
      const due_at = row!.unused_since === null ? change.due_at : null
      const proof_type = turn.shown ?? turn.row.proof_type
      await tx.certificates.update(name, { ...change, proof_type, due_at })
      await tx.leases.drop(leaseOf(name), turn.holder)
      await tx.changed(name)
      return true
    })
    if (!installed) throw new TakenOver()
    const { not_after } = change
    log.info('got a certificate', { name, until: iso(not_after), renewed: turn.row.not_after !== null })
    if (not_after - clock() < 0) log.warn('the clock of this service is ahead', { name })
  }

  async #readChain({ name, key }: Turn, pem: string) {
    const { clock, seal, form = X509 } = this.#parts
    const now = clock()
    const checked = form.check(pem, { names: namesOf(name), key: key!, now })
    if (checked.problem !== undefined)
      throw new AcmeFailure(
        'refused',
        `The certificate that the CA issued cannot be used: ${checked.problem}`,
      )
    const { chain, notBefore, notAfter } = checked
    const plan = firstPlan({ name, notBefore, notAfter, issuedAt: now }, now)
    return {
      chain,
      key: seal.seal(key!, `certificate ${name}`),
      not_before: notBefore,
      not_after: notAfter,
      issued_at: now,
      certificate_id: (await form.id(chain)) ?? null,
      informed: 0,
      renew_at: plan.renewAt,
      information_at: Math.round(plan.informationAt),
      order_url: null,
      order_key: null,
      failures: 0,
      problem: null,
      due_at: Math.round(nextOf(plan)),
    } satisfies Partial<CertificateRow>
  }

  /** Plans the next try by what went wrong. */
  async #setBack(turn: Turn, error: unknown, caIsThere: boolean): Promise<Outcome> {
    if (this.#stopped || error instanceof TakenOver) return 'waits'
    const { clock, log } = this.#parts
    const { name } = turn
    const now = clock()
    const setback = await this.#write('soft', async (tx) => {
      const row = await tx.certificates.summary(name)
      if (!row || !(await holds(tx, turn))) return undefined
      const setback = setbackOf(error, { row, now, caIsThere })
      const due_at = row.unused_since === null ? setback.change.due_at : null
      const informed = setback.change.order_url === null && turn.mayBeIssued ? 0 : row.informed
      const proof_type = this.#nextProof(turn, error)
      await tx.certificates.update(name, { ...setback.change, informed, proof_type, due_at })
      if (setback.counts) await countFailure(tx, name, turn.order ?? randomUUID(), now)
      if (setback.pauseUntil !== undefined) await leaveAlone(tx, setback.pauseUntil, now)
      await tx.leases.drop(leaseOf(name), turn.holder)
      return { ...setback, due_at }
    })
    if (!setback) return 'waits'
    const again = setback.due_at === null ? 'never' : iso(setback.due_at)
    log.warn('could not get a certificate', { name, again, error: loggable(error) })
    if (setback.pauseUntil !== undefined) return 'paused'
    return error instanceof AcmeFailure && error.trouble === 'away' ? 'away' : 'failed'
  }

  #proofs(turn: Turn) {
    const shown = (type: ChallengeType) => {
      turn.shown = type
    }
    return proofsOf(this.#parts, { types: this.#types(turn.name, turn.row.proof_type), shown })
  }

  /** Another way than before only when the CA has looked in vain. */
  #nextProof({ name, row, shown }: Turn, error: unknown): ChallengeType | null {
    if (!(error instanceof AcmeFailure && error.trouble === 'failed')) return row.proof_type
    const [tried, next = tried] = this.#types(name, shown ?? row.proof_type)
    return next!
  }

  #types(name: string, first: ChallengeType | null): ChallengeType[] {
    const { own, hook } = this.#parts
    return typesFor(name, { byDns: own.includes(name) && hook !== undefined, first })
  }

  async #roomOrRest(tx: Writing, turn: Turn): Promise<boolean> {
    if (await this.#takeRoom(tx, turn.row)) return true
    await tx.leases.drop(leaseOf(turn.name), turn.holder)
    return false
  }

  /** Whether there is room for an order; without it the name waits, and has no order any more. */
  async #takeRoom(tx: Writing, row: CertificateRow): Promise<boolean> {
    const now = this.#parts.clock()
    const left = lifeLeft(row.not_before, row.not_after, now)
    const time = await takeRoom(tx, { name: row.name, renewal: isRenewal(row), left }, now)
    if (time !== undefined)
      await tx.certificates.update(row.name, { due_at: time, order_url: null, order_key: null })
    return time === undefined
  }

  #holding<T>(turn: Turn, durability: Durability, work: (tx: Writing) => Promise<T>): Promise<T> {
    return this.#write(durability, async (tx) => {
      if (!(await holds(tx, turn))) throw new TakenOver()
      return work(tx)
    })
  }

  async #write<T>(durability: Durability, work: (tx: Writing) => Promise<T>): Promise<T> {
    if (this.#stopped) throw new TakenOver()
    return this.#parts.store.write(durability, work)
  }
}

/** Whether a name that is due needs an order, or to get on with the one that it has. */
export function needsOrder(row: CertificateSummary, now: number): boolean {
  if (row.due_at === null || row.due_at > now) return false
  return row.order_url !== null || row.renew_at === null || row.renew_at <= now
}

/** The CA has information about the certificate, so it knows what the order replaces. */
function isRenewal(row: CertificateRow): boolean {
  return row.informed === 1 && row.certificate_id !== null
}

function holds(tx: Writing, { name, holder, fence }: Turn): Promise<boolean> {
  return tx.leases.holds(leaseOf(name), holder, fence)
}

function loggable(error: unknown): unknown {
  return error instanceof AcmeFailure ? error.message : error
}
