import { useId, useState } from 'preact/hooks'
import type { ClaimOffer } from '../../protocol/api/sites.ts'
import { formatBytes, pluralize } from '../../protocol/format.ts'
import type { Action } from '../api/action.ts'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { Page } from '../app/page.tsx'
import { versionAddress } from '../app/version-address.ts'
import { Button } from '../kit/button.tsx'
import { LiveFrame } from '../kit/live-frame.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { TimeLeft } from '../kit/time.tsx'
import { SignInForm } from '../sign-in/sign-in-form.tsx'
import { Thumbnail } from '../sites/thumbnail.tsx'
import { SiteLink } from './site-link.tsx'
import { useExpiry } from './use-expiry.ts'

interface ClaimOfferPageProps {
  site: ClaimOffer
  claim: Action<[]>
  /** Loads the state again. */
  reload: Action<[]>
}

/** A site without an owner: how to keep it, and its preview beside that. */
export function ClaimOfferPage({ site, claim, reload }: ClaimOfferPageProps) {
  const name = site.title || site.slug
  useExpiry(site.expiresAt, reload)
  return (
    <Page title={`Keep ${name}`} heading="Keep this site">
      <div class="claim-offer">
        <div class="stack">
          <Offered site={site} name={name} />
          <ErrorNotice error={reload.error} onRetry={reload} />
          <Claiming claim={claim} />
        </div>
        <Preview site={site} name={name} />
      </div>
    </Page>
  )
}

function Offered({ site, name }: { site: ClaimOffer; name: string }) {
  const id = useId()
  return (
    <section class="claim-site" aria-labelledby={id}>
      <Thumbnail site={{ ...site, imageUrl: null }} />
      <div class="site-words">
        <h2 id={id}>
          <bdi>{name}</bdi>
        </h2>
        <p class="small">
          <SiteLink siteUrl={site.siteUrl} />
        </p>
        <p class="quiet small">
          {pluralize(site.fileCount, 'file')}, {formatBytes(site.totalBytes)}
          {site.expiresAt !== null && (
            <>
              {' · Expires in '}
              <TimeLeft until={site.expiresAt} over="a moment" />
            </>
          )}
        </p>
      </div>
    </section>
  )
}

function Preview({ site, name }: { site: ClaimOffer; name: string }) {
  const { siteUrl, currentVersionId: versionId } = site
  if (versionId === null) return <Notice title="The first upload isn't finished yet" />
  return (
    <LiveFrame src={versionAddress({ siteUrl, versionId })} title={`Preview of ${name}`} scripts={false} />
  )
}

/** Claims the site: one click for a signed-in user, otherwise by emailed code. */
function Claiming({ claim }: { claim: Action<[]> }) {
  const email = useSignal(signedInAs)
  const [asAnother, choose] = useState(false)
  if (email === null || asAnother) {
    const go = () => {
      choose(false)
      void claim()
    }
    return (
      <div class="stack">
        <p>Confirm your email and it stays online.</p>
        <SignInForm verb="Keep this site" onSignedIn={go} />
      </div>
    )
  }
  return (
    <div class="stack">
      <ErrorNotice error={claim.error} />
      <div class="choices">
        <Button variant="main" class="long-words" busy={claim.busy} onClick={claim}>
          Keep as {email}
        </Button>
        <Button variant="link" onClick={() => choose(true)}>
          Use another email
        </Button>
      </div>
    </div>
  )
}
