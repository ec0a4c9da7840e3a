import type { AdminAccount } from '../../protocol/api/admin/lists.schema.ts'
import { formatNumber } from '../../protocol/format.ts'
import { Badge } from '../kit/panel.tsx'
import { bytesColumn, createdColumn, visitsColumn } from './columns.tsx'
import { ListView } from './list-view.tsx'
import { MarkAdministrator, UnmarkAdministrator } from './mark-administrator.tsx'
import { moderationActions } from './moderation-actions.tsx'
import { accountTarget } from './moderation-target.ts'
import { PlanDialog } from './plan-dialog.tsx'
import type { Column } from './record-table.tsx'
import type { RowAction } from './row-menu.tsx'
import { SuspensionMarks } from './suspension-marks.tsx'

const COLUMNS: readonly Column<AdminAccount>[] = [
  {
    name: 'Account',
    show: ({ email, administrator, isBeingDeleted, suspension }) => (
      <>
        <bdi>{email}</bdi>
        <div class="record-marks">
          {administrator && <Badge tone="good">Administrator</Badge>}
          {isBeingDeleted && <Badge tone="warn">Being deleted</Badge>}
        </div>
        <SuspensionMarks suspension={suspension} />
      </>
    ),
  },
  {
    name: 'Plan',
    show: ({ plan, limits }) => (
      <>
        {plan}
        {Object.keys(limits).length > 0 && <div class="quiet small">with exceptions</div>}
      </>
    ),
  },
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
    name: 'Plan and limits',
    icon: 'edit',
    isOffered: ({ isBeingDeleted }) => !isBeingDeleted,
    Dialog: PlanDialog,
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
  ...moderationActions<AdminAccount>(accountTarget).map((action) => ({
    ...action,
    isOffered: (row: AdminAccount) => !row.isBeingDeleted && (action.isOffered?.(row) ?? true),
  })),
]

/** All accounts. */
export function AccountsView() {
  return (
    <ListView
      list="listAccounts"
      what="accounts"
      columns={COLUMNS}
      nameOf={({ email }) => email}
      search="Beginning of an email address"
      isSorted
      actions={ACTIONS}
    />
  )
}
