import type { DomainRecord } from '../../client/wire.ts'
import { Failure } from '../failure.ts'
import { hashOfSecret } from '../key.ts'
import type { Log } from '../log.ts'
import type { AccountRow, DomainRow } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { soonerLook } from './schedule.ts'

/** Who follows a domain, and by what: the session of a browser, or without one the account's key. */
export interface FollowedBy {
  account: AccountRow
  sessionToken: string | undefined
}

/** What somebody hears who follows a domain. */
export interface Listening {
  /** The record as it is now: at once, then whenever it has changed. */
  record(record: DomainRecord): void
  /** Nothing has changed for a while. */
  quiet(): void
  /** The domain is not the account's any more; `end` follows. */
  gone(): void
  /** Nothing more comes. */
  end(): void
}

export interface FollowingOptions {
  store: Store
  clock: () => number
  log: Log
  /** The records of `rows`; `all` are those of their accounts. */
  records(rows: readonly DomainRow[], all: readonly DomainRow[]): Promise<DomainRecord[]>
  /** Looks a name up in DNS now; bounded as any look is. */
  look(row: DomainRow): Promise<unknown>
  /** Milliseconds between two looks into the store, for all who follow something. */
  between?: number
}

interface Follower {
  account: AccountRow
  sessionHash: string | undefined
  domain: string
  since: number
  /** The last record that was told, and when something was. */
  told: string
  toldAt: number
  listening: Listening
}

const MOST = 200
const MOST_OF_ACCOUNT = 5

const BETWEEN = 2000

/** By the service's clock: the silence that `quiet` ends, and how long somebody can follow. */
const SILENCE = 20_000
const LASTS = 15 * 60_000

/** Looks in DNS that are under way because somebody follows, and how many an account gets of them in an hour. */
const MOST_LOOKS = 10
const LOOKS_AN_HOUR = 180
const MOST_COUNTED = 10_000
const HOUR = 3_600_000

/**
 * Those who follow a domain in this process. One timer and one question to the store serve all of them, so that it does not
 * matter which process changed something; and names that wait are looked up sooner while somebody follows them.
 */
export class Following {
  readonly #options: FollowingOptions
  readonly #followers = new Set<Follower>()
  readonly #looks = new Map<string, Promise<void>>()
  /** Looks of each account in this hour. */
  readonly #counted = new Map<string, number>()
  #hour = 0
  #timer: NodeJS.Timeout | undefined
  #underWay: Promise<void> | undefined
  #ended = false

  constructor(options: FollowingOptions) {
    this.#options = options
  }

  /**
   * Tells of a row's domain from now on; answers how to stop that. It ends by itself after 15 minutes, and when whoever
   * follows is not signed in any more. RATE_LIMITED and UNAVAILABLE when too many are there.
   */
  async follow(
    { account, sessionToken }: FollowedBy,
    row: DomainRow,
    listening: Listening,
  ): Promise<() => void> {
    const { store, clock, records } = this.#options
    const all = await store.read.domains.byAccounts([account.id])
    const [record] = await records([row], all)
    this.#admit(account)
    const now = clock()
    const follower: Follower = {
      account,
      sessionHash: sessionToken === undefined ? undefined : hashOfSecret(sessionToken),
      domain: row.domain,
      since: now,
      told: JSON.stringify(record),
      toldAt: now,
      listening,
    }
    this.#followers.add(follower)
    listening.record(record!)
    this.#lookSooner([row])
    this.#plan()
    return () => void this.#followers.delete(follower)
  }

  /** Lets everybody go and takes nobody more; resolves when nothing of it is under way. */
  async end(): Promise<void> {
    this.#ended = true
    clearTimeout(this.#timer)
    for (const follower of [...this.#followers]) this.#release(follower)
    await Promise.all([this.#underWay, ...this.#looks.values()])
  }

  #admit(account: AccountRow): void {
    const own = [...this.#followers].filter((follower) => follower.account.id === account.id)
    if (own.length >= MOST_OF_ACCOUNT) {
      const sentence = `An account can follow ${MOST_OF_ACCOUNT} domains at a time; close one of the others`
      throw new Failure('RATE_LIMITED', sentence, { retryAfterSeconds: 60 })
    }
    if (this.#ended || this.#followers.size >= MOST) {
      const sentence = 'Too many domains are being followed at the moment; look at this one now and then'
      throw new Failure('UNAVAILABLE', sentence, { retryAfterSeconds: 60 })
    }
  }

  #plan(): void {
    if (this.#ended || this.#timer || this.#followers.size === 0) return
    this.#timer = setTimeout(() => {
      this.#underWay = this.#turn().finally(() => {
        this.#timer = undefined
        this.#plan()
      })
    }, this.#options.between ?? BETWEEN)
    this.#timer.unref()
  }

  async #turn(): Promise<void> {
    try {
      await this.#round()
    } catch (error) {
      this.#options.log.error('domains that are followed could not be read; it is tried again', { error })
    }
  }

  async #round(): Promise<void> {
    const { store, clock, records } = this.#options
    const followers = [...this.#followers]
    const isSignedIn = await this.#signedIn(followers)
    const all = await store.read.domains.byAccounts([...new Set(followers.map(({ account }) => account.id))])
    const wanted = new Set(followers.map(nameOf))
    const rows = all.filter((row) => wanted.has(nameOfRow(row)))
    const found = await records(rows, all)
    const known = new Map(rows.map((row, index) => [nameOfRow(row), found[index]!]))
    const now = clock()
    for (const follower of followers) {
      if (!this.#followers.has(follower)) continue
      const record = known.get(nameOf(follower))
      if (isSignedIn(follower)) this.#tell(follower, record, now)
      if (!isSignedIn(follower) || !record || Math.abs(now - follower.since) >= LASTS) this.#release(follower)
    }
    this.#lookSooner(rows)
  }

  /** Whether each of them still is who it was when it began. */
  async #signedIn(followers: readonly Follower[]): Promise<(follower: Follower) => boolean> {
    const { store, clock } = this.#options
    const rows = await store.read.accounts.byIds([...new Set(followers.map(({ account }) => account.id))])
    const accounts = new Map(rows.map((row) => [row.id, row]))
    const hashes = followers.flatMap(({ sessionHash }) => sessionHash ?? [])
    const sessions = new Set(await store.read.signIns.openSessions(hashes, clock()))
    return ({ account, sessionHash }) => {
      const now = accounts.get(account.id)
      if (!now || now.leaving_since !== null) return false
      return sessionHash === undefined ? now.key_hash === account.key_hash : sessions.has(sessionHash)
    }
  }

  #tell(follower: Follower, record: DomainRecord | undefined, now: number): void {
    const { listening, told, toldAt } = follower
    if (!record) return void listening.gone()
    const text = JSON.stringify(record)
    if (text === told && Math.abs(now - toldAt) < SILENCE) return
    follower.toldAt = now
    follower.told = text
    if (text === told) listening.quiet()
    else listening.record(record)
  }

  #release(follower: Follower): void {
    if (this.#followers.delete(follower)) follower.listening.end()
  }

  /** Those that were looked up longest ago come first, when there is not room for all. */
  #lookSooner(rows: readonly DomainRow[]): void {
    const now = this.#options.clock()
    const due = rows.filter((row) => soonerLook(row, now) <= now)
    for (const row of due.toSorted((one, other) => (one.checked_at ?? 0) - (other.checked_at ?? 0))) {
      const name = nameOfRow(row)
      if (this.#ended || this.#looks.size >= MOST_LOOKS) return
      if (this.#looks.has(name) || !this.#mayLook(row.account_id, now)) continue
      this.#looks.set(
        name,
        this.#look(row).finally(() => this.#looks.delete(name)),
      )
    }
  }

  async #look(row: DomainRow): Promise<void> {
    const { look, log } = this.#options
    try {
      await look(row)
    } catch (error) {
      const { domain, account_id: account } = row
      log.error('a domain that is followed could not be looked up', { domain, account, error })
    }
  }

  /** Counts a look of an account; false when it has had enough, so that following on and on does not keep DNS busy. */
  #mayLook(account: string, now: number): boolean {
    const hour = Math.floor(now / HOUR)
    if (hour !== this.#hour) this.#counted.clear()
    this.#hour = hour
    const looks = this.#counted.get(account) ?? 0
    if (looks >= LOOKS_AN_HOUR || (looks === 0 && this.#counted.size >= MOST_COUNTED)) return false
    this.#counted.set(account, looks + 1)
    return true
  }
}

function nameOf({ account, domain }: Follower): string {
  return `${account.id} ${domain}`
}

function nameOfRow({ account_id, domain }: DomainRow): string {
  return `${account_id} ${domain}`
}
