import type { AdminDomain } from '../../protocol/api/admin/lists.ts'
import { Badge } from '../kit/panel.tsx'
import { bytesColumn, createdColumn, ownerColumn, visitsColumn } from './columns.tsx'
import { ListView } from './list-view.tsx'
import type { Column } from './record-table.tsx'
import type { RowAction } from './row-menu.tsx'

const COLUMNS: readonly Column<AdminDomain>[] = [
  {
    name: 'Domain',
    show: ({ domain, status, problem }) => (
      <>
        <bdi>{domain}</bdi>
        <div class="record-marks">
          {status === 'pending' && <Badge tone="warn">Pending</Badge>}
          {status === 'active' && problem && <Badge tone="wrong">Problem</Badge>}
        </div>
        {problem && <div class="quiet small">{problem}</div>}
      </>
    ),
  },
  {
    name: 'Site',
    show: ({ slug }) => <a href={`/admin/sites?q=${encodeURIComponent(slug)}`}>{slug}</a>,
  },
  ownerColumn,
  bytesColumn,
  visitsColumn,
  createdColumn,
]

/** What an administrator can do with a domain. */
const ACTIONS: readonly RowAction<AdminDomain>[] = [
  { name: 'Open domain', icon: 'open', href: ({ domain }) => `https://${domain}/`, outside: true },
  { name: 'Audit log', icon: 'clock', href: ({ domain }) => `/admin/audit?q=${encodeURIComponent(domain)}` },
]

/** All custom domains. */
export function DomainsView() {
  return (
    <ListView
      path="domains"
      columns={COLUMNS}
      nameOf={({ domain, owner }) => (owner ? `${domain} of ${owner.email}` : domain)}
      search="Beginning of a domain or email address"
      isSorted
      actions={ACTIONS}
    />
  )
}
