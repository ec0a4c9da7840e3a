import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { encode } from 'uqr'
import { formatNumber, stripControlChars } from '../../protocol/format.ts'
import { isLoopbackUrl } from '../../protocol/loopback.ts'
import { useAction } from '../api/action.ts'
import { invalidate } from '../api/resource.ts'
import { signedInAs } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { versionAddress } from '../app/version-address.ts'
import { KeepSite, useKeeping } from '../claim/keep-site.tsx'
import { Button, ButtonLink } from '../kit/button.tsx'
import { CopyButton } from '../kit/copy.tsx'
import { LiveFrame } from '../kit/live-frame.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { TimeLeft } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { NameField, NameSuggestion, onEnter, useNameChoice } from '../site/name-field.tsx'
import { undoVersion } from '../site/undo-version.ts'
import { listChanges } from '../site/version-labels.ts'
import type { AnonymousSite } from './anonymous-sites.ts'
import type { Change } from './delivery.ts'
import type { Destination } from './destination.ts'
import { DropBox } from './drop-box.tsx'
import { beginJob } from './jobs.ts'
import { anonymousTarget, type DropTarget, setPageTarget, siteTarget } from './page-target.ts'
import type { Step } from './publication.ts'
import { SkippedFiles } from './skipped-files.tsx'
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
  if (destination.kind === 'own')
    return <UpdatedNotice step={step} onClose={onClose} onRolledBack={onRolledBack} />
  return <NewSite step={step} isNew={destination.kind === 'new'} onClose={onClose} />
}

interface NewSiteProps extends Pick<PublishedViewProps, 'step' | 'onClose'> {
  isNew: boolean
}

/** The page of a site that was published here: its title, name and URL, its owner, how it is shared, and the next drop. */
function NewSite({ step, isNew, onClose }: NewSiteProps) {
  const { published, anonymous } = step.delivered
  const { title, versionId, suggestedName } = published
  const [{ slug, siteUrl }, moveTo] = useState<{ slug: string; siteUrl: string }>(published)
  const target = anonymous ? anonymousTarget(anonymous) : ownTarget(slug, title)
  return (
    <div class="result">
      <div class="stack">
        <div class="result-head">
          <SuccessCheck />
          <StepHeading focused>{isNew ? 'Your site is live' : 'Update published'}</StepHeading>
        </div>
        {title && (
          <p class="title">
            <bdi>{title}</bdi>
          </p>
        )}
        <div class="copy-line">
          <a class="address" href={siteUrl} target="_blank" rel="noreferrer">
            {siteUrl.replace(/^https?:\/\/|\/$/g, '')}
          </a>
          <CopyButton text={siteUrl} of="the URL" />
        </div>
        {anonymous ? (
          <KeepAnonymous site={anonymous} suggestedName={suggestedName} onClose={onClose} />
        ) : (
          <OwnedSteps slug={slug} siteUrl={siteUrl} suggestedName={suggestedName} onRenamed={moveTo} />
        )}
        <WarningsList step={step} />
        <SkippedFiles excluded={step.preflight.ignored} notes={step.preflight.notes} />
      </div>
      <div class="stack">
        <LiveFrame
          src={versionAddress({ siteUrl: published.siteUrl, versionId })}
          title="The site as visitors see it"
          version={versionId}
        />
        <ShareSite siteUrl={siteUrl} />
        <NextDrop target={target} />
        <p>
          <Button variant="link" onClick={onClose}>
            Publish another site
          </Button>
        </p>
      </div>
    </div>
  )
}

interface NamingProps {
  /** Undefined where the name like the title is taken. */
  suggestedName: string | undefined
}

function KeepAnonymous({
  site,
  suggestedName,
  onClose,
}: NamingProps & { site: AnonymousSite; onClose: () => void }) {
  const keeping = useKeeping({ ...site, suggestedName }, onClose)
  return (
    <>
      <KeepSite
        keeping={keeping}
        title={suggestedName}
        isOpen={false}
        beside={
          <ButtonLink icon="open" href={site.siteUrl} outside>
            Visit
          </ButtonLink>
        }
      />
      <p class="quiet">
        Expires in <TimeLeft until={site.expiresAt} over="a moment" />. Add your email to keep this site and
        update it later.
      </p>
    </>
  )
}

interface OwnedStepsProps extends NamingProps {
  slug: string
  siteUrl: string
  onRenamed: (site: { slug: string; siteUrl: string }) => void
}

function OwnedSteps({ slug, siteUrl, suggestedName, onRenamed }: OwnedStepsProps) {
  const email = useSignal(signedInAs)
  return (
    <>
      <RenameNew key={slug} {...{ slug, suggestedName, onRenamed }} />
      {email && <p class="quiet">Saved to your account, {email}.</p>}
      <div class="choices">
        <ButtonLink variant="main" icon="open" href={siteUrl} outside>
          Visit
        </ButtonLink>
        <ButtonLink href={`/sites/${slug}`}>Manage site</ButtonLink>
      </div>
    </>
  )
}

/** Renames a site that has just been published, so without a question. */
function RenameNew({ slug, suggestedName, onRenamed }: Omit<OwnedStepsProps, 'siteUrl'>) {
  const choice = useNameChoice(slug, suggestedName)
  const { typed, name, write, isAvailable } = choice
  const rename = useAction(async () => {
    const renamed = await slipway.renameSite(slug, name)
    invalidate('sites', `site/${slug}`, 'name')
    showToast('Site renamed. The old URL redirects for 30 days.')
    onRenamed(renamed)
  })
  const submit = () => isAvailable && rename()
  return (
    <fieldset class="keep-name" onKeyDown={(event) => onEnter(event, submit)}>
      <NameField label="Site name" slug={slug} choice={choice} />
      <Button disabled={!isAvailable} busy={rename.busy} onClick={submit}>
        Rename site
      </Button>
      {!isAvailable && (
        <NameSuggestion texts={[typed, suggestedName ?? '']} known={[name, slug]} isNeeded onUse={write} />
      )}
      <ErrorNotice error={rename.error} />
    </fieldset>
  )
}

function ownTarget(slug: string, title: string | null): DropTarget {
  return { ...siteTarget(slug, title ?? slug), path: `/sites/${slug}` }
}

/** Takes the next version of the site, as the whole page does. */
function NextDrop({ target }: { target: DropTarget }) {
  const { route } = useLocation()
  useEffect(() => setPageTarget(target), [target.place, target.label])
  return (
    <DropBox
      size="panel"
      variant="plain"
      title="Drop a folder, files or a ZIP to update this site"
      phoneTitle="Choose files to update this site"
      onPicked={(picked) => {
        beginJob(target.place, picked, target.destination)
        if (target.path !== undefined && target.path !== '/') route(target.path)
      }}
    />
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
      <SkippedFiles excluded={preflight.ignored} notes={preflight.notes} />
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

/** How other devices open a site: the share sheet of a phone, or a QR code on a computer. */
function ShareSite({ siteUrl }: { siteUrl: string }) {
  if (isLoopbackUrl(siteUrl)) return <OnlyHere />
  if (!IS_PHONE) return <QrCode address={siteUrl} />
  if (!('share' in navigator)) return null
  // The user may close the share sheet, which rejects.
  const share = () => navigator.share({ url: siteUrl }).catch(() => {})
  return <Button onClick={share}>Share</Button>
}

const IS_PHONE = matchMedia('(pointer: coarse)').matches

function OnlyHere() {
  return (
    <p class="quiet small">
      Only this computer can open this address. <a href="/docs/run">Run a server that others can reach</a>
    </p>
  )
}

/** The address as a QR code, dark on white in any color scheme. */
function QrCode({ address }: { address: string }) {
  const { data, size } = encode(address, { ecc: 'M', border: 3 })
  const drawing = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  return (
    <figure class="qr-code">
      <svg
        viewBox={`0 0 ${size} ${size}`}
        role="img"
        aria-label={`QR code of ${address}`}
        shape-rendering="crispEdges"
      >
        <rect width={size} height={size} fill="#fff" />
        <path d={drawing} fill="#000" />
      </svg>
      <figcaption class="quiet small">Scan to open on your phone</figcaption>
    </figure>
  )
}

/** A check that draws itself once, beside the heading of a success; still where motion is reduced. */
function SuccessCheck({ size = 32 }: { size?: number }) {
  return (
    <svg class="icon success-check" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
      <circle cx="12" cy="12" r="9" pathLength={1} />
      <path d="M8 12.5l3 3 5.5-6" pathLength={1} />
    </svg>
  )
}
