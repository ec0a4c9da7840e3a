import type { AdminCertificate } from '../../protocol/api/admin/lists.schema.ts'
import { formatDayAndTime } from '../app/format-time.ts'
import { Badge } from '../kit/panel.tsx'
import { LocalTime } from '../kit/time.tsx'
import { ListView } from './list-view.tsx'
import type { Column } from './record-table.tsx'

function timeColumn(name: string, find: (one: AdminCertificate) => string | null): Column<AdminCertificate> {
  return {
    name,
    show: (one) => {
      const at = find(one)
      return at === null ? <span class="quiet">–</span> : <LocalTime at={at} format={formatDayAndTime} />
    },
  }
}

const COLUMNS: readonly Column<AdminCertificate>[] = [
  {
    name: 'Name',
    show: ({ name, expiresAt, problem, failures }) => (
      <>
        <bdi>{name}</bdi>
        <div class="record-marks">
          {problem && <Badge tone="wrong">{failures > 1 ? `Failed ${failures} times` : 'Failed'}</Badge>}
          {!problem && expiresAt === null && <Badge tone="plain">Being issued</Badge>}
        </div>
        {problem && <div class="quiet small">{problem}</div>}
      </>
    ),
  },
  timeColumn('Expires', ({ expiresAt }) => expiresAt),
  timeColumn('Renews', ({ renewsAt }) => renewsAt),
  timeColumn('Next step', ({ nextStepAt }) => nextStepAt),
]

/** The certificates of the service, the first to expire first. */
export function CertificatesView() {
  return (
    <ListView
      list="listCertificates"
      what="certificates"
      columns={COLUMNS}
      nameOf={({ name }) => name}
      search="Beginning of a name"
    />
  )
}
