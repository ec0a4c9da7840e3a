import { Page } from '../app/page.tsx'
import { siteAddress } from '../app/site-address.ts'
import { ButtonLink } from '../kit/button.tsx'
import { SiteLink } from './site-link.tsx'

/** A site that has an owner. */
export function ClaimedPage({ slug }: { slug: string }) {
  return (
    <Page title="Keep a site" heading="This site is already claimed" narrow>
      <div class="stack">
        <p class="lead">It stays online. If you claimed it, find it in your sites.</p>
        <p>
          <SiteLink siteUrl={siteAddress(slug)} />
        </p>
        <div class="choices">
          <ButtonLink href="/sites">View your sites</ButtonLink>
        </div>
      </div>
    </Page>
  )
}
