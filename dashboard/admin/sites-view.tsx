import type { AdminSite } from '../../protocol/api/admin/lists.schema.ts'
import { Icon } from '../kit/icon.tsx'
import { Badge } from '../kit/panel.tsx'
import { TimeLeft } from '../kit/time.tsx'
import { bytesColumn, createdColumn, ownerColumn, visitsColumn } from './columns.tsx'
import { ListView } from './list-view.tsx'
import { moderationActions } from './moderation-actions.tsx'
import { siteTarget } from './moderation-target.ts'
import type { Column } from './record-table.tsx'
import type { RowAction } from './row-menu.tsx'
import { SuspensionMarks } from './suspension-marks.tsx'

const COLUMNS: readonly Column<AdminSite>[] = [
  {
    name: 'Site',
    show: ({ slug, title, siteUrl, status, hasPassword, expiresAt, suspension, isOwnerSuspended }) => (
      <>
        <a href={siteUrl} target="_blank" rel="noreferrer">
          <bdi>{title ?? slug}</bdi>
        </a>
        {title && <div class="quiet small">{slug}</div>}
        <SuspensionMarks suspension={suspension} />
        <div class="record-marks">
          {!suspension && isOwnerSuspended && <Badge tone="wrong">Owner suspended</Badge>}
          {status === 'pending' && <Badge tone="plain">Not live yet</Badge>}
          {status === 'expired' && <Badge tone="warn">Expired</Badge>}
          {status !== 'expired' && expiresAt && (
            <Badge tone="plain">
              Expires in <TimeLeft until={expiresAt} over="a moment" />
            </Badge>
          )}
          {hasPassword && (
            <Badge tone="plain">
              <Icon name="lock" size={12} /> Password
            </Badge>
          )}
        </div>
      </>
    ),
  },
  ownerColumn,
  bytesColumn,
  visitsColumn,
  createdColumn,
]

/** What an administrator can do with a site. */
const ACTIONS: readonly RowAction<AdminSite>[] = [
  { name: 'Open site', icon: 'open', href: ({ siteUrl }) => siteUrl, outside: true },
  { name: 'Audit log', icon: 'clock', href: ({ slug }) => `/admin/audit?q=${encodeURIComponent(slug)}` },
  ...moderationActions<AdminSite>(siteTarget),
]

/** All sites. */
export function SitesView() {
  return (
    <ListView
      list="listAllSites"
      what="sites"
      columns={COLUMNS}
      nameOf={({ slug }) => slug}
      search="Beginning of a name, title, domain or email address"
      isSorted
      actions={ACTIONS}
    />
  )
}
