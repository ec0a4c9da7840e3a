import { count, harmless } from '../../client/words.ts'
import { signedInAs } from '../api/session.ts'
import { useKept } from '../api/use-kept.ts'
import { versionAddress } from '../app/version-address.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { CopyButton } from '../kit/copy.tsx'
import { LiveFrame } from '../kit/live-frame.tsx'
import { Notice } from '../kit/notice.tsx'
import { TimeLeft } from '../kit/time.tsx'
import type { AnonymousSite } from './anonymous-sites.ts'
import type { Destination } from './destination.ts'
import { ArrivedHeading } from './heading.tsx'
import type { Step } from './publication.ts'
import { QrCode } from './qr-code.tsx'
import { LeftOut } from './question.tsx'

interface LiveProps {
  step: Extract<Step, { at: 'live' }>
  destination: Destination
  onClose: () => void
}

/** The end of a publication: the address, and what to do with it. */
export function Live({ step, destination, onClose }: LiveProps) {
  const { look, delivered } = step
  if (destination.kind === 'own') return <Updated step={step} onClose={onClose} />
  const { published, anonymous } = delivered
  const { siteUrl, slug, versionId } = published
  return (
    <div class="live">
      <div class="stack">
        <ArrivedHeading>
          {destination.kind === 'new' ? 'It is live.' : 'The new version is live.'}
        </ArrivedHeading>
        <a class="address" href={siteUrl} target="_blank" rel="noreferrer">
          {siteUrl}
        </a>
        <div class="choices">
          <CopyButton look="main" text={siteUrl} of="the address" />
          <ButtonLink icon="open" href={siteUrl} outside>
            Open
          </ButtonLink>
        </div>
        {anonymous ? <WithoutOwner site={anonymous} /> : <OfAccount slug={slug} />}
        <Remarks step={step} />
        <LeftOut look={look} />
        <p>
          <Button look="link" onClick={onClose}>
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

function WithoutOwner({ site }: { site: AnonymousSite }) {
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
        <ButtonLink href={pathOf(site.claimUrl)}>Claim it</ButtonLink>
      </p>
    </Notice>
  )
}

function OfAccount({ slug }: { slug: string }) {
  const email = useKept(signedInAs)
  return (
    <Notice tone="good" title="Published to your account.">
      <p>
        {email && `${email} is its owner. `}
        <a href={`/sites/${slug}`}>Title, password, versions and more</a>
      </p>
    </Notice>
  )
}

/** For the site's own page, where everything else is said already. */
function Updated({ step, onClose }: Pick<LiveProps, 'step' | 'onClose'>) {
  const { delivered, look } = step
  const { uploaded } = delivered.published
  const what =
    uploaded === 0
      ? 'Every file was there already.'
      : `${count(uploaded, 'file')} of ${look.files.length} had to be sent.`
  return (
    <>
      <ArrivedHeading>The new version is live.</ArrivedHeading>
      <p>{what}</p>
      <Remarks step={step} />
      <LeftOut look={look} />
      <div class="choices">
        <Button onClick={onClose}>Done</Button>
      </div>
    </>
  )
}

/** What the server found odd in the files. */
function Remarks({ step }: Pick<LiveProps, 'step'>) {
  const { warnings = [] } = step.delivered.published
  if (warnings.length === 0) return null
  return (
    <Notice tone="warn" title="Something in it may not be meant so">
      <ul>
        {warnings.map(({ file, line, message }) => (
          <li key={`${file}:${line}:${message}`}>
            <code>{harmless(line === undefined ? file : `${file}:${line}`)}</code>: {harmless(message)}
          </li>
        ))}
      </ul>
    </Notice>
  )
}

/** The claim page, by whatever name this page was opened. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
