import { randomUUID } from 'node:crypto'
import { splitName } from '../domains/name.ts'
import { toIso } from '../lib/time.ts'
import type { CertificateSummary } from '../store/queries/certificates.ts'
import type { CertificateRow } from '../store/schema.ts'
import type { Durability, WriteTransaction } from '../store/store.ts'
import { AcmeError, type ChallengeType, type Order } from './acme/acme.ts'
import { certificateNames, countCertificate, countFailure, pauseCa, reserve } from './ca-rate-limits.ts'
import { challengeTypesFor, createChallengeSolver } from './challenge-solver.ts'
import { type IssuingDeps, LEASE_DURATION_MS, leaseName, x509Codec } from './deps.ts'
import { firstPlan, lifeLeft, nextDueTime } from './renewal.ts'
import { nextRetry } from './retry-policy.ts'

/** Result of processing a name. */
export type IssuanceOutcome = 'issued' | 'waits' | 'failed' | 'away' | 'paused'

/** A name that this process is working on. */
interface IssuanceAttempt {
  name: string
  row: CertificateRow
  holder: string
  fence: number
  hasReservation: boolean
  /** Whether the CA may have issued a certificate: the replaced certificate cannot be replaced again. */
  mayBeIssued: boolean
  /** The pending order and its key. */
  order?: string
  key?: string
  /** The challenge type that was presented. */
  presentedType?: ChallengeType
}

/** Ends the processing of a name: the process stops, or lost its lease. */
class LeaseLostError extends Error {}

/**
 * Takes a due name to an issued certificate, in steps that survive a crash: an order and its key are stored
 * before the certificate is requested, and the issued chain replaces the previous one in one durable write.
 */
export class Issuance {
  readonly #deps: IssuingDeps
  readonly #attempts = new Set<IssuanceAttempt>()
  #stopped = false

  constructor(parts: IssuingDeps) {
    this.#deps = parts
  }

  /**
   * Processes a name, unless another node holds its lease. `caIsReachable` tells whether the CA last succeeded
   * for any name. Throws only on errors of the store.
   */
  async process(
    name: string,
    { caIsThere: caIsReachable }: { caIsThere: boolean },
  ): Promise<IssuanceOutcome> {
    const turn = await this.#acquire(name)
    if (!turn) return 'waits'
    this.#attempts.add(turn)
    try {
      return await this.#issue(turn)
    } catch (error) {
      return await this.#scheduleRetry(turn, error, caIsReachable)
    } finally {
      this.#attempts.delete(turn)
    }
  }

  /** Stops writing and abandons names in progress: other processes continue with them. */
  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#attempts.size === 0) return
    await this.#deps.store.write('soft', async (tx) => {
      for (const { name, holder } of this.#attempts) await tx.leases.release(leaseName(name), holder)
    })
  }

  /**
   * Acquires the lease and, if the name has no order, reserves one; undefined when there is nothing to do.
   */
  #acquire(name: string): Promise<IssuanceAttempt | undefined> {
    const holder = randomUUID()
    return this.#write('soft', async (tx) => {
      const now = this.#deps.clock()
      const row = await tx.certificates.find(name)
      if (!row || !needsOrder(row, now)) return undefined
      const fence = await tx.leases.acquire(leaseName(name), holder, now, now + LEASE_DURATION_MS)
      if (fence === undefined) return undefined
      const hasReservation = row.order_url === null
      if (!hasReservation || (await this.#reserve(tx, row)))
        return { name, row, holder, fence, hasReservation, mayBeIssued: false }
      await tx.leases.release(leaseName(name), holder)
      return undefined
    })
  }

  async #issue(turn: IssuanceAttempt): Promise<IssuanceOutcome> {
    const { acme } = this.#deps
    const order = (await this.#resume(turn)) ?? (await this.#createOrder(turn))
    if (!order) return 'waits'
    const proven = order.status === 'pending' ? await acme.prove(order, this.#challengeSolver(turn)) : order
    if (proven.status === 'invalid')
      throw new AcmeError('failed', proven.problem ?? 'The certificate authority has given up the order')
    const issued = proven.status === 'valid' ? proven : await this.#finalize(turn, proven)
    turn.mayBeIssued = true
    if (issued.status !== 'valid')
      throw new AcmeError('slow', 'The certificate authority has not issued the certificate in time')
    await this.#install(turn, issued)
    return 'issued'
  }

  /** The order that an earlier process left, if the CA still knows it and its key can be decrypted. */
  async #resume(turn: IssuanceAttempt): Promise<Order | undefined> {
    const { acme, seal, log } = this.#deps
    const { name, row } = turn
    if (row.order_url === null) return undefined
    const key = seal.decrypt(row.order_key ?? '', `order ${name}`)
    if (key === undefined) log.warn('cannot decrypt the key of an order; creating a new order', { name })
    const order = key === undefined ? undefined : await acme.resume(row.order_url)
    if (!order || (order.status === 'invalid' && order.problem === undefined)) return undefined
    turn.order = row.order_url
    turn.key = key!
    return order
  }

  /** Creates and stores an order with its key; undefined when the limits allow none. */
  async #createOrder(turn: IssuanceAttempt): Promise<Order | undefined> {
    const { acme, seal, codec = x509Codec } = this.#deps
    const { name, row } = turn
    if (
      !turn.hasReservation &&
      !(await this.#whileLeased(turn, 'soft', (tx) => this.#reserveOrWait(tx, turn)))
    )
      return undefined
    const order = await acme.order(certificateNames(name), isRenewal(row) ? row.certificate_id! : undefined)
    const key = codec.newKey()
    turn.order = order.url
    turn.key = key
    const change = { order_url: order.url, order_key: seal.encrypt(key, `order ${name}`) }
    await this.#whileLeased(turn, 'durable', (tx) => tx.certificates.update(name, change))
    return order
  }

  async #finalize(turn: IssuanceAttempt, order: Order): Promise<Order> {
    const { acme, clock, codec = x509Codec } = this.#deps
    const { name, row } = turn
    if (!isRenewal(row))
      await this.#whileLeased(turn, 'soft', (tx) => countCertificate(tx, name, turn.order!, clock()))
    turn.mayBeIssued = true
    const { csr } = await codec.request(certificateNames(name), turn.key!)
    return acme.finalize(order, csr)
  }

  async #install(turn: IssuanceAttempt, order: Order): Promise<void> {
    const { acme, log } = this.#deps
    const { name } = turn
    const change = await this.#readChain(turn, await acme.download(order))
    const installed = await this.#write('durable', async (tx) => {
      const row = await tx.certificates.summary(name)
      if (row?.order_url !== turn.order) return false
      const due_at = row!.unused_since === null ? change.due_at : null
      const proof_type = turn.presentedType ?? turn.row.proof_type
      await tx.certificates.update(name, { ...change, proof_type, due_at })
      await tx.leases.release(leaseName(name), turn.holder)
      await tx.notifyChanged(name)
      return true
    })
    if (!installed) throw new LeaseLostError()
    const { not_after } = change
    log.info('certificate issued', { name, until: toIso(not_after), renewed: turn.row.not_after !== null })
  }

  async #readChain({ name, key }: IssuanceAttempt, pem: string) {
    const { clock, seal, codec = x509Codec } = this.#deps
    const now = clock()
    const checked = codec.check(pem, { names: certificateNames(name), key: key!, now })
    if (checked.problem !== undefined)
      throw new AcmeError('refused', `The certificate that the CA issued cannot be used: ${checked.problem}`)
    const { chain, notBefore, notAfter } = checked
    const plan = firstPlan({ name, notBefore, notAfter, issuedAt: now }, now)
    return {
      chain,
      key: seal.encrypt(key!, `certificate ${name}`),
      not_before: notBefore,
      not_after: notAfter,
      issued_at: now,
      certificate_id: (await codec.id(chain)) ?? null,
      informed: 0,
      renew_at: plan.renewAt,
      information_at: Math.round(plan.informationAt),
      order_url: null,
      order_key: null,
      failures: 0,
      problem: null,
      due_at: Math.round(nextDueTime(plan)),
    } satisfies Partial<CertificateRow>
  }

  /** Schedules the next attempt according to the error. */
  async #scheduleRetry(
    turn: IssuanceAttempt,
    error: unknown,
    caIsReachable: boolean,
  ): Promise<IssuanceOutcome> {
    if (this.#stopped || error instanceof LeaseLostError) return 'waits'
    const { clock, log } = this.#deps
    const { name } = turn
    const now = clock()
    const setback = await this.#write('soft', async (tx) => {
      const row = await tx.certificates.summary(name)
      if (!row || !(await holdsLease(tx, turn))) return undefined
      const setback = nextRetry(error, { row, now, caIsReachable })
      const due_at = row.unused_since === null ? setback.changes.due_at : null
      const informed = setback.changes.order_url === null && turn.mayBeIssued ? 0 : row.informed
      const proof_type = this.#nextChallengeType(turn, error)
      await tx.certificates.update(name, { ...setback.changes, informed, proof_type, due_at })
      if (setback.countsAsFailure) await countFailure(tx, name, turn.order ?? randomUUID(), now)
      if (setback.pauseUntil !== undefined) await pauseCa(tx, setback.pauseUntil, now)
      await tx.leases.release(leaseName(name), turn.holder)
      return { ...setback, due_at }
    })
    if (!setback) return 'waits'
    const again = setback.due_at === null ? 'never' : toIso(setback.due_at)
    log.warn('certificate request failed', { name, again, error: toLoggable(error) })
    if (setback.pauseUntil !== undefined) return 'paused'
    return error instanceof AcmeError && error.kind === 'away' ? 'away' : 'failed'
  }

  #challengeSolver(turn: IssuanceAttempt) {
    const shown = (type: ChallengeType) => {
      turn.presentedType = type
    }
    return createChallengeSolver(this.#deps, {
      types: this.#challengeTypes(turn.name, turn.row.proof_type),
      shown,
    })
  }

  /** Chooses another challenge type only after a failed validation. */
  #nextChallengeType({ name, row, presentedType }: IssuanceAttempt, error: unknown): ChallengeType | null {
    if (!(error instanceof AcmeError && error.kind === 'failed')) return row.proof_type
    const [tried, next = tried] = this.#challengeTypes(name, presentedType ?? row.proof_type)
    return next!
  }

  #challengeTypes(name: string, first: ChallengeType | null): ChallengeType[] {
    const { own, hook } = this.#deps
    return challengeTypesFor(name, { byDns: own.includes(name) && hook !== undefined, first })
  }

  async #reserveOrWait(tx: WriteTransaction, turn: IssuanceAttempt): Promise<boolean> {
    if (await this.#reserve(tx, turn.row)) return true
    await tx.leases.release(leaseName(turn.name), turn.holder)
    return false
  }

  /** Reserves an order; without room the name waits and its order is dropped. */
  async #reserve(tx: WriteTransaction, row: CertificateRow): Promise<boolean> {
    const now = this.#deps.clock()
    const left = lifeLeft(row.not_before, row.not_after, now)
    const owner = await tx.domains.active(row.name)
    const share = owner && { account_id: owner.account_id, root: (await splitName(row.name)).root }
    const time = await reserve(tx, { name: row.name, isRenewal: isRenewal(row), lifeLeft: left, share }, now)
    if (time !== undefined)
      await tx.certificates.update(row.name, { due_at: time, order_url: null, order_key: null })
    return time === undefined
  }

  #whileLeased<T>(
    turn: IssuanceAttempt,
    durability: Durability,
    work: (tx: WriteTransaction) => Promise<T>,
  ): Promise<T> {
    return this.#write(durability, async (tx) => {
      if (!(await holdsLease(tx, turn))) throw new LeaseLostError()
      return work(tx)
    })
  }

  async #write<T>(durability: Durability, work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    if (this.#stopped) throw new LeaseLostError()
    return this.#deps.store.write(durability, work)
  }
}

/** Whether a due name needs a new order or can continue the pending one. */
export function needsOrder(row: CertificateSummary, now: number): boolean {
  if (row.due_at === null || row.due_at > now) return false
  return row.order_url !== null || row.renew_at === null || row.renew_at <= now
}

/** The CA supports ARI for the certificate, so the order can name what it replaces. */
function isRenewal(row: CertificateRow): boolean {
  return row.informed === 1 && row.certificate_id !== null
}

function holdsLease(tx: WriteTransaction, { name, holder, fence }: IssuanceAttempt): Promise<boolean> {
  return tx.leases.isHeld(leaseName(name), holder, fence)
}

function toLoggable(error: unknown): unknown {
  return error instanceof AcmeError ? error.message : error
}
