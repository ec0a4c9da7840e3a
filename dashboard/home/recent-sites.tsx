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
}

/** Sites that this browser can still update and claim: closing the tab loses nothing. */
export function RecentSites({ onUpdate }: RecentSitesProps) {
  const now = useNow(REFRESH_INTERVAL_MS)
  const sites = useSignal(anonymousSites).filter(({ expiresAt }) => Date.parse(expiresAt) > now)
  if (sites.length === 0) return null
  return (
    <Panel title="Published from this browser" lead="These have no owner yet. Claim one, and it stays.">
      <ul class="published-here">
        {sites.map((site) => (
          <Row key={site.slug} site={site} onUpdate={onUpdate} />
        ))}
      </ul>
    </Panel>
  )
}

function Row({ site, onUpdate }: RecentSitesProps & { site: AnonymousSite }) {
  const { slug, siteUrl, claimUrl, expiresAt } = site
  const { host } = new URL(siteUrl)
  const { pathname, search } = new URL(claimUrl)
  const forget = () => {
    forgetAnonymous(slug)
    showToast(`${host} is forgotten here. It stays live until its time is over.`, () =>
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
          <TimeLeft until={expiresAt} over="Nothing" /> left
        </p>
      </div>
      <div class="choices">
        <ButtonLink variant="main" href={pathname + search} label={`Claim ${host}`}>
          Claim
        </ButtonLink>
        {onUpdate && (
          <Button label={`Update ${host}`} onClick={() => onUpdate(site)}>
            Update
          </Button>
        )}
        <Button variant="link" label={`Forget ${host}`} onClick={forget}>
          Forget
        </Button>
      </div>
    </li>
  )
}
