import { useState } from 'preact/hooks'
import type { SiteDetails, VersionSummary } from '../../client/wire.ts'
import { count, size } from '../../client/words.ts'
import { useAction } from '../api/action.ts'
import { signedInAs } from '../api/session.ts'
import { useKept } from '../api/use-kept.ts'
import { moment } from '../app/time-words.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { Trouble } from '../kit/notice.tsx'
import { Badge } from '../kit/panel.tsx'
import { Ago } from '../kit/time.tsx'
import { VersionContents } from './versions-contents.tsx'
import { changeWords, madeAt, maker } from './versions-words.ts'

interface VersionRowProps {
  site: SiteDetails
  version: VersionSummary
  onRestore: () => Promise<void>
  onDelete: () => Promise<void>
  /** Asks for the versions again, when one of them turns out to be gone. */
  onLookAgain: () => void
}

export function VersionRow({ site, version, onRestore, onDelete, onLookAgain }: VersionRowProps) {
  const me = useKept(signedInAs)
  const restore = useAction(onRestore)
  const remove = useAction(onDelete)
  const [isAsking, ask] = useState(false)
  const [isOpen, open] = useState(false)
  const { current, previewUrl, versionId, publishedAt } = version
  const at = madeAt(version)
  const name = `the version of ${moment(at)}`
  const isDraft = publishedAt === null
  const verb = isDraft ? 'Make live' : 'Restore'
  const actions = (
    <>
      <ButtonLink
        look="link"
        href={`/api/v1/publish/${site.slug}/archive?versionId=${versionId}`}
        download
        label={`Download ${name}`}
      >
        Download
      </ButtonLink>
      {!current && (
        <Button look="link" label={`Delete ${name}`} onClick={() => ask(true)}>
          Delete
        </Button>
      )}
    </>
  )
  return (
    <li class="version stack tight">
      <div class="panel-head">
        <h3 class="choices">
          <Ago at={at} />
          {current && <Badge tone="good">Live</Badge>}
          {isDraft && <Badge tone="warn">Draft</Badge>}
        </h3>
        <div class="choices">
          {!current && (
            <Button label={`${verb}: ${name}`} onClick={restore} busy={restore.busy}>
              {verb}
            </Button>
          )}
          <ButtonLink look="link" href={previewUrl} outside label={`Open ${name}`}>
            Open
          </ButtonLink>
        </div>
      </div>
      <p class="quiet small">
        {[moment(at), maker(version, me), count(version.fileCount, 'file'), size(version.totalBytes)]
          .filter(Boolean)
          .join(' · ')}
      </p>
      <Trouble
        failing={restore.failing}
        onAgain={restore.failing?.code === 'NOT_FOUND' ? onLookAgain : undefined}
      />
      <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
        <summary class="small">{changeWords(version)}</summary>
        {isOpen && <VersionContents site={site} version={version} actions={actions} />}
      </details>
      {isAsking && (
        <Confirm title="Delete this version?" verb="Delete it" action={remove} onClose={() => ask(false)}>
          <p>
            {`It was made on ${moment(at)}. Its address stops working at once, and it cannot be restored afterwards. `}
            What is live stays live.
          </p>
        </Confirm>
      )}
    </li>
  )
}
