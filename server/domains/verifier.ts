import { Component } from '../lib/component.ts'
import { forEachConcurrent } from '../lib/concurrency.ts'
import { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts'
import { DAY_MS, isWithin, MINUTE_MS } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { Durability, WriteTransaction } from '../store/store.ts'
import type { Domain } from '../store/tables/domains.ts'
import { findCaaProblem } from './caa.ts'
import type { Dns } from './dns/dns.ts'
import { type CheckResult, checkRecords, hasProof, lookUpTexts } from './dns-check.ts'
import { MIN_CHECK_INTERVAL_MS, restartedAt } from './schedule.ts'
import { activate, type DomainCertificates, deactivate } from './status.ts'
import { nextState } from './transition.ts'

export interface DomainVerifierOptions extends Pick<Parts, 'store' | 'clock' | 'log'> {
  dns: Dns
  proxyHost: string
  certificates?: DomainCertificates | undefined
  random?: () => number
  /** A monotonic clock in milliseconds that measures the duration of checks. */
  stopwatch?: () => number
}

const QUICK = { max: 200, limit: 20 }

/** After a crash another node checks the names; longer than any check of a piece takes. */
const CLAIM_MS = MINUTE_MS

/** Names that take longer have a run and a few slots of their own, so that they do not delay the others. */
const SLOW_CHECK_MS = 2000
const SLOW = { max: 10, limit: 10 }

/** Checks in progress on request, over all accounts and of one. */
const MAX_REQUESTED_CHECKS = { total: 32, perKey: 8 }

const RETRY_AFTER_FAILURE_MS = MINUTE_MS

/** All active names are checked within it, unless the last one was removed. */
const MAX_FAILURE_AGE_MS = DAY_MS

interface StatusChange {
  becomes: Domain['status']
  reason: Domain['reason'] | undefined
  takenFrom: string | undefined
}

export class DomainVerifier extends Component<DomainVerifierOptions> {
  readonly #inFlight = new Map<string, Promise<Domain | undefined>>()
  readonly #shares = new ConcurrencyLimiter(MAX_REQUESTED_CHECKS)
  #stopped = false
  #failure: { problem: string; at: number } | undefined

  /** The row as checked, or as it is when it was checked a moment ago or too many are running. Undefined if deleted. */
  async verifyNow(row: Domain): Promise<Domain | undefined> {
    const { clock, store } = this.parts
    if (row.checkedAt !== null && isWithin(MIN_CHECK_INTERVAL_MS, row.checkedAt, clock())) return row
    const name = `${row.accountId} ${row.domain}`
    const inFlight = this.#inFlight.get(name)
    if (inFlight) return inFlight
    if (!this.#shares.canRun(row.accountId)) return row
    const hasExpired = row.status === 'pending' && row.nextCheckAt === null
    const check = this.#shares.run(row.accountId, async () => {
      await this.#verify(hasExpired ? { ...row, pendingSince: restartedAt(clock()) } : row)
      return store.read.domains.find(row.accountId, row.domain)
    })
    this.#inFlight.set(name, check)
    return check.finally(() => this.#inFlight.delete(name))
  }

  /** Whether DNS confirms to another account that the TXT record is absent. UNAVAILABLE beyond the limit. */
  async hasLostProof({ domain, verificationToken }: Domain, accountId: string): Promise<boolean> {
    const texts = await this.#shares.run(accountId, () => lookUpTexts(this.parts.dns, domain))
    return texts !== undefined && !hasProof(texts, verificationToken)
  }

  stop(): void {
    this.#stopped = true
  }

  /** Why lookups of this server fail, not only those of a domain, until a check finds out where a domain points. */
  lookupFailure(): { proxyHost: string; problem: string } | undefined {
    const { clock, proxyHost } = this.parts
    const failure = this.#failure
    if (!failure || !isWithin(MAX_FAILURE_AGE_MS, failure.at, clock())) return undefined
    return { proxyHost, problem: failure.problem }
  }

  /** Claims and checks up to `max` due names, `limit` at a time, so that nodes share them. Returns how many changed. */
  async verifyDue({ slow }: { slow: boolean }): Promise<number> {
    const { max, limit } = slow ? SLOW : QUICK
    const { store, clock } = this.parts
    let changed = 0
    for (let checked = 0; checked < max && !this.#stopped; checked += limit) {
      const now = clock()
      const piece = await store.execute('relaxed', ({ domains }) =>
        domains.claimDue(now, { limit, slow, until: now + CLAIM_MS }),
      )
      await forEachConcurrent(limit, piece, async (row) => {
        try {
          if (await this.#verify(row)) changed++
        } catch (error) {
          await this.#postpone(row, error)
        }
      })
      if (piece.length < limit) break
    }
    return changed
  }

  /** Returns whether the name became active or pending: only that must be flushed to the disk. */
  async #verify(row: Domain): Promise<boolean> {
    const { dns, proxyHost, clock, store, log, stopwatch = () => performance.now() } = this.parts
    const [began, start] = [clock(), stopwatch()]
    const result = await checkRecords(dns, row, proxyHost)
    const slow = stopwatch() - start >= SLOW_CHECK_MS
    result.caaProblem = await this.#findCaaProblem(row, result)
    const { pointing } = result
    if (pointing.is !== 'unclear') this.#failure = undefined
    else if (pointing.isOurFault) this.#failure = { problem: pointing.message, at: began }
    const conclude = (durability: Durability) =>
      store.write(durability, { host: row.domain, account: row.accountId, site: row.slug }, async (tx) => {
        const found = await tx.domains.find(row.accountId, row.domain)
        if (!found || !isUnchanged(found, row)) return false
        const checked = { ...found, pendingSince: row.pendingSince }
        return this.#applyResult(tx, checked, { result, began, slow, durability })
      })
    const change = (await conclude('relaxed')) ?? (await conclude('durable'))
    if (!change) return false
    const { domain, accountId: account, slug } = row
    log.info('domain status changed', { domain, slug, account, ...change })
    return true
  }

  /** For a name that can become active, and for active names, whose certificates are renewed. */
  async #findCaaProblem(
    { domain, status }: Domain,
    { pointing, text }: CheckResult,
  ): Promise<string | undefined> {
    const { dns, certificates } = this.parts
    const isProven = pointing.is === 'there' && (status === 'active' || text.is === 'there')
    const policy = isProven ? await certificates?.caaPolicy(domain) : undefined
    return policy && findCaaProblem(dns, domain, policy)
  }

  /** False when the status does not change, undefined when the result must be applied durably. */
  async #applyResult(
    tx: WriteTransaction,
    row: Domain,
    check: { result: CheckResult; began: number; slow: boolean; durability: Durability },
  ): Promise<StatusChange | false | undefined> {
    const { result, began, slow, durability } = check
    const { clock, certificates, random = Math.random } = this.parts
    const now = clock()
    const { domain, accountId: account } = row
    const currentOwner = ofAnother(account, await tx.domains.active(domain))
    const reservation = ofAnother(account, await tx.domains.reservation(domain, now))
    const circumstances = { began, now, slow, currentOwner, reservation, random }
    const { nextStatus, changes } = nextState(row, result, circumstances)
    if (nextStatus === row.status) {
      await tx.domains.update(row, { pendingSince: row.pendingSince, ...changes })
      if (result.pointing.is === 'there') await noticeRecovery(tx, row, now)
      return false
    }
    if (durability === 'relaxed') return undefined
    if (nextStatus === 'active') await activate(tx, row, changes, { now, rival: currentOwner, certificates })
    else await deactivate(tx, row, changes, certificates)
    return {
      becomes: nextStatus,
      reason: changes.reason,
      takenFrom: nextStatus === 'active' ? currentOwner?.accountId : undefined,
    }
  }

  /** A check that fails every time must not delay other names. */
  async #postpone(row: Domain, error: unknown): Promise<void> {
    const { log, store, clock } = this.parts
    const { domain, accountId: account } = row
    log.error('DNS check of a domain failed; will retry', { domain, account, error })
    try {
      const nextCheckAt = clock() + RETRY_AFTER_FAILURE_MS
      await store.write('relaxed', { host: row.domain }, async (tx) => {
        const found = await tx.domains.find(account, domain)
        if (found && isUnchanged(found, row)) await tx.domains.update(row, { nextCheckAt })
      })
    } catch (error) {
      log.error('rescheduling a domain check failed', { domain, account, error })
    }
  }
}

/** A result does not apply to a row that changed its status, was added again or was deleted during the check. */
function isUnchanged(one: Domain, other: Domain): boolean {
  const identity = ({ status, slug, verificationToken, createdAt }: Domain) =>
    JSON.stringify([status, slug, verificationToken, createdAt])
  return identity(one) === identity(other)
}

function ofAnother<Row extends { accountId: string }>(
  account: string,
  row: Row | undefined,
): Row | undefined {
  return row?.accountId === account ? undefined : row
}

/** Sends an email only if one has reported that the domain does not work. */
async function noticeRecovery(
  tx: WriteTransaction,
  { accountId, domain, slug, failingSince, status }: Domain,
  now: number,
): Promise<void> {
  if (status !== 'active' || failingSince === null) return
  const id = `domain-works ${accountId} ${domain} ${failingSince}`
  const event = { kind: 'domain-works', domain, slug, failingSince } as const
  await tx.notices.add({ id, accountId, event, createdAt: now })
}
