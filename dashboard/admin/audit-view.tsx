import type { AuditEntry } from '../../protocol/api/admin/audit.schema.ts'
import { formatMoment } from '../app/format-time.ts'
import { LocalTime } from '../kit/time.tsx'
import { ListView } from './list-view.tsx'
import type { Column } from './record-table.tsx'

const COLUMNS: readonly Column<AuditEntry>[] = [
  { name: 'When', show: ({ at }) => <LocalTime at={at} format={formatMoment} /> },
  {
    name: 'Who',
    show: ({ actor, network }) => (
      <>
        <bdi>{actor}</bdi>
        {network && <div class="quiet small">{network}</div>}
      </>
    ),
  },
  { name: 'Change', show: ({ action }) => <code>{action}</code> },
  { name: 'Of', show: ({ target }) => <bdi>{target}</bdi> },
  {
    name: 'Details',
    show: ({ details }) =>
      details ? (
        <dl class="audit-details small">
          {Object.entries(details).map(([name, value]) => (
            <div key={name}>
              <dt class="quiet">{name}</dt>
              <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
            </div>
          ))}
        </dl>
      ) : (
        <span class="quiet">–</span>
      ),
  },
]

/** The changes that administrators made; with `q` in the address, those of one site, account or domain. */
export function AuditView() {
  return (
    <ListView
      list="listAuditEntries"
      what="audit"
      columns={COLUMNS}
      nameOf={({ id }) => id}
      search="The whole name of a site, an account or a domain"
      searchField="target"
    />
  )
}
