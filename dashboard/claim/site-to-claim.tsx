import { useEffect, useState } from 'preact/hooks'
import type { ClaimPreview } from '../../client/wire.ts'
import { useAction } from '../api/action.ts'
import type { Failing } from '../api/failing.ts'
import { slipway } from '../api/slipway.ts'
import { Page } from '../app/page.tsx'
import { useWayOn } from '../app/use-way-on.ts'
import { forgetAnonymous } from '../drop/anonymous-sites.ts'
import { Loading } from '../kit/panel.tsx'
import { say } from '../kit/toast.tsx'
import { ClaimedPage } from './claimed-page.tsx'
import { DeadEnd } from './dead-end.tsx'
import { OfferPage } from './offer-page.tsx'

/** What to do about a link that leads nowhere any more, by the code of the failure. */
const ENDS: Partial<Record<Failing['code'], string>> = {
  INVALID_CLAIM_TOKEN: 'Check that the link is whole: copy it again, to its last character.',
  NOT_FOUND: 'It may have been deleted. If not, check that the link is whole.',
  SITE_EXPIRED: 'Publish the folder again: it gets a new address and a new claim link.',
  ALREADY_CLAIMED: 'Only its owner can change it. You can publish the folder again as a site of your own.',
}

/** What a claim link leads to, as the server sees it. */
export function SiteToClaim({ slug, token }: { slug: string; token: string }) {
  const wayOn = useWayOn()
  const [site, show] = useState<ClaimPreview | undefined>(undefined)
  const look = useAction(async () => show(await slipway.claimPreview(slug, token)))
  const claim = useAction(async () => {
    const { alreadyOwned } = await slipway.claim(slug, token)
    forgetAnonymous(slug)
    say(
      alreadyOwned
        ? 'The site was yours already.'
        : 'The site is yours. It stays online until you delete it.',
    )
    wayOn(`/sites/${encodeURIComponent(slug)}`, true)
  })
  useEffect(() => void look(), [])

  const end = [look.failing, claim.failing].find((failing) => failing && failing.code in ENDS)
  const isOver = site?.claimed || (end !== undefined && end.code !== 'INVALID_CLAIM_TOKEN')
  useEffect(() => {
    if (isOver) forgetAnonymous(slug)
  }, [isOver])
  if (end) return <DeadEnd title={end.title} way={ENDS[end.code]!} />
  if (!site && look.failing)
    return (
      <DeadEnd
        title={look.failing.title}
        way={look.failing.way || 'Nothing is lost: try again in a while.'}
        onAgain={look}
      />
    )
  if (!site)
    return (
      <Page title="Claim a site" narrow>
        <Loading what="the site" />
      </Page>
    )
  if (site.claimed) return <ClaimedPage siteUrl={site.siteUrl} />
  return <OfferPage site={site} claim={claim} look={look} />
}
