import { useState } from 'preact/hooks'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import type { VersionDetails, VersionSummary } from '../../protocol/api/versions.schema.ts'
import { formatBytes, formatNumber, shortId } from '../../protocol/format.ts'
import { diffManifests } from '../../protocol/manifest/manifest-diff.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { formatShort } from '../app/format-time.ts'
import { Button } from '../kit/button.tsx'
import { Choice } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { listChanges, madeAt } from './version-labels.ts'
import { FileDiff, type VersionFile } from './versions-file-diff.tsx'

/** Files that are listed at first. */
const INITIAL_FILES = 50

interface CompareVersionsProps {
  site: SiteDetails
  /** The newest first; at least two. */
  versions: readonly VersionSummary[]
}

/** The differences between any two versions: by default between the live one and the one before it. */
export function CompareVersions({ site, versions }: CompareVersionsProps) {
  const live = Math.max(
    0,
    versions.findIndex(({ current }) => current),
  )
  const [afterId, chooseAfter] = useState(versions[live]!.versionId)
  const [beforeId, chooseBefore] = useState((versions[live + 1] ?? versions[live - 1]!).versionId)
  // It costs a request for each version.
  const [isComparing, compare] = useState(false)
  const choices = versions.map((version) => ({ value: version.versionId, name: describe(version) }))
  return (
    <Panel
      title="Compare versions"
      lead="Shows which files differ between two versions, and which lines of text files."
    >
      <div class="compared-choices">
        <Choice label="From" value={beforeId} choices={choices} onChoose={chooseBefore} />
        <Choice label="To" value={afterId} choices={choices} onChoose={chooseAfter} />
      </div>
      {isComparing ? (
        <Comparison key={`${beforeId} ${afterId}`} site={site} beforeId={beforeId} afterId={afterId} />
      ) : (
        <p>
          <Button onClick={() => compare(true)}>Compare</Button>
        </p>
      )}
    </Panel>
  )
}

function describe(version: VersionSummary): string {
  const { versionId, current, message } = version
  const state = current ? ', live' : ''
  return `${formatShort(madeAt(version))} (${shortId(versionId)}${state})${message ? ` ${message}` : ''}`
}

interface ComparisonProps {
  site: SiteDetails
  beforeId: string
  afterId: string
}

function Comparison({ site, beforeId, afterId }: ComparisonProps) {
  const before = useVersion(site.slug, beforeId)
  const after = useVersion(site.slug, afterId)
  const error = before.error ?? after.error
  if (error)
    return (
      <ErrorNotice
        error={error}
        onRetry={() => {
          for (const one of [before, after]) if (one.error) one.reload()
        }}
      />
    )
  if (!before.value || !after.value) return <Loading what="the versions" />
  return <Differences site={site} before={before.value} after={after.value} />
}

function useVersion(slug: string, versionId: string) {
  return useResource(`site/${slug}/versions/${versionId}`, () => slipway.version(slug, versionId))
}

interface DifferencesProps {
  site: SiteDetails
  before: VersionDetails
  after: VersionDetails
}

function Differences({ site, before, after }: DifferencesProps) {
  const [showsAll, showAll] = useState(false)
  const { added, changed, removed } = diffManifests(before.files, after.files)
  const paths = [...changed, ...added, ...removed]
  const shown = showsAll ? paths : paths.slice(0, INITIAL_FILES)
  const [old, now] = [byPath(before.files), byPath(after.files)]
  const counts = { added: added.length, changed: changed.length, removed: removed.length }
  return (
    <>
      <p class="quiet" role="status">
        {paths.length === 0 ? 'No differences.' : `${listChanges(counts).join(', ')}.`}
      </p>
      <ul class="plain-list compared">
        {shown.map((path) => (
          <ComparedFile
            key={path}
            site={site}
            before={withVersion(old.get(path), before)}
            after={withVersion(now.get(path), after)}
          />
        ))}
      </ul>
      {shown.length < paths.length && (
        <p>
          <Button onClick={() => showAll(true)}>{`Show all ${formatNumber(paths.length)}`}</Button>
        </p>
      )}
    </>
  )
}

interface ComparedFileProps {
  site: SiteDetails
  before: VersionFile | undefined
  after: VersionFile | undefined
}

function ComparedFile({ site, before, after }: ComparedFileProps) {
  const [isOpen, open] = useState(false)
  const sizes = [before, after].flatMap((file) => (file ? [formatBytes(file.size)] : []))
  const kind = !before ? 'Added' : !after ? 'Removed' : 'Changed'
  return (
    <li>
      <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
        <summary>
          <bdi>{(after ?? before)!.path}</bdi>{' '}
          <span class="quiet small">{`${kind}, ${sizes.join(' → ')}`}</span>
        </summary>
        {isOpen && <FileDiff site={site} before={before} after={after} />}
      </details>
    </li>
  )
}

function byPath(files: readonly FileEntry[]): Map<string, FileEntry> {
  return new Map(files.map((file) => [file.path, file]))
}

function withVersion(file: FileEntry | undefined, { versionId }: VersionDetails): VersionFile | undefined {
  return file && { ...file, versionId }
}
