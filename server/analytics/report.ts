import type { VisitNumbers, VisitRange, Visits as VisitsResponse } from '../../protocol/api/visits.ts'
import { requireOwner } from '../accounts/authorization.ts'
import { DAY_MS, HOUR_MS, toIso } from '../lib/time.ts'
import type { Account } from '../store/contract/accounts.ts'
import type { VisitCounts } from '../store/contract/visits.ts'
import type { Store } from '../store/store.ts'
import type { VisitRecorder } from './visit-recorder.ts'

interface VisitsOptions {
  store: Store
  /** Undefined when visits are not counted. */
  recorder: VisitRecorder | undefined
  clock: () => number
}

export const RANGES: readonly VisitRange[] = ['24h', '7d', '30d', '90d']

/** Maximum number of paths and hosts in a report. */
const MAX_REPORTED_NAMES = 50

/** Intervals from the start of the first to the end of the last, which is the current one. */
interface VisitSpan {
  from: number
  to: number
  interval: number
}

/** Reports of visits for owners. */
export class VisitReports {
  readonly #store: Store
  readonly #recorder: VisitRecorder | undefined
  readonly #clock: () => number

  constructor({ store, recorder, clock }: VisitsOptions) {
    this.#store = store
    this.#recorder = recorder
    this.#clock = clock
  }

  /** The visits up to now, including those written by other processes. NOT_FOUND for another owner's site. */
  async report(account: Account, slug: string, range: VisitRange): Promise<VisitsResponse> {
    const { read } = this.#store
    requireOwner(await read.sites.bySlug(slug), account, this.#clock())
    await this.#recorder?.flush()
    const span = toSpan(range, this.#clock())
    const series = this.#recorder ? buildSeries(span, await read.visits.series(slug, span)) : []
    return {
      slug,
      range,
      counted: this.#recorder !== undefined,
      from: toIso(span.from),
      to: toIso(span.to),
      interval: span.interval === HOUR_MS ? 'hour' : 'day',
      totals: sumSeries(series),
      series,
      ...(await this.#names(slug, span)),
    }
  }

  /** Names are counted by day, so those of hours are those of their days. */
  async #names(
    slug: string,
    { from, to }: VisitSpan,
  ): Promise<Pick<VisitsResponse, 'topPaths' | 'referrers' | 'missingPaths'>> {
    if (!this.#recorder) return { topPaths: [], referrers: [], missingPaths: [] }
    const { visits, domains } = this.#store.read
    const days = { from: floorTime(from, DAY_MS), to }
    const own = new Set((await domains.bySite(slug)).map(({ domain }) => domain))
    const options = { ...days, limit: MAX_REPORTED_NAMES }
    const referrers = await visits.top(slug, 'referrer', { ...days, limit: MAX_REPORTED_NAMES + own.size })
    return {
      topPaths: await visits.top(slug, 'path', options),
      referrers: referrers.filter(({ name }) => !own.has(name)).slice(0, MAX_REPORTED_NAMES),
      missingPaths: await visits.top(slug, 'missing', options),
    }
  }
}

function toSpan(range: VisitRange, now: number): VisitSpan {
  const interval = range === '24h' ? HOUR_MS : DAY_MS
  const to = floorTime(now, interval) + interval
  return { from: to - Number.parseInt(range, 10) * interval, to, interval }
}

function floorTime(time: number, interval: number): number {
  return Math.floor(time / interval) * interval
}

function buildSeries(
  { from, to, interval }: VisitSpan,
  rows: readonly (VisitCounts & { at: number })[],
): VisitsResponse['series'] {
  const known = new Map(rows.map((row) => [row.at, row]))
  return Array.from({ length: (to - from) / interval }, (_, index) => {
    const at = from + index * interval
    const { requests = 0, bytes = 0, visitors = 0 } = known.get(at) ?? {}
    return { at: toIso(at), requests, bytes, visitors }
  })
}

function sumSeries(series: readonly VisitNumbers[]): VisitNumbers {
  const sum = { requests: 0, bytes: 0, visitors: 0 }
  for (const { requests, bytes, visitors } of series) {
    sum.requests += requests
    sum.bytes += bytes
    sum.visitors += visitors
  }
  return sum
}
