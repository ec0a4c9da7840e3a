import { AcmeError } from '../../packages/acme-client/acme.ts'
import type { DomainCertificate } from '../../protocol/api/domains.schema.ts'
import type { CaaPolicy } from '../domains/caa.ts'
import { Component } from '../lib/component.ts'
import { forEachConcurrent } from '../lib/concurrency.ts'
import { HOUR_MS, isWithin, MINUTE_MS, SECOND_MS, toIsoOrNull } from '../lib/time.ts'
import type { Queries } from '../store/queries.ts'
import type { Store, WriteTransaction } from '../store/store.ts'
import type { CertificateSummary } from '../store/tables/certificates.ts'
import { refreshRenewalInfo } from './ari.ts'
import { certificateNames, findPause } from './ca-rate-limits.ts'
import { challengeTypesFor } from './challenge-solver.ts'
import type { IssuingDeps } from './deps.ts'
import { Issuance, needsOrder } from './issuance.ts'
import {
  maintain,
  releaseCertificate,
  repairNames,
  requestCertificate,
  requestSiteCertificates,
} from './maintenance.ts'

const NAMES_PER_BATCH = 100
const MAX_CONCURRENT_NAMES = 10

/** A run starts no further names after this time: more urgent names may have become due. */
const BATCH_WINDOW_MS = 30 * SECOND_MS

const MAINTENANCE_INTERVAL_MS = 60 * MINUTE_MS

/** A change may be visible this much later than its time says. */
const MAX_WRITE_MS = MINUTE_MS

/** While the CA is unreachable. */
const MIN_BACKOFF_MS = 10 * SECOND_MS
const MAX_BACKOFF_MS = 5 * MINUTE_MS

/** Each pause is followed by an attempt, unless no certificate is due any more. */
const MAX_OUTAGE_AGE_MS = HOUR_MS

/** The store has all of the state: any node continues. A certificate is served until it expires or is replaced. */
export class CertificateManager extends Component<IssuingDeps> implements AsyncDisposable {
  readonly #issuance = new Issuance(this.parts)
  readonly #stopping = Promise.withResolvers<void>()
  #stopped = false
  #maintainedAt = Number.NEGATIVE_INFINITY
  /** All sites that changed last before this time had certificates. */
  #coveredUntil = 0
  #breaker = { failures: 0, openedAt: Number.NEGATIVE_INFINITY, pauseMs: 0 }

  /** In the transaction that activates the name: requests a certificate unless a valid one exists. */
  request(tx: WriteTransaction, name: string): Promise<void> {
    return requestCertificate(tx, name, this.parts.clock())
  }

  /** Called in the transaction that removes a name: stops requests and renewals. */
  release(tx: WriteTransaction, name: string): Promise<void> {
    return releaseCertificate(tx, name, this.parts.clock())
  }

  /** When retries have ended, or sooner than planned unless an order was placed within an hour. The CA's limits still apply. */
  async retry(name: string): Promise<void> {
    const { store, clock } = this.parts
    if (!(await this.#findRetriable(store.read, name))) return
    await store.write('relaxed', { host: name }, async (tx) => {
      const found = await this.#findRetriable(tx, name)
      // One that is only brought forward does not end the retries sooner.
      const failures = (found?.failures ?? 0) - (found?.dueAt === null ? 0 : 1)
      if (found) await tx.certificates.update(name, { dueAt: clock(), failures })
    })
  }

  async caaPolicy(name: string): Promise<CaaPolicy | undefined> {
    const { acme, clock, log } = this.parts
    if (this.#isPaused(clock())) return undefined
    try {
      const validationMethods = challengeTypesFor(name, { byDns: false, first: null })
      return { ...(await acme.caaIdentity()), validationMethods }
    } catch (error) {
      // Further checks of names must not wait for it, too.
      if (error instanceof AcmeError && error.kind === 'unreachable') this.#openBreaker()
      log.warn('cannot read the CAA identities of the certificate authority', { error })
      return undefined
    }
  }

  /** States of the requested certificates by name; the others are absent. */
  async statuses(names: readonly string[]): Promise<Map<string, DomainCertificate>> {
    const { store, clock } = this.parts
    const certificates = await store.read.certificates.summaries(names)
    const requested = certificates.filter((certificate) => certificate.unusedSince === null)
    return new Map(requested.map((certificate) => [certificate.name, toStatus(certificate, clock())]))
  }

  /** Returns the number issued. Every few seconds, on any number of nodes: one indexed query when nothing is due. */
  async runDue(): Promise<number> {
    if (this.#stopped) return 0
    const batch = this.#runBatch()
    return (await Promise.race([batch, this.#stopping.promise])) ?? 0
  }

  /** While the CA does not answer this node: its directory, and how many attempts in a row have failed, from the second one. */
  outage(): { directory: string; attempts: number } | undefined {
    const { failures: attempts, openedAt } = this.#breaker
    const { clock, directory } = this.parts
    if (attempts < 2 || !isWithin(MAX_OUTAGE_AGE_MS, openedAt, clock())) return undefined
    return { directory, attempts }
  }

  repairNames(store: Store): Promise<number> {
    return repairNames(this.parts, store)
  }

  /** Stops immediately: another process resumes pending orders. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#stopping.resolve()
    await this.#issuance.stop()
  }

  async #findRetriable(queries: Queries, name: string): Promise<CertificateSummary | undefined> {
    const { clock, directory } = this.parts
    const found = await queries.certificates.findSummary(name)
    if (found?.unusedSince !== null) return undefined
    if (found.dueAt === null) return found
    if (found.failures === 0 || found.orderUrl !== null || found.dueAt <= clock()) return undefined
    const orders = { kind: 'order', directory, names: certificateNames(name) } as const
    const last = await queries.acme.nthLatestRequest(orders, 1, clock() - HOUR_MS)
    return last === undefined ? found : undefined
  }

  async #runBatch(): Promise<number> {
    const { store, clock, directory } = this.parts
    await this.#maintain()
    const now = clock()
    if (this.#isPaused(now)) return 0
    const requesting = requestSiteCertificates(this.parts, this.#coveredUntil - MAX_WRITE_MS)
    const report = (error: unknown) =>
      this.parts.log.error('requesting certificates of sites failed', { error })
    if (await requesting.catch(report)) this.#coveredUntil = now
    let due = await store.read.certificates.due(now, NAMES_PER_BATCH, { withOrders: true })
    if (due.length === 0) return 0
    if ((await findPause(store.read, { directory, names: [] }, now)) !== undefined)
      due = await store.read.certificates.due(now, NAMES_PER_BATCH, { withOrders: false })
    const { order = [], renewalInfo = [] } = Object.groupBy(due, (certificate) =>
      needsOrder(certificate, now) ? 'order' : 'renewalInfo',
    )
    const [issued] = await Promise.all([this.#processAll(order), refreshRenewalInfo(this.parts, renewalInfo)])
    return issued
  }

  async #maintain(): Promise<void> {
    const now = this.parts.clock()
    if (isWithin(MAINTENANCE_INTERVAL_MS, this.#maintainedAt, now)) return
    await maintain(this.parts, this.#maintainedAt === Number.NEGATIVE_INFINITY)
    this.#maintainedAt = now
    this.#coveredUntil = 0
  }

  /** After an outage one name, each time another: the CA may fail for one only. Stops when the CA fails or limits. */
  async #processAll(certificates: readonly CertificateSummary[]): Promise<number> {
    const { clock } = this.parts
    const began = clock()
    let issued = 0
    let continues = true
    const processNext = async ({ name }: CertificateSummary) => {
      if (!continues || this.#stopped || clock() - began > BATCH_WINDOW_MS) return
      const outcome = await this.#process(name)
      if (outcome === 'installed') issued++
      if (outcome === 'unreachable' || outcome === 'paused') continues = false
    }
    const { failures } = this.#breaker
    const probe = failures > 0 ? certificates[failures % certificates.length] : undefined
    if (probe) await processNext(probe)
    const others = certificates.filter((certificate) => certificate !== probe)
    await forEachConcurrent(MAX_CONCURRENT_NAMES, others, processNext)
    return issued
  }

  async #process(name: string) {
    try {
      const outcome = await this.#issuance.process(name, this.#breaker.failures)
      if (outcome === 'unreachable') this.#openBreaker()
      else if (outcome !== 'waiting') this.#breaker.failures = 0
      return outcome
    } catch (error) {
      if (!this.#stopped) this.parts.log.error('processing a certificate failed', { name, error })
      return 'failed'
    }
  }

  #openBreaker(): void {
    const openedAt = this.parts.clock()
    if (this.#isPaused(openedAt)) return
    const { failures } = this.#breaker
    const pauseMs = Math.min(MIN_BACKOFF_MS * 2 ** failures, MAX_BACKOFF_MS)
    this.#breaker = { failures: failures + 1, openedAt, pauseMs }
  }

  #isPaused(now: number): boolean {
    const { openedAt, pauseMs } = this.#breaker
    return isWithin(pauseMs, openedAt, now)
  }
}

function toStatus(certificate: CertificateSummary, now: number): DomainCertificate {
  const active = certificate.notAfter !== null && certificate.notAfter > now
  return {
    status: active ? 'active' : 'pending',
    issuedAt: toIsoOrNull(certificate.issuedAt),
    expiresAt: toIsoOrNull(certificate.notAfter),
    renewsAt: toIsoOrNull(active && certificate.problem === null ? certificate.renewAt : certificate.dueAt),
    problem: certificate.problem,
  }
}
