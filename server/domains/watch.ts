import { rateLimitSubnet } from '../../packages/http-server/clients/client-ip.ts'
import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { HOUR_MS, isWithin, MINUTE_MS } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { Account } from '../store/tables/accounts.ts'
import type { Domain } from '../store/tables/domains.ts'
import { nextWatchedCheck } from './schedule.ts'

export interface WatchedBy {
  account: Account
  credentialHash: string
  address: string
}

export interface WatchListener {
  /** Immediately, then after every change. */
  record(record: DomainRecord): void
  heartbeat(): void
  /** The domain no longer belongs to the account; `end` follows. */
  removed(): void
  end(): void
}

export interface DomainWatchersOptions extends Pick<Parts, 'store' | 'clock' | 'log'> {
  /** The records of `rows`; `all` are the rows of their accounts. */
  records(rows: readonly Domain[], all: readonly Domain[]): Promise<DomainRecord[]>
  /** Checks a name in DNS now, within the bounds of any check. */
  verify(row: Domain): Promise<unknown>
  /** Milliseconds between two polls of the store, for all watchers. */
  pollIntervalMs?: number
}

interface DomainWatcher {
  account: Account
  network: string
  credentialHash: string
  domain: string
  since: number
  lastSent: string
  lastSentAt: number
  listener: WatchListener
}

const MAX_WATCHERS = 200
const MAX_WATCHERS_PER_ACCOUNT = 5

/** So that many accounts of one client cannot exclude others. */
const MAX_OF_NETWORK = 50

const POLL_INTERVAL_MS = 2000

/** Times of the service's clock. */
const HEARTBEAT_INTERVAL_MS = 20_000
const MAX_WATCH_MS = 15 * MINUTE_MS

/** Concurrent DNS checks for watchers, and the number per account and hour. */
const MAX_CONCURRENT_CHECKS = 10
const MAX_CHECKS_PER_HOUR = 180
const MAX_COUNTED_ACCOUNTS = 10_000

/** One timer and one query serve all watchers of a process. Pending names are checked sooner while watched. */
export class DomainWatchers extends Component<DomainWatchersOptions> {
  readonly #watchers = new Set<DomainWatcher>()
  readonly #checks = new Map<string, Promise<unknown>>()
  readonly #checksThisHour = new Map<string, number>()
  #hour = 0
  #timer: NodeJS.Timeout | undefined
  #current: Promise<void> | undefined
  #ended = false

  /**
   * Sends events of a row's domain; returns a function that stops it. Ends after 15 minutes and when the
   * watcher's credential is no longer valid. RATE_LIMITED and UNAVAILABLE when there are too many watchers.
   */
  async watch(
    { account, credentialHash, address }: WatchedBy,
    row: Domain,
    listener: WatchListener,
  ): Promise<() => void> {
    const { store, clock, records } = this.parts
    const all = await store.read.domains.byAccount(account.id)
    const [record] = await records([row], all)
    this.#admit(account, rateLimitSubnet(address))
    const now = clock()
    const watcher: DomainWatcher = {
      account,
      network: rateLimitSubnet(address),
      credentialHash,
      domain: row.domain,
      since: now,
      lastSent: JSON.stringify(record),
      lastSentAt: now,
      listener,
    }
    this.#watchers.add(watcher)
    listener.record(record!)
    this.#accelerateChecks([row])
    this.#schedule()
    return () => void this.#watchers.delete(watcher)
  }

  /** Disconnects all watchers and accepts no new ones; resolves when their work has ended. */
  async end(): Promise<void> {
    this.#ended = true
    clearTimeout(this.#timer)
    for (const watcher of [...this.#watchers]) this.#release(watcher)
    await Promise.all([this.#current, ...this.#checks.values()])
  }

  #admit(account: Account, callerNetwork: string): void {
    const own = [...this.#watchers].filter((watcher) => watcher.account.id === account.id)
    if (own.length >= MAX_WATCHERS_PER_ACCOUNT) {
      const sentence = `Too many open event streams. The limit is ${MAX_WATCHERS_PER_ACCOUNT} domains per account; close one of the others.`
      throw new ApiError('RATE_LIMITED', sentence, { retryAfterSeconds: 60 })
    }
    const fromNetwork = [...this.#watchers].filter((watcher) => watcher.network === callerNetwork)
    if (this.#ended || this.#watchers.size >= MAX_WATCHERS || fromNetwork.length >= MAX_OF_NETWORK) {
      const sentence = 'Too many domain event streams are open. Poll this domain instead.'
      throw new ApiError('UNAVAILABLE', sentence, { retryAfterSeconds: 60 })
    }
  }

  #schedule(): void {
    const { log, pollIntervalMs = POLL_INTERVAL_MS } = this.parts
    if (this.#ended || this.#timer || this.#watchers.size === 0) return
    this.#timer = setTimeout(() => {
      this.#current = this.#poll()
        .catch((error: unknown) => log.error('reading watched domains failed; will retry', { error }))
        .finally(() => {
          this.#timer = undefined
          this.#schedule()
        })
    }, pollIntervalMs).unref()
  }

  async #poll(): Promise<void> {
    const { store, clock, records } = this.parts
    const watchers = [...this.#watchers]
    const isSignedIn = await this.#signedIn(watchers)
    const all = await store.read.domains.byAccount([...new Set(watchers.map(({ account }) => account.id))])
    const wanted = new Set(watchers.map(watchKey))
    const rows = all.filter((row) => wanted.has(rowKey(row)))
    const found = await records(rows, all)
    const known = new Map(rows.map((row, index) => [rowKey(row), found[index]!]))
    const now = clock()
    for (const watcher of watchers) {
      if (!this.#watchers.has(watcher)) continue
      const record = known.get(watchKey(watcher))
      if (isSignedIn(watcher)) this.#send(watcher, record, now)
      if (!isSignedIn(watcher) || !record || !isWithin(MAX_WATCH_MS, watcher.since, now))
        this.#release(watcher)
    }
    this.#accelerateChecks(rows)
  }

  async #signedIn(watchers: readonly DomainWatcher[]): Promise<(watcher: DomainWatcher) => boolean> {
    const { store, clock } = this.parts
    const rows = await store.read.accounts.byIds([...new Set(watchers.map(({ account }) => account.id))])
    const accounts = new Map(rows.map((row) => [row.id, row]))
    const hashes = watchers.map(({ credentialHash }) => credentialHash)
    const valid = new Set(await store.read.keys.valid(hashes, clock()))
    return ({ account, credentialHash }) =>
      accounts.get(account.id)?.deletionStartedAt === null && valid.has(credentialHash)
  }

  #send(watcher: DomainWatcher, record: DomainRecord | undefined, now: number): void {
    const { listener, lastSent, lastSentAt } = watcher
    if (!record) return void listener.removed()
    const text = JSON.stringify(record)
    if (text === lastSent && isWithin(HEARTBEAT_INTERVAL_MS, lastSentAt, now)) return
    watcher.lastSentAt = now
    watcher.lastSent = text
    if (text === lastSent) listener.heartbeat()
    else listener.record(record)
  }

  #release(watcher: DomainWatcher): void {
    if (this.#watchers.delete(watcher)) watcher.listener.end()
  }

  /** Checks the names with the oldest check first. */
  #accelerateChecks(rows: readonly Domain[]): void {
    const { clock, verify, log } = this.parts
    const now = clock()
    const due = rows.filter((row) => nextWatchedCheck(row, now) <= now)
    for (const row of due.toSorted((one, other) => (one.checkedAt ?? 0) - (other.checkedAt ?? 0))) {
      const name = rowKey(row)
      if (this.#ended || this.#checks.size >= MAX_CONCURRENT_CHECKS) return
      if (this.#checks.has(name) || !this.#tryCountCheck(row.accountId, now)) continue
      const { domain, accountId: account } = row
      const check = verify(row)
        .catch((error: unknown) =>
          log.error('DNS check of a watched domain failed', { domain, account, error }),
        )
        .finally(() => this.#checks.delete(name))
      this.#checks.set(name, check)
    }
  }

  /** Counts a check; false beyond the limit of the account, so that watching does not keep DNS busy. */
  #tryCountCheck(account: string, now: number): boolean {
    const hour = Math.floor(now / HOUR_MS)
    if (hour !== this.#hour) this.#checksThisHour.clear()
    this.#hour = hour
    const checks = this.#checksThisHour.get(account) ?? 0
    if (checks >= MAX_CHECKS_PER_HOUR || (checks === 0 && this.#checksThisHour.size >= MAX_COUNTED_ACCOUNTS))
      return false
    this.#checksThisHour.set(account, checks + 1)
    return true
  }
}

function watchKey({ account, domain }: DomainWatcher): string {
  return `${account.id} ${domain}`
}

function rowKey({ accountId, domain }: Domain): string {
  return `${accountId} ${domain}`
}
