import type { VisitFilter, VisitNumbers, Visits } from '../../protocol/api/visits.schema.ts'
import { VISIT_NAME_KINDS, type VisitRange } from '../../protocol/api/visits.ts'
import { dayLabel } from './interval-labels.ts'
import { MEASURES, type Measure } from './measures.ts'

/** What the plots, the table and its export show: all visits, or the requests of one name. */
export interface ShownVisits
  extends Pick<Visits, 'slug' | 'range' | 'interval' | 'totals' | 'previous' | 'series'> {
  measures: readonly Measure[]
  /** The time zone of the intervals; undefined for that of the browser. */
  timeZone: 'UTC' | undefined
  /** The time of the totals, such as "in the last 7 days". */
  when: string
}

/** `words` names the range, and `timeZone` is that of its days; hours are always those of the browser. */
export function toShownVisits(visits: Visits, words: string, timeZone: ShownVisits['timeZone']): ShownVisits {
  const { slug, range, filtered, interval } = visits
  if (!filtered)
    return {
      ...visits,
      measures: MEASURES,
      timeZone: interval === 'hour' ? undefined : timeZone,
      when: `in ${words}`,
    }
  const toNumbers = ({ requests }: { requests: number }): VisitNumbers => ({
    requests,
    bytes: 0,
    visitors: 0,
  })
  return {
    slug,
    range,
    interval: 'day',
    totals: toNumbers(filtered),
    previous: null,
    series: filtered.series.map((day) => ({ at: day.at, ...toNumbers(day) })),
    measures: MEASURES.filter(({ of }) => of === 'requests'),
    timeZone: 'UTC',
    when: `since ${dayLabel(filtered.series[0]!.at, 'UTC')}`,
  }
}

/** The address of the visits in a range, of one name if there is a filter. */
export function visitsHref(path: string, range: VisitRange, filter: VisitFilter = {}): string {
  return `${path}?${new URLSearchParams({ range, ...(filter as Record<string, string>) })}`
}

/** The filter of such an address. */
export function readVisitFilter(query: Record<string, string>): VisitFilter {
  const kind = VISIT_NAME_KINDS.find((one) => query[one])
  return kind ? { [kind]: query[kind] } : {}
}
