import type { AdminNode } from '../../protocol/api/admin/lists.schema.ts'
import { formatNumber } from '../../protocol/format.ts'
import { useResource } from '../api/resource.ts'
import { ErrorNotice } from '../kit/notice.tsx'
import { Badge, Empty } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { readAdmin } from './admin-client.ts'
import { type Column, RecordTable } from './record-table.tsx'

const COLUMNS: readonly Column<AdminNode>[] = [
  {
    name: 'Node',
    show: ({ host, isSilent }) => (
      <>
        <bdi>{host}</bdi>
        <div class="record-marks">{isSilent && <Badge tone="wrong">Silent</Badge>}</div>
      </>
    ),
  },
  { name: 'Release', show: ({ release }) => release },
  { name: 'Started', show: ({ startedAt }) => <RelativeTime at={startedAt} /> },
  { name: 'Last report', show: ({ seenAt }) => <RelativeTime at={seenAt} /> },
  {
    name: 'Behind',
    isNumber: true,
    show: ({ lagSeconds }) => (lagSeconds === null ? '–' : `${lagSeconds.toFixed(1)} s`),
  },
  { name: 'Numbers', show: ({ numbers }) => <Numbers numbers={numbers} /> },
]

function Numbers({ numbers }: Pick<AdminNode, 'numbers'>) {
  const shown = Object.entries(numbers).filter(([, value]) => value !== 0)
  if (shown.length === 0) return <span class="quiet">–</span>
  return (
    <details>
      <summary>{shown.length} metrics</summary>
      <ul class="metric-list small">
        {shown.map(([name, value]) => (
          <li key={name}>
            <code>{name}</code> {formatNumber(value)}
          </li>
        ))}
      </ul>
    </details>
  )
}

/** The nodes of a fleet. */
export function NodesView() {
  const { value, error, reload } = useResource('admin/nodes', () => readAdmin('listNodes'))
  return (
    <div class="stack">
      <ErrorNotice error={error} onRetry={reload} />
      {!value && !error && <Loading what="the nodes" />}
      {value?.nodes.length === 0 && (
        <Empty title="One machine">
          <p>Nodes are listed here when the service uses a PostgreSQL database.</p>
        </Empty>
      )}
      {value && value.nodes.length > 0 && (
        <RecordTable label="nodes" columns={COLUMNS} rows={value.nodes} keyOf={({ id }) => id} />
      )}
    </div>
  )
}
