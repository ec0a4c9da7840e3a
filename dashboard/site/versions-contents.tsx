import { useState } from 'preact/hooks'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import type { VersionDetails, VersionSummary } from '../../protocol/api/versions.schema.ts'
import { formatNumber, shortId } from '../../protocol/format.ts'
import { isRuleFile } from '../../protocol/manifest/rule-files.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { fileUrl } from '../sites/address.ts'
import { SitePreview } from './site-preview.tsx'

/** Paths of a kind shown at first. */
const INITIAL_PATHS = 50

const KINDS = [
  ['added', 'Added'],
  ['changed', 'Changed'],
  ['removed', 'Removed'],
] as const

interface VersionContentsProps {
  site: SiteDetails
  version: VersionSummary
}

/** A version's preview and changes; loaded when it is opened. */
export function VersionContents({ site, version }: VersionContentsProps) {
  const { slug } = site
  const { versionId, previewUrl } = version
  const details = useResource(`site/${slug}/versions/${versionId}`, () => slipway.version(slug, versionId))
  const { value } = details
  return (
    <div class="version-contents">
      <SitePreview site={site} address={previewUrl} title="Preview of this version" version={versionId} />
      <div class="stack">
        <ErrorNotice error={details.error} onRetry={details.reload} />
        {!value && details.loading && <Loading what="the changes" />}
        {value && <Changes version={value} />}
      </div>
    </div>
  )
}

function Changes({ version }: { version: VersionDetails }) {
  if (version.comparedWith === null)
    return <Paths title="Files" paths={version.files.map(({ path }) => path)} at={version.previewUrl} />
  const kinds = KINDS.filter(([kind]) => version[kind].length > 0)
  return (
    <>
      <p class="quiet small">
        Compared with version <code>{shortId(version.comparedWith)}</code>
      </p>
      {kinds.length === 0 && <p class="quiet">No files changed.</p>}
      {kinds.map(([kind, title]) => (
        <Paths
          key={kind}
          title={title}
          paths={version[kind]}
          at={kind === 'removed' ? undefined : version.previewUrl}
        />
      ))}
    </>
  )
}

interface PathsProps {
  title: string
  paths: string[]
  /** Where they can be opened; undefined when they were removed. */
  at: string | undefined
}

function Paths({ title, paths, at }: PathsProps) {
  const [showsAll, showAll] = useState(false)
  const shown = showsAll ? paths : paths.slice(0, INITIAL_PATHS)
  return (
    <section class="stack tight">
      <h4>{`${title} (${formatNumber(paths.length)})`}</h4>
      <ul class="plain-list paths small">
        {shown.map((path) => (
          <li key={path}>
            {at && !isRuleFile(path) ? (
              <a href={fileUrl(at, path)} target="_blank" rel="noreferrer">
                <bdi>{path}</bdi>
              </a>
            ) : (
              <bdi>{path}</bdi>
            )}
          </li>
        ))}
      </ul>
      {shown.length < paths.length && (
        <p>
          <Button onClick={() => showAll(true)}>{`Show all ${formatNumber(paths.length)}`}</Button>
        </p>
      )}
    </section>
  )
}
