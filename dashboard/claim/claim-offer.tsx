import { useEffect, useId, useRef } from 'preact/hooks'
import type { ClaimOffer } from '../../protocol/api/sites.schema.ts'
import { formatBytes, pluralize } from '../../protocol/format.ts'
import type { Action } from '../api/action.ts'
import { serverNow } from '../api/server-clock.ts'
import { Page } from '../app/page.tsx'
import { versionAddress } from '../app/version-address.ts'
import { LiveFrame } from '../kit/live-frame.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { TimeLeft } from '../kit/time.tsx'
import { Thumbnail } from '../sites/thumbnail.tsx'
import { type Keeping, KeepSite } from './keep-site.tsx'
import { SiteLink } from './site-link.tsx'

interface ClaimOfferPageProps {
  site: ClaimOffer
  keeping: Keeping
  /** Loads the state again. */
  reload: Action<[]>
}

/** A site without an owner: how to keep it, and its preview beside that. */
export function ClaimOfferPage({ site, keeping, reload }: ClaimOfferPageProps) {
  const name = site.title || site.slug
  useExpiry(site.expiresAt, reload)
  return (
    <Page title={`Keep ${name}`} heading="Keep this site">
      <div class="claim-offer">
        <div class="stack">
          <Offered site={site} name={name} />
          <ErrorNotice error={reload.error} onRetry={reload} />
          <KeepSite keeping={keeping} title={site.title} isOpen />
        </div>
        <Preview site={site} name={name} />
      </div>
    </Page>
  )
}

function Offered({ site, name }: { site: ClaimOffer; name: string }) {
  const id = useId()
  return (
    <section class="claim-site" aria-labelledby={id}>
      <Thumbnail site={{ ...site, imageUrl: null }} />
      <div class="site-words">
        <h2 id={id}>
          <bdi>{name}</bdi>
        </h2>
        <p class="small">
          <SiteLink siteUrl={site.siteUrl} />
        </p>
        <p class="quiet small">
          {pluralize(site.fileCount, 'file')}, {formatBytes(site.totalBytes)}
          {site.expiresAt !== null && (
            <>
              {' · Expires in '}
              <TimeLeft until={site.expiresAt} over="a moment" />
            </>
          )}
        </p>
      </div>
    </section>
  )
}

function Preview({ site, name }: { site: ClaimOffer; name: string }) {
  const { siteUrl, currentVersionId: versionId } = site
  if (versionId === null) return <Notice title="The first upload isn't finished yet" />
  return (
    <LiveFrame src={versionAddress({ siteUrl, versionId })} title={`Preview of ${name}`} scripts={false} />
  )
}

/** Milliseconds after the expiry by which the server has surely applied it. */
const GRACE_MS = 2000

/** The longest delay of a browser timer, in milliseconds. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** Calls `over` once when this time has passed by the server's clock. */
function useExpiry(expiresAt: string | null, over: () => unknown): void {
  const latest = useRef(over)
  latest.current = over
  useEffect(() => {
    if (expiresAt === null) return
    const wait = Math.max(0, Date.parse(expiresAt) - serverNow()) + GRACE_MS
    if (wait > MAX_TIMEOUT_MS) return
    const timer = setTimeout(() => latest.current(), wait)
    return () => clearTimeout(timer)
  }, [expiresAt])
}
