import { useLocation } from 'preact-iso'
import { DeadEnd } from './dead-end.tsx'
import { SiteToClaim } from './site-to-claim.tsx'

/** `/claim?slug=&token=` (spec 4.12): the site, the time left, sign in, claimed. */
export function ClaimPage() {
  const { query } = useLocation()
  const { slug, token } = query
  if (slug && token) return <SiteToClaim key={`${slug} ${token}`} slug={slug} token={token} />
  return (
    <DeadEnd
      title="This claim link is not whole."
      way="It ends in slug=… and token=…: copy it again, to its last character."
    />
  )
}
