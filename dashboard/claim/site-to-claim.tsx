import { useEffect, useState } from 'preact/hooks'
import type { ClaimPreview } from '../../protocol/api/sites.schema.ts'
import { useAction } from '../api/action.ts'
import type { DisplayError } from '../api/display-error.ts'
import { slipway } from '../api/slipway.ts'
import { Page } from '../app/page.tsx'
import { forgetAnonymous } from '../drop/anonymous-sites.ts'
import { Loading } from '../kit/skeleton.tsx'
import { ClaimError } from './claim-error.tsx'
import { ClaimOfferPage } from './claim-offer.tsx'
import { ClaimedPage } from './claimed-page.tsx'
import { useKeeping } from './keep-site.tsx'

const WRONG_TOKEN = "This link doesn't belong to this site."

/** The next step for an unusable link, by error code. */
const ERROR_HINTS: Partial<Record<DisplayError['code'], string>> = {
  INVALID_CLAIM_TOKEN: 'Copy the whole link and try again.',
  NOT_FOUND: 'It may have been deleted. If not, copy the whole link and try again.',
  SITE_EXPIRED: 'Publish the folder again to get a new URL and a new claim link.',
  ALREADY_CLAIMED: 'Only its owner can change it. To get your own copy, publish the folder again.',
}

/** The site of a claim link, as the server reports it. */
export function SiteToClaim({ slug, token }: { slug: string; token: string }) {
  const [site, show] = useState<ClaimPreview | undefined>(undefined)
  const loadPreview = useAction(async () => show(await slipway.claimPreview(slug, token)))
  const keeping = useKeeping({ slug, claimToken: token })
  useEffect(() => void loadPreview(), [])

  const end = [loadPreview.error, keeping.claim.error].find((error) => error && error.code in ERROR_HINTS)
  const isOver = site?.claimed || (end !== undefined && end.code !== 'INVALID_CLAIM_TOKEN')
  useEffect(() => {
    if (isOver) forgetAnonymous(slug)
  }, [isOver])
  if (end) {
    const title = end.code === 'INVALID_CLAIM_TOKEN' ? WRONG_TOKEN : end.title
    return <ClaimError title={title} hint={ERROR_HINTS[end.code]!} />
  }
  if (!site && loadPreview.error)
    return (
      <ClaimError
        title={loadPreview.error.title}
        hint={loadPreview.error.hint || 'Nothing was lost. Try again in a moment.'}
        onAgain={loadPreview}
      />
    )
  if (!site)
    return (
      <Page title="Keep a site" narrow>
        <Loading what="the site" shape="picture" />
      </Page>
    )
  if (site.claimed) return <ClaimedPage slug={slug} />
  return <ClaimOfferPage site={site} keeping={keeping} reload={loadPreview} />
}
