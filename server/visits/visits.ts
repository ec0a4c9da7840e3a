import type { VisitNumbers, VisitRange, Visits as Wire } from '../../client/wire/visits.ts'
import { ownedSite } from '../ownership.ts'
import type { Counted } from '../store/queries/visits.ts'
import type { AccountRow } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { iso } from '../time.ts'
import { DAY, HOUR } from './batch.ts'
import type { Bookkeeping } from './bookkeeping.ts'

interface VisitsOptions {
  store: Store
  /** Undefined when visits are not counted. */
  book: Bookkeeping | undefined
  clock: () => number
}

export const RANGES: readonly VisitRange[] = ['24h', '7d', '30d', '90d']

/** Paths and hosts that are told. */
const MOST_NAMES = 50

/** Intervals of the past, the last of which is still running: from the start of the first to the end of the last. */
interface Span {
  from: number
  to: number
  interval: number
}

/** What owners are told of the visits of their sites. */
export class Visits {
  readonly #store: Store
  readonly #book: Bookkeeping | undefined
  readonly #clock: () => number

  constructor({ store, book, clock }: VisitsOptions) {
    this.#store = store
    this.#book = book
    this.#clock = clock
  }

  /** The visits up to now, with those that other processes wrote down. NOT_FOUND for somebody else's site. */
  async of(account: AccountRow, slug: string, range: VisitRange): Promise<Wire> {
    const { read } = this.#store
    ownedSite(await read.sites.bySlug(slug), account, this.#clock())
    await this.#book?.flush()
    const span = spanOf(range, this.#clock())
    const series = this.#book ? seriesIn(span, await read.visits.series(slug, span)) : []
    return {
      slug,
      range,
      counted: this.#book !== undefined,
      from: iso(span.from),
      to: iso(span.to),
      interval: span.interval === HOUR ? 'hour' : 'day',
      totals: sumOf(series),
      series,
      ...(await this.#names(slug, span)),
    }
  }

  /** Names are counted by day, so that those of hours are those of their days. */
  async #names(
    slug: string,
    { from, to }: Span,
  ): Promise<Pick<Wire, 'topPaths' | 'referrers' | 'missingPaths'>> {
    if (!this.#book) return { topPaths: [], referrers: [], missingPaths: [] }
    const { visits, domains } = this.#store.read
    const days = { from: startOf(from, DAY), to }
    const own = new Set((await domains.bySite(slug)).map(({ domain }) => domain))
    const most = { ...days, limit: MOST_NAMES }
    const referrers = await visits.top(slug, 'referrer', { ...days, limit: MOST_NAMES + own.size })
    return {
      topPaths: await visits.top(slug, 'path', most),
      referrers: referrers.filter(({ name }) => !own.has(name)).slice(0, MOST_NAMES),
      missingPaths: await visits.top(slug, 'missing', most),
    }
  }
}

function spanOf(range: VisitRange, now: number): Span {
  const interval = range === '24h' ? HOUR : DAY
  const to = startOf(now, interval) + interval
  return { from: to - Number.parseInt(range, 10) * interval, to, interval }
}

function startOf(time: number, interval: number): number {
  return Math.floor(time / interval) * interval
}

function seriesIn({ from, to, interval }: Span, rows: readonly (Counted & { at: number })[]): Wire['series'] {
  const known = new Map(rows.map((row) => [row.at, row]))
  return Array.from({ length: (to - from) / interval }, (_, index) => {
    const at = from + index * interval
    const { requests = 0, bytes = 0, visitors = 0 } = known.get(at) ?? {}
    return { at: iso(at), requests, bytes, visitors }
  })
}

function sumOf(series: readonly VisitNumbers[]): VisitNumbers {
  const sum = { requests: 0, bytes: 0, visitors: 0 }
  for (const { requests, bytes, visitors } of series) {
    sum.requests += requests
    sum.bytes += bytes
    sum.visitors += visitors
  }
  return sum
}
