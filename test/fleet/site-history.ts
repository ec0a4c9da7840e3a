/** What visitors of a site see: the number of its content, or undefined when there is none. */
export type Content = number | undefined

/** A change that a client requested. Times are those of `performance.now()`. */
interface Change {
  content: Content
  startedAt: number
  /** When its outcome was known to be known or unknown. */
  endedAt: number
  isAcknowledged: boolean
}

/** Changes that were not acknowledged may happen later: the server may still be at work when its client gives up. */
const UNKNOWN_OUTCOME_MS = 20_000

/** Clocks of this process and of the database are those of one machine, but the latter is measured. */
const CLOCK_TOLERANCE_MS = 100

/** All that clients requested of a site, one after another, and what its visitors may see. */
export class SiteHistory {
  readonly slug: string
  readonly versions: { content: number; versionId: string }[] = []
  /** Of an anonymous site. */
  claimToken: string | undefined
  /** Milliseconds since 1970. */
  expiresAt: number | undefined
  /** Whether its expiry is not known, after a claim without a response. */
  isUnknown = false
  readonly #changes: Change[] = []
  #claimedAt = Number.NEGATIVE_INFINITY

  constructor(site: Pick<SiteHistory, 'slug' | 'claimToken' | 'expiresAt'>) {
    this.slug = site.slug
    this.claimToken = site.claimToken
    this.expiresAt = site.expiresAt
  }

  /** Performs a change, and records whether it was acknowledged; throws what it throws. */
  async change<T>(content: Content, work: () => Promise<T>): Promise<T> {
    const change: Change = {
      content,
      startedAt: performance.now(),
      endedAt: Number.POSITIVE_INFINITY,
      isAcknowledged: false,
    }
    this.#changes.push(change)
    try {
      const result = await work()
      change.isAcknowledged = true
      return result
    } finally {
      change.endedAt = performance.now()
    }
  }

  /** Performs a claim, after which caches are loaded again as after a change. */
  async claim(work: () => Promise<unknown>): Promise<void> {
    this.#claimedAt = Number.POSITIVE_INFINITY
    try {
      await work()
      this.claimToken = undefined
      this.expiresAt = undefined
    } catch (error) {
      this.isUnknown = true
      throw error
    } finally {
      this.#claimedAt = performance.now()
    }
  }

  /** Whether the newest change was acknowledged, and was a deletion. */
  get isDeleted(): boolean {
    const last = this.#changes.at(-1)!
    return last.isAcknowledged && last.content === undefined
  }

  /** Whether a deletion may still happen. */
  get mayBeDeleted(): boolean {
    return this.#changes.some(({ content, isAcknowledged }) => content === undefined && !isAcknowledged)
  }

  isExpired(now = Date.now()): boolean {
    return this.expiresAt !== undefined && now > this.expiresAt
  }

  /** Since when no change or claim can happen: infinite during one. */
  get changedAt(): number {
    return Math.max(this.#claimedAt, ...this.#changes.map(lastPossibleTime))
  }

  /**
   * The age of a content that a visitor saw between two times: milliseconds since a later change was acknowledged, 0
   * when the content was right, infinite when it never can have been.
   */
  age(content: Content, from: number, to: number): number {
    const ages = this.#changes
      .filter((change) => change.content === content && change.startedAt <= to)
      .map((change) => this.#age(change, from))
    if (content === undefined && this.isExpired(toEpoch(to) + CLOCK_TOLERANCE_MS)) ages.push(0)
    return Math.min(Number.POSITIVE_INFINITY, ...ages)
  }

  #age(change: Change, from: number): number {
    const isLater = (other: Change) => other.startedAt >= lastPossibleTime(change)
    const replacedAt = this.#changes
      .filter((other) => other !== change && other.isAcknowledged && isLater(other))
      .map(({ endedAt }) => endedAt)
    if (change.content !== undefined && this.expiresAt !== undefined)
      replacedAt.push(this.expiresAt - performance.timeOrigin + CLOCK_TOLERANCE_MS)
    return Math.max(0, from - Math.min(Number.POSITIVE_INFINITY, ...replacedAt))
  }
}

function lastPossibleTime({ endedAt, isAcknowledged }: Change): number {
  return isAcknowledged ? endedAt : endedAt + UNKNOWN_OUTCOME_MS
}

function toEpoch(time: number): number {
  return performance.timeOrigin + time
}
