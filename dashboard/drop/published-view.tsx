import { pluralize, stripControlChars } from '../../protocol/format.ts'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { versionAddress } from '../app/version-address.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { CopyButton } from '../kit/copy.tsx'
import { LiveFrame } from '../kit/live-frame.tsx'
import { Notice } from '../kit/notice.tsx'
import { TimeLeft } from '../kit/time.tsx'
import type { AnonymousSite } from './anonymous-sites.ts'
import { IgnoredFiles } from './confirm-drop.tsx'
import type { Destination } from './destination.ts'
import { FocusedHeading } from './focused-heading.tsx'
import type { Step } from './publication.ts'
import { QrCode } from './qr-code.tsx'

interface PublishedViewProps {
  step: Extract<Step, { at: 'live' }>
  destination: Destination
  onClose: () => void
}

/** The end of a publication: the address and next steps. */
export function PublishedView({ step, destination, onClose }: PublishedViewProps) {
  const { preflight, delivered } = step
  if (destination.kind === 'own') return <UpdatedNotice step={step} onClose={onClose} />
  const { published, anonymous } = delivered
  const { siteUrl, slug, versionId } = published
  return (
    <div class="live">
      <div class="stack">
        <FocusedHeading>
          {destination.kind === 'new' ? 'It is live.' : 'The new version is live.'}
        </FocusedHeading>
        <a class="address" href={siteUrl} target="_blank" rel="noreferrer">
          {siteUrl}
        </a>
        <div class="choices">
          <CopyButton variant="main" text={siteUrl} of="the address" />
          <ButtonLink icon="open" href={siteUrl} outside>
            Open
          </ButtonLink>
        </div>
        {anonymous ? <AnonymousNotice site={anonymous} /> : <OwnedNotice slug={slug} />}
        <WarningsList step={step} />
        <IgnoredFiles preflight={preflight} />
        <p>
          <Button variant="link" onClick={onClose}>
            Publish something else
          </Button>
        </p>
      </div>
      <div class="stack">
        <LiveFrame
          src={versionAddress({ siteUrl, versionId })}
          title="The site as visitors see it"
          version={versionId}
        />
        <QrCode address={siteUrl} />
      </div>
    </div>
  )
}

function AnonymousNotice({ site }: { site: AnonymousSite }) {
  return (
    <Notice
      title={
        <>
          It is gone in <TimeLeft until={site.expiresAt} over="a moment" />, unless you claim it.
        </>
      }
    >
      <p>Claimed with your email address, it stays and is yours to change.</p>
      <p>
        <ButtonLink href={samePagePath(site.claimUrl)}>Claim it</ButtonLink>
      </p>
    </Notice>
  )
}

function OwnedNotice({ slug }: { slug: string }) {
  const email = useSignal(signedInAs)
  return (
    <Notice tone="good" title="Published to your account.">
      <p>
        {email && `${email} is its owner. `}
        <a href={`/sites/${slug}`}>Title, password, versions and more</a>
      </p>
    </Notice>
  )
}

/** For the page of a site, which shows everything else already. */
function UpdatedNotice({ step, onClose }: Pick<PublishedViewProps, 'step' | 'onClose'>) {
  const { delivered, preflight } = step
  const { uploaded } = delivered.published
  const what =
    uploaded === 0
      ? 'Every file was there already.'
      : `${pluralize(uploaded, 'file')} of ${preflight.files.length} had to be sent.`
  return (
    <>
      <FocusedHeading>The new version is live.</FocusedHeading>
      <p>{what}</p>
      <WarningsList step={step} />
      <IgnoredFiles preflight={preflight} />
      <div class="choices">
        <Button onClick={onClose}>Done</Button>
      </div>
    </>
  )
}

/** Warnings of the server about the files. */
function WarningsList({ step }: Pick<PublishedViewProps, 'step'>) {
  const { warnings = [] } = step.delivered.published
  if (warnings.length === 0) return null
  return (
    <Notice tone="warn" title="Something in it may not be meant so">
      <ul>
        {warnings.map(({ file, line, message }) => (
          <li key={`${file}:${line}:${message}`}>
            <code>{stripControlChars(line === undefined ? file : `${file}:${line}`)}</code>:{' '}
            {stripControlChars(message)}
          </li>
        ))}
      </ul>
    </Notice>
  )
}

/** The claim page under this page's origin. */
export function samePagePath(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
