import type { AdminDomain } from '../../protocol/api/admin/lists.schema.ts'
import { Badge } from '../kit/panel.tsx'
import { showToast } from '../kit/toast.tsx'
import { changeAdmin } from './admin-client.ts'
import { bytesColumn, createdColumn, ownerColumn, visitsColumn } from './columns.tsx'
import { ListView } from './list-view.tsx'
import { ReasonDialog } from './moderation-dialogs.tsx'
import type { Column } from './record-table.tsx'
import type { RowAction, RowDialogProps } from './row-menu.tsx'

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
  {
    name: 'Release domain',
    icon: 'trash',
    danger: true,
    isOffered: ({ status }) => status === 'active',
    Dialog: ReleaseDomain,
  },
]

function ReleaseDomain({ row: { domain, slug }, onChanged, onClose }: RowDialogProps<AdminDomain>) {
  return (
    <ReasonDialog
      title={`Release ${domain}?`}
      verb="Release domain"
      lead={`It no longer shows ${slug}, and any account can add it. This can't be undone.`}
      onClose={onClose}
      act={async (reason) => {
        await changeAdmin('releaseDomain', { params: { domain }, json: { reason } })
        await onChanged()
        showToast(`${domain} is released.`)
      }}
    />
  )
}

/** All custom domains. */
export function DomainsView() {
  return (
    <ListView
      list="listAllDomains"
      what="domains"
      columns={COLUMNS}
      nameOf={({ domain, owner }) => (owner ? `${domain} of ${owner.email}` : domain)}
      search="Beginning of a domain or email address"
      isSorted
      actions={ACTIONS}
    />
  )
}
