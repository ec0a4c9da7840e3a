import { useRef, useState } from 'preact/hooks'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import type { VersionSummary } from '../../protocol/api/versions.schema.ts'
import { shortId } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { Menu, type MenuItem } from '../kit/menu.tsx'
import { ErrorNotice, FocusKept, useFocusAround } from '../kit/notice.tsx'
import { Badge, Panel } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { Expiry } from '../sites/expiry.tsx'
import { archiveUrl } from './duplicate-site.ts'
import { formatAuthor, formatChanges, type PreviewedVersion } from './version-labels.ts'

interface PreviewsPanelProps {
  site: SiteDetails
  previews: PreviewedVersion[]
  onPromote: (version: VersionSummary) => Promise<void>
  onDelete: (version: PreviewedVersion) => Promise<void>
}

/** The previews of a site, the last changed one first. */
export function PreviewsPanel({ site, previews, onPromote, onDelete }: PreviewsPanelProps) {
  return (
    <Panel
      title="Previews"
      lead="Each shows the version that was published last under its name, at an address that stays the same."
    >
      <ul class="plain-list versions" aria-label="Previews, the last changed one first">
        {previews.map((version) => (
          <PreviewRow
            key={version.preview.name}
            site={site}
            version={version}
            onPromote={() => onPromote(version)}
            onDelete={() => onDelete(version)}
          />
        ))}
      </ul>
    </Panel>
  )
}

interface PreviewRowProps {
  site: SiteDetails
  version: PreviewedVersion
  onPromote: () => Promise<void>
  onDelete: () => Promise<void>
}

function PreviewRow({ site, version, onPromote, onDelete }: PreviewRowProps) {
  const me = useSignal(signedInAs)
  const promote = useAction(onPromote)
  const [isConfirming, setConfirming] = useState(false)
  const row = useRef<HTMLLIElement>(null)
  useFocusAround(row)
  const remove = useAction(async () => {
    await onDelete()
    setConfirming(false)
  })
  const { preview, current, versionId, message } = version
  const { name, url, expiresAt } = preview
  const facts = [shortId(versionId), formatAuthor(version, me), formatChanges(version, site)]
  return (
    <li ref={row} class="version stack tight">
      <div class="panel-head">
        <h3 class="choices">
          <a href={url} target="_blank" rel="noreferrer">
            {name}
          </a>
          {current && <Badge tone="good">Live</Badge>}
        </h3>
        <div class="choices">
          {!current && !site.suspension && (
            <FocusKept>
              <Button label={`Promote ${name}`} onClick={promote} busy={promote.busy}>
                Promote
              </Button>
            </FocusKept>
          )}
          <PreviewMenu site={site} version={version} onDelete={() => setConfirming(true)} />
        </div>
      </div>
      {message && (
        <p class="message">
          <bdi>{message}</bdi>
        </p>
      )}
      <p class="quiet small">
        <RelativeTime at={version.createdAt} />
        {` · ${facts.filter(Boolean).join(' · ')} · `}
        <Expiry at={expiresAt} />
      </p>
      <ErrorNotice error={promote.error} />
      {isConfirming && (
        <Confirm
          title={`Delete the preview ${name}?`}
          verb="Delete preview"
          action={remove}
          onClose={() => setConfirming(false)}
        >
          <p>Its address stops working. The live version stays.</p>
        </Confirm>
      )}
    </li>
  )
}

interface PreviewMenuProps {
  site: SiteDetails
  version: PreviewedVersion
  onDelete: () => void
}

function PreviewMenu({ site, version, onDelete }: PreviewMenuProps) {
  const { preview, versionId } = version
  const items: MenuItem[] = [
    { name: 'Open preview', icon: 'open', href: preview.url, outside: true },
    { name: 'Download files', icon: 'download', href: archiveUrl(site.slug, versionId), download: true },
    { name: 'Delete preview', icon: 'trash', danger: true, onClick: onDelete },
  ]
  return <Menu label={`Actions for preview ${preview.name}`} items={items} />
}
