import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { pluralize } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import {
  type AnonymousSite,
  anonymousSites,
  forgetAnonymous,
  rememberAnonymous,
} from '../drop/anonymous-sites.ts'
import { endJob, isBusyAt, WAIT_FOR_UPLOAD } from '../drop/jobs.ts'
import { anonymousTarget, FRONT_PLACE } from '../drop/page-target.ts'
import { setElementTarget } from '../drop/window-drop.tsx'
import { Button, ButtonLink } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { useFocusAround } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { TimeLeft, useNow } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { Thumbnail } from '../sites/thumbnail.tsx'
import { updatedSite } from './updated-site.ts'

/** Interval at which expired sites leave the list. */
const REFRESH_INTERVAL_MS = 15_000

interface RecentSitesProps {
  /** The slug of the site whose result is shown above: the list is folded and has only the others. */
  below?: string | undefined
}

/** Sites that this browser can still update and claim: closing the tab loses nothing. */
export function RecentSites({ below }: RecentSitesProps) {
  const now = useNow(REFRESH_INTERVAL_MS)
  const sites = useSignal(anonymousSites).filter(
    ({ slug, expiresAt }) => Date.parse(expiresAt) > now && slug !== below,
  )
  if (sites.length === 0) return null
  const list = (
    <ul class="published-here">
      {sites.map((site) => (
        <Row key={site.slug} site={site} />
      ))}
    </ul>
  )
  if (below !== undefined)
    return (
      <details>
        <summary>{pluralize(sites.length, 'other unclaimed site')} from this browser</summary>
        {list}
      </details>
    )
  return (
    <Panel title="Unclaimed sites" lead="Published from this browser. Keep a site before it expires.">
      {list}
    </Panel>
  )
}

function Row({ site }: { site: AnonymousSite }) {
  const row = useRef<HTMLLIElement>(null)
  useFocusAround(row)
  const update = useUpdate()
  useEffect(() => setElementTarget(row.current!, anonymousTarget(site)), [site])
  const { slug, siteUrl, claimUrl, expiresAt, title = null, iconUrl = null, thumbnailUrl = null } = site
  const { host } = new URL(siteUrl)
  const { pathname, search } = new URL(claimUrl)
  const forget = () => {
    forgetAnonymous(slug)
    showToast('Removed from this list. The site stays online until it expires.', () =>
      rememberAnonymous(site),
    )
  }
  return (
    <li ref={row} class="drop-on">
      <Thumbnail site={{ slug, title, iconUrl, thumbnailUrl, imageUrl: null }} />
      <div class="site-words">
        {title && (
          <p class="title">
            <bdi>{title}</bdi>
          </p>
        )}
        <p class={title ? 'small' : ''}>
          <a href={siteUrl} target="_blank" rel="noreferrer">
            {host}
          </a>
        </p>
        <p class="quiet small">
          Expires in <TimeLeft until={expiresAt} over="a moment" />
        </p>
      </div>
      <div class="choices">
        <ButtonLink variant="main" href={pathname + search} label={`Keep ${host}`}>
          Keep
        </ButtonLink>
        <Button label={`Update ${host}`} onClick={() => update(site)}>
          Update
        </Button>
        <Button variant="link" label={`Remove from list: ${host}`} onClick={forget}>
          Remove from list
        </Button>
        <DeleteUnclaimed site={site} />
      </div>
    </li>
  )
}

/** Takes a site down after a confirmation. */
function DeleteUnclaimed({ site: { slug, siteUrl, claimToken } }: { site: AnonymousSite }) {
  const { host } = new URL(siteUrl)
  const [isConfirming, setConfirming] = useState(false)
  const remove = useAction(async () => {
    // Also when its user has claimed it since.
    await slipway.delete(slug, { claimToken, permanent: true }).catch(ignoreGone)
    forgetAnonymous(slug)
    showToast(`${host} deleted.`)
  })
  return (
    <>
      <Button variant="link" label={`Delete ${host}`} onClick={() => setConfirming(true)}>
        Delete
      </Button>
      {isConfirming && (
        <Confirm
          title={`Delete ${host}?`}
          verb="Delete site"
          action={remove}
          onClose={() => setConfirming(false)}
        >
          <p>The site goes offline immediately and can't be restored.</p>
        </Confirm>
      )}
    </>
  )
}

/** Ignores that the site was already deleted in another tab, or has expired. */
function ignoreGone(error: unknown): void {
  if (!isSlipwayError(error, 'NOT_FOUND', 'SITE_EXPIRED')) throw error
}

/** Opens the drop zone of the front page for the next version of a site. */
function useUpdate(): (site: AnonymousSite) => void {
  const { path, route } = useLocation()
  return (site) => {
    if (isBusyAt(FRONT_PLACE)) return showToast(WAIT_FOR_UPLOAD)
    endJob(FRONT_PLACE)
    updatedSite.value = site
    if (path !== '/') route('/')
    scrollTo({ top: 0 })
  }
}
