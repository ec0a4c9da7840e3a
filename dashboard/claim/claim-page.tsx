import { useLocation } from 'preact-iso'
import { ClaimError } from './claim-error.tsx'
import { SiteToClaim } from './site-to-claim.tsx'

/** `/claim?slug=&token=` (spec 4.12): the site, the remaining time, sign in, claimed. */
export function ClaimPage() {
  const { query } = useLocation()
  const { slug, token } = query
  if (slug && token) return <SiteToClaim key={`${slug} ${token}`} slug={slug} token={token} />
  return <ClaimError title="This claim link is incomplete" hint="Copy the whole link and try again." />
}
