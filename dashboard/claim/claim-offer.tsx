import { useState } from 'preact/hooks'
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
import { Fact, Facts, Panel } from '../kit/panel.tsx'
import { TimeLeft } from '../kit/time.tsx'
import { SignInForm } from '../sign-in/sign-in-form.tsx'
import { SiteLink } from './site-link.tsx'
import { useExpiry } from './use-expiry.ts'

interface ClaimOfferPageProps {
  site: ClaimOffer
  claim: Action<[]>
  /** Loads the state again. */
  reload: Action<[]>
}

/** A site without an owner. */
export function ClaimOfferPage({ site, claim, reload }: ClaimOfferPageProps) {
  useExpiry(site.expiresAt, reload)
  return (
    <Page title={`Claim ${site.title || site.slug}`} heading="Keep this site" narrow>
      <div class="stack">
        <p class="lead">Nobody owns it yet. Claim it, and it stays online.</p>
        <Offered site={site} />
        <ErrorNotice error={reload.error} onRetry={reload} />
        <Claiming claim={claim} />
      </div>
    </Page>
  )
}

function Offered({ site }: { site: ClaimOffer }) {
  const name = site.title || site.slug
  const { siteUrl, currentVersionId: versionId } = site
  return (
    <Panel title={name}>
      {versionId !== null ? (
        <LiveFrame
          src={versionAddress({ siteUrl, versionId })}
          title={`The site ${name}, made small`}
          scripts={false}
        />
      ) : (
        <Notice title="Its first upload is not finished yet." />
      )}
      <p>
        <SiteLink siteUrl={siteUrl} />
      </p>
      <Facts>
        <Fact name="Holds">{`${pluralize(site.fileCount, 'file')}, ${formatBytes(site.totalBytes)}`}</Fact>
        {site.expiresAt !== null && (
          <Fact name="Gone in">
            <TimeLeft until={site.expiresAt} over="a moment" />
          </Fact>
        )}
      </Facts>
    </Panel>
  )
}

/** Claims the site: one click for a signed-in user, otherwise by mailed code. */
function Claiming({ claim }: { claim: Action<[]> }) {
  const email = useSignal(signedInAs)
  const [asAnother, choose] = useState(false)
  if (email === null || asAnother) {
    const go = () => {
      choose(false)
      void claim()
    }
    return <SignInForm verb="Claim this site" onSignedIn={go} />
  }
  return (
    <div class="stack">
      <ErrorNotice error={claim.error} />
      <div class="choices">
        <Button variant="main" class="long-words" busy={claim.busy} onClick={claim}>
          Claim as {email}
        </Button>
        <Button variant="link" onClick={() => choose(true)}>
          Use another address
        </Button>
      </div>
    </div>
  )
}
