import { useState } from 'preact/hooks'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import type { VersionSummary } from '../../protocol/api/versions.schema.ts'
import { formatBytes, pluralize, shortId } from '../../protocol/format.ts'
import { type Action, useAction } from '../api/action.ts'
import { serverNow } from '../api/server-clock.ts'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { formatMoment, formatTime, isWeekOld } from '../app/format-time.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { Menu, type MenuItem } from '../kit/menu.tsx'
import { ErrorNotice, FocusKept } from '../kit/notice.tsx'
import { Badge } from '../kit/panel.tsx'
import { LocalTime, RelativeTime } from '../kit/time.tsx'
import { archiveUrl } from './duplicate-site.ts'
import { formatAuthor, formatChanges, madeAt } from './version-labels.ts'
import { VersionContents } from './versions-contents.tsx'

interface VersionRowProps {
  site: SiteDetails
  version: VersionSummary
  onRestore: () => Promise<void>
  onDelete: () => Promise<void>
  /** Reloads the versions when one no longer exists. */
  onReload: () => void
}

export function VersionRow({ site, version, onRestore, onDelete, onReload }: VersionRowProps) {
  const me = useSignal(signedInAs)
  const restore = useAction(onRestore)
  const remove = useAction(onDelete)
  const [isConfirming, setConfirming] = useState(false)
  const [isOpen, open] = useState(false)
  const { current, versionId, publishedAt, message } = version
  const name = `version ${shortId(versionId)}`
  const isDraft = publishedAt === null
  const verb = isDraft ? 'Publish' : 'Restore'
  const facts = [
    formatAuthor(version, me),
    pluralize(version.fileCount, 'file'),
    formatBytes(version.totalBytes),
  ]
  return (
    <li class="version stack tight">
      <div class="panel-head">
        <h3 class="choices">
          <RelativeTime at={madeAt(version)} />
          {current && <Badge tone="good">Live</Badge>}
          {isDraft && <Badge tone="warn">Draft</Badge>}
        </h3>
        <div class="choices">
          <code class="quiet">{shortId(versionId)}</code>
          {!current && !site.suspension && (
            <RestoreButton label={`${verb} ${name}`} verb={verb} restore={restore} />
          )}
          <VersionMenu site={site} version={version} onDelete={() => setConfirming(true)} />
        </div>
      </div>
      {message && (
        <p class="message">
          <bdi>{message}</bdi>
        </p>
      )}
      <p class="quiet small">
        <LocalTime
          at={madeAt(version)}
          format={isWeekOld(madeAt(version), serverNow()) ? formatTime : formatMoment}
        />
        {` · ${facts.filter(Boolean).join(' · ')}`}
      </p>
      <ErrorNotice
        error={restore.error}
        onRetry={restore.error?.code === 'NOT_FOUND' ? onReload : undefined}
      />
      <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
        <summary class="small">{formatChanges(version, site)}</summary>
        {isOpen && <VersionContents site={site} version={version} />}
      </details>
      {isConfirming && (
        <DeleteVersion version={version} action={remove} onClose={() => setConfirming(false)} />
      )}
    </li>
  )
}

function RestoreButton({ label, verb, restore }: { label: string; verb: string; restore: Action<[]> }) {
  return (
    <FocusKept>
      <Button label={label} onClick={restore} busy={restore.busy}>
        {verb}
      </Button>
    </FocusKept>
  )
}

interface VersionMenuProps {
  site: SiteDetails
  version: VersionSummary
  onDelete: () => void
}

function VersionMenu({ site, version, onDelete }: VersionMenuProps) {
  const { versionId, previewUrl, current } = version
  const items: MenuItem[] = [
    ...(site.suspension
      ? []
      : [{ name: 'Open preview', icon: 'open' as const, href: previewUrl, outside: true }]),
    { name: 'Download files', icon: 'download', href: archiveUrl(site.slug, versionId), download: true },
  ]
  if (!current) items.push({ name: 'Delete version', icon: 'trash', danger: true, onClick: onDelete })
  return <Menu label={`Actions for version ${shortId(versionId)}`} items={items} />
}

interface DeleteVersionProps {
  version: VersionSummary
  action: Action<[]>
  onClose: () => void
}

function DeleteVersion({ version, action, onClose }: DeleteVersionProps) {
  return (
    <Confirm title="Delete this version?" verb="Delete version" action={action} onClose={onClose}>
      <p>
        {`Version ${shortId(version.versionId)} of `}
        <LocalTime at={madeAt(version)} format={formatMoment} />
        {` can't be restored afterwards, and its preview link stops working. The live version stays.`}
      </p>
    </Confirm>
  )
}
