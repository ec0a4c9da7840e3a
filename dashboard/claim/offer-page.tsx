import { useState } from 'preact/hooks'
import type { ClaimPreview } from '../../client/wire.ts'
import { count, size } from '../../client/words.ts'
import type { Action } from '../api/action.ts'
import { signedInAs } from '../api/session.ts'
import { useKept } from '../api/use-kept.ts'
import { Page } from '../app/page.tsx'
import { versionAddress } from '../app/version-address.ts'
import { Button } from '../kit/button.tsx'
import { LiveFrame } from '../kit/live-frame.tsx'
import { Notice, Trouble } from '../kit/notice.tsx'
import { Fact, Facts, Panel } from '../kit/panel.tsx'
import { TimeLeft } from '../kit/time.tsx'
import { SignInForm } from '../sign-in/sign-in-form.tsx'
import { SiteLink } from './site-link.tsx'
import { useEndOf } from './use-end-of.ts'

interface OfferPageProps {
  site: ClaimPreview
  claim: Action<[]>
  /** Asks again what has become of it. */
  look: Action<[]>
}

/** A site that waits for an owner. */
export function OfferPage({ site, claim, look }: OfferPageProps) {
  useEndOf(site.expiresAt, look)
  return (
    <Page title={`Claim ${site.title || site.slug}`} heading="Keep this site" narrow>
      <div class="stack">
        <p class="lead">Nobody owns it yet. Claim it, and it stays online.</p>
        <Offered site={site} />
        <Trouble failing={look.failing} onAgain={look} />
        <Claiming claim={claim} />
      </div>
    </Page>
  )
}

function Offered({ site }: { site: ClaimPreview }) {
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
        <Fact name="Holds">{`${count(site.fileCount, 'file')}, ${size(site.totalBytes)}`}</Fact>
        {site.expiresAt !== null && (
          <Fact name="Gone in">
            <TimeLeft until={site.expiresAt} over="a moment" />
          </Fact>
        )}
      </Facts>
    </Panel>
  )
}

/** By whom: one click for who is signed in, and a mailed code for who is not. */
function Claiming({ claim }: { claim: Action<[]> }) {
  const email = useKept(signedInAs)
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
      <Trouble failing={claim.failing} />
      <div class="choices">
        <Button look="main" class="long-words" busy={claim.busy} onClick={claim}>
          Claim as {email}
        </Button>
        <Button look="link" onClick={() => choose(true)}>
          Use another address
        </Button>
      </div>
    </div>
  )
}
