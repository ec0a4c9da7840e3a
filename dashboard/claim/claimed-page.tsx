import { Page } from '../app/page.tsx'
import { siteAddress } from '../app/site-address.ts'
import { ButtonLink } from '../kit/button.tsx'
import { SiteLink } from './site-link.tsx'

/** A site that has an owner. */
export function ClaimedPage({ slug }: { slug: string }) {
  return (
    <Page title="Claim a site" heading="This site is already claimed." narrow>
      <div class="stack">
        <p class="lead">If it was you, there is nothing left to do: it stays online.</p>
        <p>
          <SiteLink siteUrl={siteAddress(slug)} />
        </p>
        <div class="choices">
          <ButtonLink href="/sites">Your sites</ButtonLink>
        </div>
      </div>
    </Page>
  )
}
