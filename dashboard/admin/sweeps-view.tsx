import type { AdminSweep } from '../../protocol/api/admin/lists.schema.ts'
import { formatDuration, formatNumber } from '../../protocol/format.ts'
import { useResource } from '../api/resource.ts'
import { ErrorNotice } from '../kit/notice.tsx'
import { Badge } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { readAdmin } from './admin-client.ts'
import { type Column, RecordTable } from './record-table.tsx'

const COLUMNS: readonly Column<AdminSweep>[] = [
  {
    name: 'Sweep',
    show: ({ name, description, failures, lastRun }) => (
      <>
        <code>{name}</code>
        <div class="quiet small">{description}</div>
        {failures > 0 && (
          <>
            <div class="record-marks">
              <Badge tone="wrong">{failures > 1 ? `Failed ${failures} times` : 'Failed'}</Badge>
            </div>
            <div class="small">{lastRun?.error}</div>
          </>
        )}
      </>
    ),
  },
  { name: 'Every', isNumber: true, show: ({ intervalSeconds }) => formatDuration(intervalSeconds) },
  {
    name: 'Last run',
    show: ({ lastRun }) =>
      lastRun ? <RelativeTime at={lastRun.startedAt} /> : <span class="quiet">Not yet</span>,
  },
  {
    name: 'Took',
    isNumber: true,
    show: ({ lastRun }) => (lastRun ? `${formatNumber(lastRun.durationMs)} ms` : '–'),
  },
  {
    name: 'Affected',
    isNumber: true,
    show: ({ lastRun }) => (lastRun ? formatNumber(lastRun.items) : '–'),
  },
]

/** The recurring background tasks with their last runs. */
export function SweepsView() {
  const { value, error, reload } = useResource('admin/sweeps', () => readAdmin('listSweeps'))
  return (
    <div class="stack">
      <p class="quiet">Background tasks that repeat. One that does nothing is recorded once a minute.</p>
      <ErrorNotice error={error} onRetry={reload} />
      {!value && !error && <Loading what="the sweeps" />}
      {value && (
        <RecordTable label="sweeps" columns={COLUMNS} rows={value.sweeps} keyOf={({ name }) => name} />
      )}
    </div>
  )
}
