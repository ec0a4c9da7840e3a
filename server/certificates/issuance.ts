import { randomUUID } from 'node:crypto'
import { AcmeError, type ChallengeType, type Order } from '../../packages/acme-client/acme.ts'
import { findCaaProblem } from '../domains/caa.ts'
import { splitName } from '../domains/name.ts'
import { Component } from '../lib/component.ts'
import { HOUR_MS, toIso } from '../lib/time.ts'
import { type Durability, INDEPENDENT, type WriteTransaction } from '../store/store.ts'
import type { Certificate, CertificateSummary } from '../store/tables/certificates.ts'
import {
  BUDGET_SCOPE,
  certificateNames,
  countFailure,
  pauseCa,
  reserve,
  type Share,
  uncount,
} from './ca-rate-limits.ts'
import { ChallengeError, challengeTypesFor, createChallengeSolver } from './challenge-solver.ts'
import { type IssuingDeps, LEASE_DURATION_MS, leaseName, x509Codec } from './deps.ts'
import { firstPlan, isStalled, lifeLeft, NO_ORDER, nextDueTime, nextRetry } from './schedule.ts'
import { certificateKeyContext, orderKeyContext } from './stored-keys.ts'

type IssuanceOutcome = 'installed' | 'waiting' | 'failed' | 'unreachable' | 'paused'

type IssuanceState = 'due' | 'ordered' | 'challenged' | 'finalizing' | 'issued'

interface IssuanceAttempt {
  name: string
  certificate: Certificate
  holder: string
  fence: number
  outages: number
  /** The CA may have issued a certificate for the order; the replaced one then cannot be replaced again. */
  mayBeIssued: boolean
  order?: Order
  key?: string
  presentedType?: ChallengeType
}

/** RFC 8555, 7.1.6. */
const STATE_BY_STATUS: Record<Exclude<Order['status'], 'invalid'>, IssuanceState> = {
  pending: 'ordered',
  ready: 'challenged',
  processing: 'finalizing',
  valid: 'issued',
}

const MAX_SILENT_WAIT_MS = 3 * HOUR_MS
const WAITS = 'The order waits until'

/** Ends the processing of a name: the process stops, or lost its lease. */
class LeaseLostError extends Error {}

/**
 * Takes a due name to an installed certificate. The store and the order at the CA hold everything that another
 * process needs to continue after a crash.
 *
 * | state        | order at the CA | step                                                          | next state   |
 * |--------------|-----------------|---------------------------------------------------------------|--------------|
 * | `due`        | none, or stored | find the stored order, or place one that CAA records permit,  | by the order |
 * |              |                 | within the limits, and store it with its key; `waiting` when  |              |
 * |              |                 | the limits are reached                                        |              |
 * | `ordered`    | pending         | present a challenge for each name until the CA validated it   | by the order |
 * | `challenged` | ready           | count the certificate within the limits and request it        | `issued`     |
 * | `finalizing` | processing      | wait until the CA has issued the certificate                  | `issued`     |
 * | `issued`     | valid           | download and check it; replace the previous one durably       | `installed`  |
 * | each         | each            | an error: plan a retry by its kind (`nextRetry`)              | `due`, later |
 */
export class Issuance extends Component<IssuingDeps> {
  readonly #codec = this.parts.codec ?? x509Codec
  readonly #attempts = new Set<IssuanceAttempt>()
  readonly #steps: Record<
    IssuanceState,
    (attempt: IssuanceAttempt) => Promise<IssuanceState | 'installed' | 'waiting'>
  > = {
    due: (attempt) => this.#findOrPlaceOrder(attempt),
    ordered: (attempt) => this.#solveChallenges(attempt),
    challenged: (attempt) => this.#requestCertificate(attempt),
    finalizing: (attempt) => this.#finalize(attempt),
    issued: (attempt) => this.#install(attempt),
  }
  #stopped = false

  /** Unless another node holds the lease. `outages`: consecutive failures to reach the CA. Throws store errors. */
  async process(name: string, outages: number): Promise<IssuanceOutcome> {
    const attempt = await this.#acquire(name, outages)
    if (!attempt) return 'waiting'
    this.#attempts.add(attempt)
    try {
      let state: IssuanceState | 'installed' | 'waiting' = 'due'
      while (state !== 'installed' && state !== 'waiting') state = await this.#steps[state](attempt)
      return state
    } catch (error) {
      return await this.#scheduleRetry(attempt, error)
    } finally {
      this.#attempts.delete(attempt)
    }
  }

  /** Stops writing and abandons names in progress: other processes continue with them. */
  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#attempts.size === 0) return
    await this.parts.store.write('relaxed', INDEPENDENT, async (tx) => {
      for (const { name, holder } of this.#attempts) await tx.leases.release(leaseName(name), holder)
    })
  }

  #acquire(name: string, outages: number): Promise<IssuanceAttempt | undefined> {
    const holder = randomUUID()
    return this.#write('relaxed', name, async (tx) => {
      const now = this.parts.clock()
      const certificate = await tx.certificates.find(name)
      if (!certificate || !needsOrder(certificate, now)) return undefined
      const fence = await tx.leases.acquire(leaseName(name), holder, now, now + LEASE_DURATION_MS)
      const mayBeIssued = certificate.orderUrl !== null
      return fence === undefined ? undefined : { name, certificate, holder, fence, outages, mayBeIssued }
    })
  }

  async #findOrPlaceOrder(attempt: IssuanceAttempt): Promise<IssuanceState | 'waiting'> {
    if (await this.#findOrder(attempt)) return toState(attempt.order!)
    await this.#assertPermitted(attempt.name)
    const isReserved = await this.#whileLeased(attempt, 'relaxed', (tx) => this.#reserve(tx, attempt))
    if (!isReserved) return 'waiting'
    await this.#placeOrder(attempt)
    return toState(attempt.order!)
  }

  /** Finds a stored order to continue with. Its state at the CA shows whether a certificate that was counted is issued. */
  async #findOrder(attempt: IssuanceAttempt): Promise<boolean> {
    const { acme, secretBox, log } = this.parts
    const { name, certificate } = attempt
    if (certificate.orderUrl === null) return false
    const key = secretBox.decrypt(certificate.orderKey ?? '', orderKeyContext(name))
    if (key === undefined) {
      log.warn('cannot decrypt the key of an order; creating a new order', { name })
      return false
    }
    const order = await acme.getOrder(certificate.orderUrl)
    if (!order) return false
    attempt.mayBeIssued = order.status === 'processing' || order.status === 'valid'
    if (!attempt.mayBeIssued) {
      const wasCounted = await this.#whileLeased(attempt, 'relaxed', (tx) => uncount(tx, order.url))
      if (order.status === 'invalid' && (wasCounted || order.problem === undefined)) return false
      if (order.status !== 'invalid' && isStalled(attempt.outages || certificate.failures)) return false
    }
    Object.assign(attempt, { order, key })
    return true
  }

  /** The CA would refuse the order and count it. The operator knows the records of the service's own names. */
  async #assertPermitted(name: string): Promise<void> {
    const { acme, dns, own } = this.parts
    if (own.includes(name)) return
    const validationMethods = this.#challengeTypes(name, null)
    const problem = await findCaaProblem(dns, name, { ...(await acme.caaIdentity()), validationMethods })
    if (problem) throw new AcmeError('rejected', `${problem}.`, { type: 'caa' })
  }

  async #placeOrder(attempt: IssuanceAttempt): Promise<void> {
    const { acme, secretBox } = this.parts
    const { name, certificate } = attempt
    const replaces = isRenewal(certificate) ? certificate.certificateId! : undefined
    const order = await acme.newOrder(certificateNames(name), replaces)
    const key = this.#codec.newKey()
    Object.assign(attempt, { order, key, mayBeIssued: false })
    const change = { orderUrl: order.url, orderKey: secretBox.encrypt(key, orderKeyContext(name)) }
    await this.#whileLeased(attempt, 'durable', (tx) => tx.certificates.update(name, change))
  }

  async #solveChallenges(attempt: IssuanceAttempt): Promise<IssuanceState> {
    const solver = createChallengeSolver(this.parts, {
      types: this.#challengeTypes(attempt.name, attempt.certificate.challengeType),
      onPresent: (type) => {
        attempt.presentedType = type
      },
    })
    attempt.order = await this.parts.acme.authorize(attempt.order!, solver)
    return toState(attempt.order)
  }

  /** Orders that were placed concurrently may have used up the limits of certificates: then this one waits. */
  async #requestCertificate(attempt: IssuanceAttempt): Promise<IssuanceState | 'waiting'> {
    const isReserved =
      isRenewal(attempt.certificate) ||
      (await this.#whileLeased(attempt, 'durable', (tx) => this.#reserve(tx, attempt)))
    return isReserved ? this.#finalize(attempt) : 'waiting'
  }

  async #finalize(attempt: IssuanceAttempt): Promise<IssuanceState> {
    attempt.mayBeIssued = true
    const request = await this.#codec.request(certificateNames(attempt.name), attempt.key!)
    attempt.order = await this.parts.acme.finalize(attempt.order!, request)
    return 'issued'
  }

  async #install(attempt: IssuanceAttempt): Promise<'installed'> {
    const { acme, log } = this.parts
    const { name, order } = attempt
    attempt.mayBeIssued = true
    const change = await this.#readChain(attempt, await acme.download(order!))
    const installed = await this.#write('durable', name, async (tx) => {
      const certificate = await tx.certificates.findSummary(name)
      if (certificate?.orderUrl !== order!.url) return false
      const dueAt = certificate.unusedSince === null ? change.dueAt : null
      const challengeType = attempt.presentedType ?? attempt.certificate.challengeType
      await tx.certificates.update(name, { ...change, challengeType, dueAt })
      await tx.leases.release(leaseName(name), attempt.holder)
      // The one before is valid for longer, and used while the store is unreachable.
      await tx.notifyChanged(name, 'outdated')
      return true
    })
    if (!installed) throw new LeaseLostError()
    const renewed = attempt.certificate.notAfter !== null
    log.info('certificate issued', { name, until: toIso(change.notAfter), renewed })
    return 'installed'
  }

  async #readChain({ name, key }: IssuanceAttempt, pem: string) {
    const { clock, secretBox } = this.parts
    const now = clock()
    const checked = this.#codec.check(pem, { names: certificateNames(name), key: key!, now })
    if (checked.problem !== undefined) {
      const sentence = `The issued certificate is not usable: ${checked.problem}`
      throw new AcmeError('rejected', sentence)
    }
    const { chain, notBefore, notAfter } = checked
    const plan = firstPlan({ name, notBefore, notAfter, issuedAt: now }, now)
    return {
      chain,
      key: secretBox.encrypt(key!, certificateKeyContext(name)),
      notBefore,
      notAfter,
      issuedAt: now,
      certificateId: (await this.#codec.id(chain)) ?? null,
      hasRenewalInfo: false,
      renewAt: plan.renewAt,
      informationAt: plan.informationAt,
      orderUrl: null,
      orderKey: null,
      failures: 0,
      problem: null,
      dueAt: nextDueTime(plan),
    } satisfies Partial<Certificate>
  }

  async #scheduleRetry(attempt: IssuanceAttempt, error: unknown): Promise<IssuanceOutcome> {
    if (this.#stopped || error instanceof LeaseLostError) return 'waiting'
    const { clock, log, directory } = this.parts
    const { name, outages, order, mayBeIssued } = attempt
    const now = clock()
    // Only its next state shows whether the certificate was issued.
    const keepsOrder = mayBeIssued && order?.status === 'ready'
    const retry = await this.#write('relaxed', name, async (tx) => {
      const certificate = await tx.certificates.findSummary(name)
      if (!certificate || !(await holdsLease(tx, attempt))) return undefined
      const hasOwner = (await tx.domains.active(name)) !== undefined
      const plan = nextRetry(error, { certificate, now, outages, hasOwner })
      const dueAt = certificate.unusedSince === null ? plan.changes.dueAt : null
      const { orderUrl, orderKey, ...changes } = plan.changes
      const isDropped = orderUrl === null && !keepsOrder
      const hasRenewalInfo = certificate.hasRenewalInfo && !(isDropped && mayBeIssued)
      const challengeType = this.#nextChallengeType(attempt, error)
      const stored = { ...changes, ...(isDropped && NO_ORDER), hasRenewalInfo, challengeType, dueAt }
      await tx.certificates.update(name, stored)
      if (plan.countsAsFailure)
        await countFailure({ tx, directory }, { name, order: order?.url ?? randomUUID() }, now)
      if (plan.pause) await pauseCa({ tx, directory }, plan.pause, now)
      await tx.leases.release(leaseName(name), attempt.holder)
      return { ...plan, dueAt }
    })
    if (!retry) return 'waiting'
    const again = retry.dueAt === null ? 'never' : toIso(retry.dueAt)
    const isAcmeError = error instanceof AcmeError
    log.warn('certificate request failed', { name, again, error: isAcmeError ? error.message : error })
    if (isAcmeError && error.kind === 'unreachable') return 'unreachable'
    return retry.pause?.names.length === 0 ? 'paused' : 'failed'
  }

  /** Chooses another challenge type only after a failed validation, or when the DNS hook failed. */
  #nextChallengeType(
    { name, certificate, presentedType }: IssuanceAttempt,
    error: unknown,
  ): ChallengeType | null {
    const hasFailed = error instanceof AcmeError && error.kind === 'challenge-failed'
    if (!hasFailed && !(error instanceof ChallengeError)) return certificate.challengeType
    const [tried, next = tried] = this.#challengeTypes(name, presentedType ?? certificate.challengeType)
    return next!
  }

  #challengeTypes(name: string, first: ChallengeType | null): ChallengeType[] {
    const { own, hook } = this.parts
    return challengeTypesFor(name, { byDns: own.includes(name) && hook !== undefined, first })
  }

  /** When the limits are reached the name waits, and an unknown order is dropped. One released since it was due gets none. */
  async #reserve(
    tx: WriteTransaction,
    { name, certificate, holder, order }: IssuanceAttempt,
  ): Promise<boolean> {
    const { clock, directory, log } = this.parts
    const now = clock()
    const share = await this.#findShare(tx, name)
    const left = lifeLeft(certificate.notBefore, certificate.notAfter, now)
    const request = { name, order: order?.url, isRenewal: isRenewal(certificate), lifeLeft: left, share }
    const isRequested = (await tx.certificates.findSummary(name))?.unusedSince === null
    const dueAt = isRequested ? await reserve({ tx, directory }, request, now) : null
    if (dueAt === undefined) return true
    const until = toIso(dueAt ?? now)
    log.info('certificate order waits: rate limit', { name, until })
    // The last error alone says more than a short wait. That more sites exist than certificates is no failure.
    const isLong = dueAt !== null && dueAt - now > MAX_SILENT_WAIT_MS && !share?.ofSites
    const problem = isLong ? describeWait(certificate.problem, until) : certificate.problem
    await tx.certificates.update(name, { dueAt, ...(order ? {} : NO_ORDER), problem })
    await tx.leases.release(leaseName(name), holder)
    return false
  }

  async #findShare(tx: WriteTransaction, name: string): Promise<Share | undefined> {
    const { own, sites } = this.parts
    if (own.includes(name)) return undefined
    if (sites && name.endsWith(`.${sites.domain}`)) {
      const site = await tx.sites.find(name.slice(0, -sites.domain.length - 1))
      return { accountId: site?.ownerId ?? '', root: sites.domain, ofSites: sites.perWeek }
    }
    const owner = await tx.domains.active(name)
    return owner && { accountId: owner.accountId, root: (await splitName(name)).root }
  }

  #whileLeased<T>(
    attempt: IssuanceAttempt,
    durability: Durability,
    work: (tx: WriteTransaction) => Promise<T>,
  ): Promise<T> {
    return this.#write(durability, attempt.name, async (tx) => {
      if (!(await holdsLease(tx, attempt))) throw new LeaseLostError()
      return work(tx)
    })
  }

  /** Orders are rare, so that all of these writes may wait for each other at the budget. */
  async #write<T>(
    durability: Durability,
    name: string,
    work: (tx: WriteTransaction) => Promise<T>,
  ): Promise<T> {
    if (this.#stopped) throw new LeaseLostError()
    return this.parts.store.write(durability, { host: name, ...BUDGET_SCOPE }, work)
  }
}

export function needsOrder(certificate: CertificateSummary, now: number): boolean {
  if (certificate.dueAt === null || certificate.dueAt > now) return false
  return certificate.orderUrl !== null || certificate.renewAt === null || certificate.renewAt <= now
}

function toState({ status, problem }: Order): IssuanceState {
  if (status !== 'invalid') return STATE_BY_STATUS[status]
  throw new AcmeError('challenge-failed', problem ?? 'The certificate authority invalidated the order')
}

function describeWait(problem: string | null, until: string): string {
  const reason = (problem ?? '').split(WAITS, 1)[0]!.trim().replace(/[^.]$/, '$&.')
  return `${reason} ${WAITS} ${until} for the rate limits of the certificate authority.`.trim()
}

/** The CA supports ARI for the certificate, so the order can name what it replaces. */
function isRenewal(certificate: Certificate): boolean {
  return certificate.hasRenewalInfo && certificate.certificateId !== null
}

function holdsLease(tx: WriteTransaction, { name, holder, fence }: IssuanceAttempt): Promise<boolean> {
  return tx.leases.isHeld(leaseName(name), holder, fence)
}
