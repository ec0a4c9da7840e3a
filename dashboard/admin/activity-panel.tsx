import { useState } from 'preact/hooks'
import type { Activity, ActivityPoint } from '../../protocol/api/admin/overview.schema.ts'
import { ACTIVITY_RANGES, type ActivityRange } from '../../protocol/api/admin/overview.ts'
import { formatBytes, formatNumber } from '../../protocol/format.ts'
import { useResource } from '../api/resource.ts'
import { formatDayAndTime } from '../app/format-time.ts'
import { Choice } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { ActivityPlot } from './activity-plot.tsx'
import { readAdmin } from './admin-client.ts'

const RANGE_NAMES: Record<ActivityRange, string> = { '24h': 'Last 24 hours', '30d': 'Last 30 days' }

interface Measure {
  name: string
  read: (point: ActivityPoint) => number
  format: (value: number) => string
  /** The value of a whole range. */
  total: (points: readonly ActivityPoint[]) => number
}

const MEASURES: readonly Measure[] = [
  counted('Visits', ({ visits }) => visits),
  counted('Sent to visitors', ({ bytes }) => bytes, formatBytes),
  counted('Publishes', ({ publishes }) => publishes),
  counted('Requests to the API', ({ requests }) => requests),
  counted('Errors (5xx)', ({ errors }) => errors),
  {
    name: 'Mean time of the database',
    read: ({ storeMilliseconds }) => storeMilliseconds,
    format: (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`,
    total: (points) =>
      sum(points, (point) => point.storeMilliseconds * point.storeOperations) /
      Math.max(
        1,
        sum(points, (point) => point.storeOperations),
      ),
  },
]

/** Visits, bytes, publishes, errors and times of the database over time. */
export function ActivityPanel() {
  const [range, choose] = useState<ActivityRange>('24h')
  const { value, error, reload } = useResource(`admin/activity/${range}`, () =>
    readAdmin('getActivity', { query: { range } }),
  )
  return (
    <Panel title="Activity" lead="Of all processes, a few minutes old.">
      <div class="activity-range">
        <Choice
          label="Time"
          value={range}
          choices={ACTIVITY_RANGES.map((one) => ({ value: one, name: RANGE_NAMES[one] }))}
          onChoose={(one) => choose(one as ActivityRange)}
        />
      </div>
      <ErrorNotice error={error} onRetry={reload} />
      {!value && !error && <Loading what="the activity" />}
      {value && <Measures activity={value} />}
    </Panel>
  )
}

function Measures({ activity: { range, points } }: { activity: Activity }) {
  const formatAt = range === '24h' ? formatHour : formatDayAndTime
  return (
    <>
      <div class="activity-plots">
        {MEASURES.map(({ name, read, format, total }) => (
          <section key={name} class="stack tight" aria-label={name}>
            <p class="use">
              <span class="quiet">{name}</span>
              <span class="total">{format(total(points))}</span>
            </p>
            <ActivityPlot {...{ name, points, read, format }} formatTime={formatAt} />
          </section>
        ))}
      </div>
      <details>
        <summary>All numbers</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard */}
        <section class="wide-table" tabIndex={0} aria-label="All numbers">
          <table class="numbers">
            <thead>
              <tr>
                <th scope="col">From</th>
                {MEASURES.map(({ name }) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {points.map((point) => (
                <tr key={point.at}>
                  <th scope="row">{formatAt(point.at)}</th>
                  {MEASURES.map(({ name, read, format }) => (
                    <td key={name}>{format(read(point))}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </>
  )
}

function counted(
  name: string,
  read: Measure['read'],
  format: (value: number) => string = formatNumber,
): Measure {
  return { name, read, format, total: (points) => sum(points, read) }
}

function sum(points: readonly ActivityPoint[], read: Measure['read']): number {
  return points.reduce((total, point) => total + read(point), 0)
}

function formatHour(at: string): string {
  return new Date(at).toLocaleTimeString(undefined, { timeStyle: 'short' })
}
