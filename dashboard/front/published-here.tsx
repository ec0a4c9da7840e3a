import { useKept } from '../api/use-kept.ts'
import {
  type AnonymousSite,
  anonymousSites,
  forgetAnonymous,
  rememberAnonymous,
} from '../drop/anonymous-sites.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { Panel } from '../kit/panel.tsx'
import { TimeLeft, useNow } from '../kit/time.tsx'
import { say } from '../kit/toast.tsx'

/** Often enough for a list from which sites go that have run out. */
const EVERY = 15_000

interface PublishedHereProps {
  /** Undefined while something else is going on. */
  onUpdate: ((site: AnonymousSite) => void) | undefined
}

/** What this browser can still update and claim: closing the tab loses nothing. */
export function PublishedHere({ onUpdate }: PublishedHereProps) {
  const now = useNow(EVERY)
  const sites = useKept(anonymousSites).filter(({ expiresAt }) => Date.parse(expiresAt) > now)
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

function Row({ site, onUpdate }: PublishedHereProps & { site: AnonymousSite }) {
  const { slug, siteUrl, claimUrl, expiresAt } = site
  const { host } = new URL(siteUrl)
  const { pathname, search } = new URL(claimUrl)
  const forget = () => {
    forgetAnonymous(slug)
    say(`${host} is forgotten here. It stays live until its time is over.`, () => rememberAnonymous(site))
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
        <ButtonLink look="main" href={pathname + search} label={`Claim ${host}`}>
          Claim
        </ButtonLink>
        {onUpdate && (
          <Button label={`Update ${host}`} onClick={() => onUpdate(site)}>
            Update
          </Button>
        )}
        <Button look="link" label={`Forget ${host}`} onClick={forget}>
          Forget
        </Button>
      </div>
    </li>
  )
}
