import { useResource } from '../api/resource.ts'
import { signedInAs } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { Page } from '../app/page.tsx'
import { siteAddress } from '../app/site-address.ts'
import { ButtonLink } from '../kit/button.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { SiteLink } from './site-link.tsx'

/** A site that has an owner, who may be the user. */
export function ClaimedPage({ slug }: { slug: string }) {
  const isSignedIn = useSignal(signedInAs) !== null
  const { value: own, loading } = useResource(isSignedIn ? `site/${slug}` : undefined, () =>
    slipway.details(slug),
  )
  return (
    <Page
      title="Keep a site"
      heading={own?.role === 'owner' ? 'This site is already yours' : 'This site is already claimed'}
      narrow
    >
      {loading && !own ? (
        <Loading what="the site" />
      ) : (
        <div class="stack">
          <p class="lead">It stays online.{!own && ' If you claimed it, find it in your sites.'}</p>
          <p>
            <SiteLink siteUrl={own?.siteUrl ?? siteAddress(slug)} />
          </p>
          <div class="choices">
            {own ? (
              <ButtonLink variant="main" href={`/sites/${own.slug}`}>
                Manage site
              </ButtonLink>
            ) : (
              <ButtonLink href="/sites">View your sites</ButtonLink>
            )}
          </div>
        </div>
      )}
    </Page>
  )
}
