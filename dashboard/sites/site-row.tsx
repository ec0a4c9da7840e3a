import { useRef, useState } from 'preact/hooks'
import type { SiteSummary } from '../../protocol/api/sites.schema.ts'
import { formatBytes, pluralize } from '../../protocol/format.ts'
import { DropOnSite } from '../drop/drop-to-update.tsx'
import { copyAddress } from '../kit/copy.tsx'
import { Icon } from '../kit/icon.tsx'
import { Menu, type MenuItem } from '../kit/menu.tsx'
import { useFocusAround } from '../kit/notice.tsx'
import { Badge } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { DeleteSite } from '../site/delete-site.tsx'
import { archiveUrl } from '../site/duplicate-site.ts'
import { toHost } from './address.ts'
import { Expiry, isNear } from './expiry.tsx'
import { Thumbnail } from './thumbnail.tsx'

interface SiteRowProps {
  site: SiteSummary
  /** Called when something was dropped on it and is live, or it was deleted. */
  onChanged: () => void
}

/** A site in a list. */
export function SiteRow({ site, onChanged }: SiteRowProps) {
  const { slug, siteUrl, title, suspension } = site
  const row = useRef<HTMLLIElement>(null)
  useFocusAround(row)
  return (
    <li ref={row}>
      <DropOnSite slug={slug} name={title ?? slug} canChange={!suspension} onPublished={onChanged}>
        <div class="site-row">
          <Thumbnail site={site} />
          <div class="site-words">
            <h2>
              <a href={`/sites/${slug}`}>
                <bdi>{title ?? slug}</bdi>
              </a>
            </h2>
            <p class="small">
              <a href={siteUrl} target="_blank" rel="noreferrer">
                {toHost(siteUrl)}
              </a>
            </p>
            <p class="quiet small">
              {pluralize(site.fileCount, 'file')}, {formatBytes(site.totalBytes)} · Updated{' '}
              <RelativeTime at={site.updatedAt} />
            </p>
            {suspension && <p class="small">Suspended: {suspension.reason}</p>}
          </div>
          <p class="site-marks">
            <StatusBadge site={site} />
            {site.openThreads > 0 && (
              <a href={`/sites/${slug}/review?preview=${site.openReview}`}>
                {pluralize(site.openThreads, 'unresolved comment')}
              </a>
            )}
            {site.hasPassword && (
              <Badge tone="plain">
                <Icon name="lock" size={14} /> Password
              </Badge>
            )}
            {site.ownerEmail && (
              <span class="quiet small shared-by">
                Shared by <bdi>{site.ownerEmail}</bdi>
              </span>
            )}
            {site.expiresAt && (
              <Badge tone={isNear(site.expiresAt) ? 'warn' : 'plain'}>
                <Expiry at={site.expiresAt} />
              </Badge>
            )}
          </p>
          <SiteMenu site={site} onDeleted={onChanged} />
        </div>
      </DropOnSite>
    </li>
  )
}

/** The state of a site that is not live. */
function StatusBadge({ site: { status, suspension } }: { site: SiteSummary }) {
  if (suspension) return <Badge tone="wrong">Suspended</Badge>
  return status === 'pending' ? <Badge tone="warn">Not live yet</Badge> : null
}

function SiteMenu({ site, onDeleted }: { site: SiteSummary; onDeleted: () => void }) {
  const { slug, siteUrl, title, currentVersionId, suspension } = site
  const [isDeleting, setDeleting] = useState(false)
  const items: MenuItem[] = []
  if (!suspension)
    items.push(
      { name: 'Visit', icon: 'open', href: siteUrl, outside: true },
      { name: 'Copy URL', icon: 'copy', onClick: () => copyAddress(siteUrl) },
      { name: 'Settings', icon: 'edit', href: `/sites/${slug}/settings` },
    )
  if (currentVersionId !== null)
    items.push({ name: 'Download files', icon: 'download', href: archiveUrl(slug), download: true })
  if (site.role === 'owner')
    items.push({ name: 'Delete site', icon: 'trash', danger: true, onClick: () => setDeleting(true) })
  return (
    <div class="site-menu">
      <Menu label={`Actions for ${title ?? slug}`} items={items} />
      {isDeleting && <DeleteSite site={site} onClose={() => setDeleting(false)} onDeleted={onDeleted} />}
    </div>
  )
}
