import type { SiteSummary } from '../../protocol/api/sites.ts'
import { formatBytes, pluralize } from '../../protocol/format.ts'
import { DropOnSite } from '../drop/drop-to-update.tsx'
import { Icon } from '../kit/icon.tsx'
import { Badge } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { toHost } from './address.ts'
import { Expiry, isNear } from './expiry.tsx'
import { Thumbnail } from './thumbnail.tsx'

interface SiteRowProps {
  site: SiteSummary
  /** Called when something was dropped on it and is live. */
  onPublished: () => void
}

/** A site in a list. */
export function SiteRow({ site, onPublished }: SiteRowProps) {
  const { slug, siteUrl, title } = site
  return (
    <li>
      <DropOnSite slug={slug} onPublished={onPublished}>
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
              {pluralize(site.fileCount, 'file')}, {formatBytes(site.totalBytes)}, changed{' '}
              <RelativeTime at={site.updatedAt} />
            </p>
          </div>
          <p class="site-marks">
            {site.status === 'pending' && <Badge tone="warn">Not live yet</Badge>}
            {site.hasPassword && (
              <Badge tone="plain">
                <Icon name="lock" size={14} /> Password
              </Badge>
            )}
            {site.expiresAt && (
              <Badge tone={isNear(site.expiresAt) ? 'warn' : 'plain'}>
                <Expiry at={site.expiresAt} />
              </Badge>
            )}
          </p>
        </div>
      </DropOnSite>
    </li>
  )
}
