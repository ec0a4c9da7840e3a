import { useState } from 'preact/hooks'
import type { SiteDetails, VersionSummary } from '../../protocol/api/sites.ts'
import { formatBytes, pluralize } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { formatMoment } from '../app/format-time.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Badge } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { formatAuthor, formatChanges, madeAt } from './version-labels.ts'
import { VersionContents } from './versions-contents.tsx'

interface VersionRowProps {
  site: SiteDetails
  version: VersionSummary
  onRestore: () => Promise<void>
  onDelete: () => Promise<void>
  /** Reloads the versions when one no longer exists. */
  onLookAgain: () => void
}

export function VersionRow({ site, version, onRestore, onDelete, onLookAgain }: VersionRowProps) {
  const me = useSignal(signedInAs)
  const restore = useAction(onRestore)
  const remove = useAction(onDelete)
  const [isConfirming, setConfirming] = useState(false)
  const [isOpen, open] = useState(false)
  const { current, previewUrl, versionId, publishedAt } = version
  const at = madeAt(version)
  const name = `the version of ${formatMoment(at)}`
  const isDraft = publishedAt === null
  const verb = isDraft ? 'Make live' : 'Restore'
  const actions = (
    <>
      <ButtonLink
        variant="link"
        href={`/api/v1/publish/${site.slug}/archive?versionId=${versionId}`}
        download
        label={`Download ${name}`}
      >
        Download
      </ButtonLink>
      {!current && (
        <Button variant="link" label={`Delete ${name}`} onClick={() => setConfirming(true)}>
          Delete
        </Button>
      )}
    </>
  )
  return (
    <li class="version stack tight">
      <div class="panel-head">
        <h3 class="choices">
          <RelativeTime at={at} />
          {current && <Badge tone="good">Live</Badge>}
          {isDraft && <Badge tone="warn">Draft</Badge>}
        </h3>
        <div class="choices">
          {!current && (
            <Button label={`${verb}: ${name}`} onClick={restore} busy={restore.busy}>
              {verb}
            </Button>
          )}
          <ButtonLink variant="link" href={previewUrl} outside label={`Open ${name}`}>
            Open
          </ButtonLink>
        </div>
      </div>
      <p class="quiet small">
        {[
          formatMoment(at),
          formatAuthor(version, me),
          pluralize(version.fileCount, 'file'),
          formatBytes(version.totalBytes),
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
      <ErrorNotice
        error={restore.error}
        onRetry={restore.error?.code === 'NOT_FOUND' ? onLookAgain : undefined}
      />
      <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
        <summary class="small">{formatChanges(version)}</summary>
        {isOpen && <VersionContents site={site} version={version} actions={actions} />}
      </details>
      {isConfirming && (
        <Confirm
          title="Delete this version?"
          verb="Delete it"
          action={remove}
          onClose={() => setConfirming(false)}
        >
          <p>
            {`It was made on ${formatMoment(at)}. Its address stops working at once, and it cannot be restored afterwards. `}
            What is live stays live.
          </p>
        </Confirm>
      )}
    </li>
  )
}
