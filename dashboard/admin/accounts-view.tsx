import type { AdminAccount } from '../../protocol/api/admin/lists.ts'
import { formatNumber } from '../../protocol/format.ts'
import { Badge } from '../kit/panel.tsx'
import { bytesColumn, createdColumn, visitsColumn } from './columns.tsx'
import { ListView } from './list-view.tsx'
import { MarkAdministrator, UnmarkAdministrator } from './mark-administrator.tsx'
import type { Column } from './record-table.tsx'
import type { RowAction } from './row-menu.tsx'

const COLUMNS: readonly Column<AdminAccount>[] = [
  {
    name: 'Account',
    show: ({ email, administrator, isBeingDeleted }) => (
      <>
        <bdi>{email}</bdi>
        <div class="record-marks">
          {administrator && <Badge tone="good">Administrator</Badge>}
          {isBeingDeleted && <Badge tone="warn">Being deleted</Badge>}
        </div>
      </>
    ),
  },
  { name: 'Plan', show: ({ plan }) => plan },
  {
    name: 'Sites',
    isNumber: true,
    show: ({ email, sites }) => (
      <a href={`/admin/sites?q=${encodeURIComponent(email)}`}>{formatNumber(sites)}</a>
    ),
  },
  bytesColumn,
  visitsColumn,
  createdColumn,
]

/** What an administrator can do with an account. */
const ACTIONS: readonly RowAction<AdminAccount>[] = [
  {
    name: 'Audit log',
    icon: 'clock',
    href: ({ email }) => `/admin/audit?q=${encodeURIComponent(email)}`,
  },
  {
    name: 'Make administrator',
    icon: 'lock',
    isOffered: ({ administrator, isBeingDeleted }) => !administrator && !isBeingDeleted,
    Dialog: MarkAdministrator,
  },
  {
    name: 'Remove administrator',
    icon: 'lock',
    danger: true,
    isOffered: ({ administrator }) => administrator,
    Dialog: UnmarkAdministrator,
  },
]

/** All accounts. */
export function AccountsView() {
  return (
    <ListView
      path="accounts"
      columns={COLUMNS}
      nameOf={({ email }) => email}
      search="Beginning of an email address"
      isSorted
      actions={ACTIONS}
    />
  )
}
