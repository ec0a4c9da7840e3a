import { sha256 } from '../api/content.ts'
import { INDEX, type MadeSite, parseVersion, versionName } from './content.ts'

/** What a site must serve: exactly this version, or no site (null). */
export type State = MadeSite | null

/**
 * An event between a client and the service. A request is logged before it is sent; its outcome is unknown until the
 * next fact about its site or account.
 */
export type Fact =
  | { kind: 'key request'; email: string }
  | { kind: 'key'; email: string; key: string }
  /** A new site, or the same with another owner; `expiresAt` in milliseconds since 1970. */
  | { kind: 'site'; slug: string; email?: string; claimToken?: string | undefined; expiresAt?: number }
  | { kind: 'claim request'; slug: string }
  | { kind: 'change request'; slug: string; state: State }
  /** A request of the site ended without a response that tells its outcome. */
  | { kind: 'failure'; slug: string }
  | { kind: 'live'; slug: string; versionId: string; state: MadeSite }
  | { kind: 'deleted'; slug: string }
  /** A version finalized without becoming live. */
  | { kind: 'draft'; slug: string; versionId: string; state: MadeSite }
  /** A version with all files uploaded, not finalized. */
  | { kind: 'uploaded'; slug: string; versionId: string; state: MadeSite }
  /** A version, finalized or not, that its owner deleted. */
  | { kind: 'version deleted'; slug: string; versionId: string }
  /** From now on the title may be in the head of the root document. */
  | { kind: 'title'; slug: string; title: string | null }
  /** An error response to a valid request. */
  | { kind: 'refusal'; status: number; sentence: string }

type SiteFact = Exclude<Fact, { kind: 'key request' | 'key' | 'site' | 'refusal' }>

const REQUESTS = ['change request', 'claim request', 'key request', 'failure', 'refusal', 'title']

/** A change that a client requested, with its times in milliseconds since 1970. */
interface Change {
  state: State
  startedAt: number
  /** When its outcome was known to be known or unknown. */
  endedAt: number
  isAcknowledged: boolean
}

interface KnownVersion {
  state: MadeSite
  /** The number of versions that were live before it; undefined of a draft. */
  published: number | undefined
}

export interface KnownAccount {
  key: string | undefined
  /** Keys that a later key replaced. */
  revoked: string[]
  /** A new key was requested without a response: the last one may be revoked. */
  keyUncertain: boolean
}

export interface UploadedVersion {
  slug: string
  versionId: string
  state: MadeSite
}

/** Milliseconds since 1970, of a clock that never goes back. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now()
}

/** All requests of clients and what was acknowledged, from which follows what the service must have and may serve. */
export class History {
  readonly sites = new Map<string, SiteHistory>()
  readonly accounts = new Map<string, KnownAccount>()
  readonly refusals: Extract<Fact, { kind: 'refusal' }>[] = []
  uploaded: UploadedVersion[] = []
  /** Sites and accounts with facts since the last verification, which empties these sets. */
  touched = new Set<SiteHistory>()
  touchedAccounts = new Set<string>()
  /** Facts that a response of the service confirms. */
  acknowledged = 0
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly #keep: (line: string) => void

  /** `keep` receives each fact as a line before `add` returns. */
  constructor({
    now = epochMs,
    keep = () => undefined,
  }: { now?: () => number; keep?: (line: string) => void } = {}) {
    this.now = now
    this.#keep = keep
  }

  /** Restores a history from its lines; ignores a truncated last line. */
  static read(text: string): History {
    const history = new History()
    for (const line of text.split('\n').slice(0, -1)) history.add(JSON.parse(line) as Fact)
    return history
  }

  add(fact: Fact): void {
    this.#keep(`${JSON.stringify(fact)}\n`)
    if (!REQUESTS.includes(fact.kind)) this.acknowledged++
    switch (fact.kind) {
      case 'key request':
        this.#account(fact.email).keyUncertain = true
        return
      case 'key': {
        const account = this.#account(fact.email)
        if (account.key !== undefined) account.revoked.push(account.key)
        account.key = fact.key
        account.keyUncertain = false
        return
      }
      case 'refusal':
        this.refusals.push(fact)
        return
      case 'site': {
        const known = this.sites.get(fact.slug)
        if (known) known.claimed(fact.email!)
        else this.sites.set(fact.slug, new SiteHistory({ ...fact, now: this.now }))
        return
      }
    }
    const site = this.sites.get(fact.slug)!
    this.touched.add(site)
    site.add(fact)
    if (fact.kind === 'uploaded') this.uploaded.push(fact)
    else if ('versionId' in fact)
      this.uploaded = this.uploaded.filter(({ versionId }) => versionId !== fact.versionId)
  }

  #account(email: string): KnownAccount {
    this.touchedAccounts.add(email)
    const known = this.accounts.get(email) ?? { key: undefined, revoked: [], keyUncertain: false }
    this.accounts.set(email, known)
    return known
  }
}

/** Changes that were not acknowledged may happen later: the server may still be at work when its client gives up. */
const UNKNOWN_OUTCOME_MS = 20_000

/** Clocks of this process and of the database are those of one machine, but the latter is measured. */
const CLOCK_TOLERANCE_MS = 100

/** All that clients requested of a site, one after another, and what its visitors may see. */
export class SiteHistory {
  readonly slug: string
  /** Account of the owner; undefined while the site is anonymous. */
  email: string | undefined
  claimToken: string | undefined
  /** Milliseconds since 1970. */
  expiresAt: number | undefined
  /** Whether its expiry is not known, after a claim without a response. */
  isUnknown = false
  title: string | null = null
  /** Acknowledged finalized versions by id, of which the service keeps the newest. */
  readonly versions = new Map<string, KnownVersion>()
  liveId: string | undefined
  /** The number of changes that were acknowledged. */
  acknowledged = 0
  readonly #now: () => number
  readonly #changes: Change[] = []
  #claimedAt = Number.NEGATIVE_INFINITY
  #published = 0

  constructor({
    slug,
    email,
    claimToken,
    expiresAt,
    now,
  }: Omit<Extract<Fact, { kind: 'site' }>, 'kind'> & { now: () => number }) {
    this.slug = slug
    this.email = email
    this.claimToken = claimToken
    this.expiresAt = expiresAt
    this.#now = now
    this.#acknowledge(null)
  }

  add(fact: SiteFact): void {
    switch (fact.kind) {
      case 'claim request':
        this.isUnknown = true
        this.#claimedAt = Number.POSITIVE_INFINITY
        return
      case 'change request':
        this.#begin(fact.state)
        return
      case 'failure':
        this.#end()
        return
      case 'live':
        this.#acknowledge(fact.state)
        this.#published++
        this.liveId = fact.versionId
        this.#keepVersion(fact.versionId, fact.state, this.#published)
        return
      case 'draft':
        this.#keepVersion(fact.versionId, fact.state)
        return
      case 'deleted':
        this.#acknowledge(null)
        this.versions.clear()
        return
      case 'version deleted':
        this.#forgetVersion(fact.versionId)
        return
      case 'title':
        this.title = fact.title
    }
  }

  claimed(email: string): void {
    Object.assign(this, { email, claimToken: undefined, expiresAt: undefined, isUnknown: false })
    this.#claimedAt = this.#now()
  }

  /** The last acknowledged state. */
  get state(): State {
    return this.#changes.findLast(({ isAcknowledged }) => isAcknowledged)!.state
  }

  /** The last acknowledged state, and those requested since then without a response. */
  get possibleStates(): State[] {
    const last = this.#changes.findLastIndex(({ isAcknowledged }) => isAcknowledged)
    return this.#changes.slice(last).map(({ state }) => state)
  }

  /** Ends an uncertainty: of the possible states, the site has this one. */
  resolve(state: State): void {
    if (this.possibleStates.length === 1) return
    while (!this.#changes.at(-1)!.isAcknowledged) this.#changes.pop()
    this.#acknowledge(state)
    if (state === null) this.versions.clear()
  }

  /** Whether it is deleted, as far as clients know. */
  get isDeleted(): boolean {
    return this.#published > 0 && this.state === null
  }

  /** Whether it is live, and no deletion can happen. */
  get isLive(): boolean {
    return !this.possibleStates.includes(null)
  }

  isExpired(at = this.#now()): boolean {
    return this.expiresAt !== undefined && at > this.expiresAt
  }

  /** Since when no change or claim can happen: infinite during one. */
  get changedAt(): number {
    return Math.max(this.#claimedAt, ...this.#changes.map(lastPossibleTime))
  }

  /**
   * Versions that may be restored or deleted: the newest that were live before, and the newest draft. The service may have
   * pruned the others.
   */
  restorableVersions(count: number): string[] {
    const ids = [...this.versions.keys()].filter((id) => id !== this.liveId)
    const published = (id: string) => this.versions.get(id)!.published
    const formerly = ids.filter((id) => published(id) !== undefined)
    formerly.sort((one, other) => published(other)! - published(one)!)
    return [...formerly.slice(0, count), ...ids.filter((id) => published(id) === undefined).slice(-1)]
  }

  /** The version whose bytes these are at a path; null for none. */
  identify(path: string, { status, body }: { status: number; body: Buffer }): string | null | 'other' {
    if (status === 404 || status === 410) return null
    const name = parseVersion(body)
    const file = this.#find(name)?.[path]
    const head = body.length - (file?.size ?? 0)
    const mayHaveHead = path === INDEX && this.title !== null
    const isWhole = file && (head === 0 || mayHaveHead) && sha256(body.subarray(head)) === file.hash
    return status === 200 && isWhole ? name! : 'other'
  }

  /**
   * The age of what a visitor saw between two times: milliseconds since a later change was acknowledged, 0 when it was
   * right, infinite when it never can have been. `version` is a name, or null for no site.
   */
  age(version: string | null, from: number, to: number): number {
    const ages = this.#changes
      .filter(({ state, startedAt }) => nameOf(state) === version && startedAt <= to)
      .map((change) => this.#age(change, from))
    if (version === null && this.isExpired(to + CLOCK_TOLERANCE_MS)) ages.push(0)
    return Math.min(Number.POSITIVE_INFINITY, ...ages)
  }

  #age(change: Change, from: number): number {
    const isLater = (other: Change) => other.startedAt >= lastPossibleTime(change)
    const replacedAt = this.#changes
      .filter((other) => other !== change && other.isAcknowledged && isLater(other))
      .map(({ endedAt }) => endedAt)
    if (change.state !== null && this.expiresAt !== undefined)
      replacedAt.push(this.expiresAt + CLOCK_TOLERANCE_MS)
    return Math.max(0, from - Math.min(Number.POSITIVE_INFINITY, ...replacedAt))
  }

  #find(name: string | undefined): MadeSite | undefined {
    const states = [
      ...this.#changes.map(({ state }) => state),
      ...[...this.versions.values()].map(({ state }) => state),
    ]
    return states.find((state) => state !== null && nameOf(state) === name) ?? undefined
  }

  #begin(state: State): Change {
    const change = {
      state,
      startedAt: this.#now(),
      endedAt: Number.POSITIVE_INFINITY,
      isAcknowledged: false,
    }
    this.#changes.push(change)
    return change
  }

  /** Of a change that was requested, or of one that gave the site its address. */
  #acknowledge(state: State): void {
    const last = this.#changes.at(-1)
    const isRequested = last?.endedAt === Number.POSITIVE_INFINITY
    const change = isRequested ? last : this.#begin(state)
    Object.assign(change, { endedAt: this.#now(), isAcknowledged: true })
    this.acknowledged++
  }

  #end(): void {
    const last = this.#changes.at(-1)!
    last.endedAt = Math.min(last.endedAt, this.#now())
    this.#claimedAt = Math.min(this.#claimedAt, this.#now())
  }

  #keepVersion(id: string, state: MadeSite, published?: number): void {
    const known = this.versions.get(id)
    this.versions.set(id, { state, published: known?.published ?? published })
  }

  /** Of the older versions some may be pruned already. */
  #forgetVersion(id: string): void {
    const version = this.versions.get(id)
    if (!version) return
    const isOlder = ({ published = -1 }: KnownVersion) => published <= (version.published ?? -1)
    for (const [other, known] of this.versions)
      if (other !== this.liveId && isOlder(known)) this.versions.delete(other)
  }
}

function lastPossibleTime({ endedAt, isAcknowledged }: Change): number {
  return isAcknowledged ? endedAt : endedAt + UNKNOWN_OUTCOME_MS
}

function nameOf(state: State): string | null {
  return state && versionName(state)
}
