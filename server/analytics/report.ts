import type {
  FilteredVisits,
  VisitFilter,
  VisitNumbers,
  Visits as VisitsResponse,
} from '../../protocol/api/visits.schema.ts'
import { VISIT_NAME_KINDS, type VisitRange } from '../../protocol/api/visits.ts'
import { requireAccess } from '../accounts/authorization.ts'
import { Component } from '../lib/component.ts'
import { invalidField } from '../lib/errors.ts'
import { DAY_MS, HOUR_MS, toIso } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { Account } from '../store/tables/accounts.ts'
import type { VisitCounts } from '../store/tables/visits.ts'
import type { VisitRecorder } from './visit-recorder.ts'

type VisitsParts = Pick<Parts, 'store' | 'clock' | 'addresses'> & { recorder: VisitRecorder | undefined }

const MAX_REPORTED_NAMES = 50

/** Paths that are read, so that both pages and other files can fill their lists. */
const MAX_READ_PATHS = 500

/** How long visits are kept does not cover the time before the longest range. */
const RANGE_WITHOUT_PREVIOUS: VisitRange = '90d'

interface ReportOptions extends VisitFilter {
  range: VisitRange
  /** IANA name; days begin at midnight there. */
  timeZone: string
}

/** The intervals of a range: each from a boundary to the next one, in milliseconds since 1970. */
interface Intervals {
  unit: 'hour' | 'day'
  boundaries: readonly number[]
  previousFrom: number
}

export class VisitReports extends Component<VisitsParts> {
  /**
   * Includes visits that other processes wrote, and the numbers of the same time before them. NOT_FOUND for a
   * stranger's site; VALIDATION_ERROR for an unknown time zone or several names.
   */
  async report(
    account: Account,
    slug: string,
    { range, timeZone, ...filter }: ReportOptions,
  ): Promise<VisitsResponse> {
    const { read } = this.parts.store
    const now = this.parts.clock()
    const { visitsKey } = await requireAccess(read, 'read', { slug, account, now })
    const selected = readFilter(filter)
    const { unit, boundaries, previousFrom } = toIntervals(range, timeZone, now)
    const [from, to] = [boundaries[0]!, boundaries.at(-1)!]
    await this.parts.recorder?.flush()
    const span = { from: previousFrom, to, interval: HOUR_MS }
    const hours = this.parts.recorder ? await read.visits.series(visitsKey, span) : []
    const series = this.parts.recorder ? buildSeries(boundaries, hours) : []
    const before = hours.filter(({ at }) => at < previousFrom + (now - from))
    return {
      slug,
      range,
      timeZone,
      counted: this.parts.recorder !== undefined,
      from: toIso(from),
      to: toIso(to),
      interval: unit,
      totals: sumCounts(series),
      previous: range === RANGE_WITHOUT_PREVIOUS ? null : sumCounts(before),
      series,
      ...(await this.#names(slug, visitsKey, { from, to })),
      filtered: selected ? await this.#requestsOf(visitsKey, selected, { from, to }) : null,
    }
  }

  /** Over the days of the lists, so that the sum is the number in a list. */
  async #requestsOf(
    key: string,
    selected: Pick<FilteredVisits, 'kind' | 'name'>,
    { from, to }: { from: number; to: number },
  ): Promise<FilteredVisits> {
    const first = floorTime(from, DAY_MS)
    const length = Math.ceil((to - first) / DAY_MS)
    const days = Array.from({ length }, (_, index) => first + index * DAY_MS)
    const counted = this.parts.recorder ? await this.parts.store.read.visits.byDay(key, selected, days) : []
    const byDay = new Map(counted.map(({ day, requests }) => [day, requests]))
    const series = days.map((day) => ({ at: toIso(day), requests: byDay.get(day) ?? 0 }))
    return { ...selected, requests: series.reduce((sum, { requests }) => sum + requests, 0), series }
  }

  /** Names are counted by day, so those of hours are those of their days. */
  async #names(
    slug: string,
    key: string,
    { from, to }: { from: number; to: number },
  ): Promise<Pick<VisitsResponse, NamesField>> {
    if (!this.parts.recorder)
      return { topPaths: [], topPages: [], topFiles: [], referrers: [], missingPaths: [] }
    const { visits, domains } = this.parts.store.read
    const days = { from: floorTime(from, DAY_MS), to }
    // Counted under the first name of the site, whose own hosts change with a rename.
    const host = new URL(this.parts.addresses.site(slug)).hostname
    const own = new Set([host, ...(await domains.bySite(slug)).map(({ domain }) => domain)])
    const options = { ...days, limit: MAX_REPORTED_NAMES }
    const referrers = await visits.top(key, 'referrer', { ...days, limit: MAX_REPORTED_NAMES + own.size })
    const paths = await visits.top(key, 'path', { ...days, limit: MAX_READ_PATHS })
    const { true: pages = [], false: files = [] } = Object.groupBy(paths, ({ name }) => `${isPagePath(name)}`)
    return {
      topPaths: paths.slice(0, MAX_REPORTED_NAMES),
      topPages: pages.slice(0, MAX_REPORTED_NAMES),
      topFiles: files.slice(0, MAX_REPORTED_NAMES),
      referrers: referrers
        .filter(({ name }) => !own.has(name) && !name.endsWith(`--${host}`))
        .slice(0, MAX_REPORTED_NAMES),
      missingPaths: await visits.top(key, 'missing', options),
    }
  }
}

type NamesField = 'topPaths' | 'topPages' | 'topFiles' | 'referrers' | 'missingPaths'

function readFilter(filter: VisitFilter): Pick<FilteredVisits, 'kind' | 'name'> | undefined {
  const [kind, another] = VISIT_NAME_KINDS.filter((one) => filter[one] !== undefined)
  if (another)
    throw invalidField(another, `cannot be combined with ${kind}: paths and hosts are counted separately`)
  return kind && { kind, name: filter[kind]! }
}

/** VALIDATION_ERROR for an unknown time zone. */
function toIntervals(range: VisitRange, timeZone: string, now: number): Intervals {
  const count = Number.parseInt(range, 10)
  if (range === '24h') {
    const from = floorTime(now, HOUR_MS) - (count - 1) * HOUR_MS
    const boundaries = Array.from({ length: count + 1 }, (_, index) => from + index * HOUR_MS)
    return { unit: 'hour', boundaries, previousFrom: from - DAY_MS }
  }
  const today = startOfDay(now, timeZone)
  const day = (number: number) => today.add({ days: number }).epochMilliseconds
  const boundaries = Array.from({ length: count + 1 }, (_, index) => day(index - count + 1))
  return { unit: 'day', boundaries, previousFrom: day(1 - 2 * count) }
}

function startOfDay(now: number, timeZone: string): Temporal.ZonedDateTime {
  try {
    return Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone).startOfDay()
  } catch {
    throw invalidField('timeZone', 'must be an IANA time zone such as Europe/Berlin')
  }
}

function floorTime(time: number, interval: number): number {
  return Math.floor(time / interval) * interval
}

/** Each hour counts in the interval in which it begins. */
function buildSeries(
  boundaries: readonly number[],
  hours: readonly (VisitCounts & { at: number })[],
): VisitsResponse['series'] {
  const sorted = hours.toSorted((one, other) => one.at - other.at)
  let next = sorted.findIndex(({ at }) => at >= boundaries[0]!)
  return boundaries.slice(0, -1).map((at, index) => {
    const within: VisitCounts[] = []
    while (next >= 0 && next < sorted.length && sorted[next]!.at < boundaries[index + 1]!)
      within.push(sorted[next++]!)
    return { at: toIso(at), ...sumCounts(within) }
  })
}

function sumCounts(counts: readonly VisitNumbers[]): VisitNumbers {
  const sum = { requests: 0, bytes: 0, visitors: 0 }
  for (const { requests, bytes, visitors } of counts) {
    sum.requests += requests
    sum.bytes += bytes
    sum.visitors += visitors
  }
  return sum
}

function isPagePath(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return !name.includes('.') || /\.(x?html?)$/i.test(name)
}
