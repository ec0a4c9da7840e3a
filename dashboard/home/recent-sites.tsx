import { pluralize } from '../../protocol/format.ts'
import { useSignal } from '../api/use-signal.ts'
import {
  type AnonymousSite,
  anonymousSites,
  forgetAnonymous,
  rememberAnonymous,
} from '../drop/anonymous-sites.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { Panel } from '../kit/panel.tsx'
import { TimeLeft, useNow } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'

/** Interval at which expired sites leave the list. */
const REFRESH_INTERVAL_MS = 15_000

interface RecentSitesProps {
  /** Undefined while another job is in progress. */
  onUpdate: ((site: AnonymousSite) => void) | undefined
  /** The slug of the site whose result is shown above: the list is folded and has only the others. */
  below?: string | undefined
}

/** Sites that this browser can still update and claim: closing the tab loses nothing. */
export function RecentSites({ onUpdate, below }: RecentSitesProps) {
  const now = useNow(REFRESH_INTERVAL_MS)
  const sites = useSignal(anonymousSites).filter(
    ({ slug, expiresAt }) => Date.parse(expiresAt) > now && slug !== below,
  )
  if (sites.length === 0) return null
  const list = (
    <ul class="published-here">
      {sites.map((site) => (
        <Row key={site.slug} site={site} onUpdate={onUpdate} />
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

function Row({ site, onUpdate }: Pick<RecentSitesProps, 'onUpdate'> & { site: AnonymousSite }) {
  const { slug, siteUrl, claimUrl, expiresAt } = site
  const { host } = new URL(siteUrl)
  const { pathname, search } = new URL(claimUrl)
  const forget = () => {
    forgetAnonymous(slug)
    showToast('Removed from this list. The site stays online until it expires.', () =>
      rememberAnonymous(site),
    )
  }
  return (
    <li>
      <div>
        <a href={siteUrl} target="_blank" rel="noreferrer">
          {host}
        </a>
        <p class="quiet small">
          Expires in <TimeLeft until={expiresAt} over="a moment" />
        </p>
      </div>
      <div class="choices">
        <ButtonLink variant="main" href={pathname + search} label={`Keep ${host}`}>
          Keep
        </ButtonLink>
        {onUpdate && (
          <Button label={`Update ${host}`} onClick={() => onUpdate(site)}>
            Update
          </Button>
        )}
        <Button variant="link" label={`Remove from list: ${host}`} onClick={forget}>
          Remove from list
        </Button>
      </div>
    </li>
  )
}
