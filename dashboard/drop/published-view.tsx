import { formatNumber, stripControlChars } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { invalidate } from '../api/resource.ts'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { versionAddress } from '../app/version-address.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { CopyButton } from '../kit/copy.tsx'
import { LiveFrame } from '../kit/live-frame.tsx'
import { Notice } from '../kit/notice.tsx'
import { SuccessCheck } from '../kit/success-check.tsx'
import { TimeLeft } from '../kit/time.tsx'
import { undoVersion } from '../site/undo-version.ts'
import { listChanges } from '../site/version-labels.ts'
import type { AnonymousSite } from './anonymous-sites.ts'
import { IgnoredFiles } from './confirm-drop.tsx'
import type { Change } from './delivery.ts'
import type { Destination } from './destination.ts'
import type { Step } from './publication.ts'
import { ShareSite } from './share-site.tsx'
import { StepHeading } from './step-heading.tsx'

interface PublishedViewProps {
  step: Extract<Step, { at: 'live' }>
  destination: Destination
  onClose: () => void
  /** Called when the previous version is live again. */
  onRolledBack: () => void
}

/** The end of a publication: the address and next steps. */
export function PublishedView({ step, destination, onClose, onRolledBack }: PublishedViewProps) {
  const { preflight, delivered } = step
  if (destination.kind === 'own')
    return <UpdatedNotice step={step} onClose={onClose} onRolledBack={onRolledBack} />
  const { published, anonymous } = delivered
  const { siteUrl, slug, versionId } = published
  return (
    <div class="result">
      <div class="stack">
        <div class="result-head">
          <SuccessCheck />
          <StepHeading focused>
            {destination.kind === 'new' ? 'Your site is live' : 'Update published'}
          </StepHeading>
        </div>
        <div class="copy-line">
          <a class="address" href={siteUrl} target="_blank" rel="noreferrer">
            {siteUrl.replace(/^https?:\/\/|\/$/g, '')}
          </a>
          <CopyButton text={siteUrl} of="the URL" />
        </div>
        {anonymous ? <AnonymousSteps site={anonymous} /> : <OwnedSteps slug={slug} siteUrl={siteUrl} />}
        <WarningsList step={step} />
        <IgnoredFiles preflight={preflight} />
        <ShareSite siteUrl={siteUrl} />
        <p>
          <Button variant="link" onClick={onClose}>
            Publish another site
          </Button>
        </p>
      </div>
      <LiveFrame
        src={versionAddress({ siteUrl, versionId })}
        title="The site as visitors see it"
        version={versionId}
      />
    </div>
  )
}

function AnonymousSteps({ site }: { site: AnonymousSite }) {
  return (
    <>
      <div class="choices">
        <ButtonLink variant="main" href={samePagePath(site.claimUrl)}>
          Keep this site
        </ButtonLink>
        <ButtonLink icon="open" href={site.siteUrl} outside>
          Visit
        </ButtonLink>
      </div>
      <p class="quiet">
        Expires in <TimeLeft until={site.expiresAt} over="a moment" />. Add your email to keep this site and
        update it later.
      </p>
    </>
  )
}

function OwnedSteps({ slug, siteUrl }: { slug: string; siteUrl: string }) {
  const email = useSignal(signedInAs)
  return (
    <>
      <div class="choices">
        <ButtonLink variant="main" icon="open" href={siteUrl} outside>
          Visit
        </ButtonLink>
        <ButtonLink href={`/sites/${slug}`}>Manage site</ButtonLink>
      </div>
      {email && <p class="quiet">Saved to your account, {email}.</p>}
    </>
  )
}

/** For the page of a site, which shows everything else already. */
function UpdatedNotice({ step, onClose, onRolledBack }: Omit<PublishedViewProps, 'destination'>) {
  const { delivered, preflight } = step
  const { published } = delivered
  const rollBack = undoVersion({
    ...published,
    onRestored() {
      invalidate('sites', `site/${published.slug}`)
      onRolledBack()
    },
  })
  const undo = useAction(async () => {
    await rollBack?.()
    onClose()
  })
  return (
    <>
      <StepHeading focused>{published.unchanged ? 'No files changed' : 'Update published'}</StepHeading>
      {!published.unchanged && <p>{describeChange(delivered.change!)}</p>}
      <WarningsList step={step} />
      <IgnoredFiles preflight={preflight} />
      <div class="choices">
        <Button variant="main" onClick={onClose}>
          Done
        </Button>
        {rollBack && !published.unchanged && (
          <Button busy={undo.busy} onClick={undo}>
            Undo
          </Button>
        )}
      </div>
    </>
  )
}

/** "1 file added, 2 files changed, 3 unchanged." */
function describeChange(change: Change): string {
  const unchanged = change.unchanged > 0 ? [`${formatNumber(change.unchanged)} unchanged`] : []
  return `${[...listChanges(change), ...unchanged].join(', ')}.`
}

/** Warnings of the server about the files. */
function WarningsList({ step }: Pick<PublishedViewProps, 'step'>) {
  const { warnings = [] } = step.delivered.published
  if (warnings.length === 0) return null
  return (
    <Notice tone="warn" title="Some rules were ignored">
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
