import { useMemo, useState } from 'preact/hooks'
import type { FileEntry } from '../../protocol/api/publish.ts'
import type { SiteDetails } from '../../protocol/api/sites.ts'
import { formatBytes, formatNumber, pluralize } from '../../protocol/format.ts'
import { isRuleFile } from '../../protocol/manifest/rule-files.ts'
import { TextField } from '../kit/field.tsx'
import { Icon, type IconName } from '../kit/icon.tsx'
import { Empty, Panel } from '../kit/panel.tsx'
import { fileUrl } from '../sites/address.ts'
import { buildTree, type Folder, type NamedFile } from './files-tree.ts'

/** Number of files up to which every folder is open. */
const OPEN_FOLDERS_THRESHOLD = 30

/** Maximum number of search results. */
const MAX_SEARCH_RESULTS = 200

/** Maximum depth of indentation. */
const MAX_INDENT_DEPTH = 6

/** The live files in their folders. */
export function FilesView({ site }: { site: SiteDetails }) {
  const [wanted, want] = useState('')
  const tree = useMemo(() => buildTree(site.files), [site.files])
  const text = wanted.trim().toLowerCase()
  const found = text === '' ? undefined : site.files.filter(({ path }) => path.toLowerCase().includes(text))
  const isLive = site.currentVersionId !== null
  const toUrl = isLive ? (path: string) => fileUrl(site.siteUrl, path) : undefined
  return (
    <Panel
      title="Files"
      actions={<p class="quiet">{`${pluralize(tree.count, 'file')}, ${formatBytes(tree.bytes)}`}</p>}
      lead={!isLive && 'These files are expected. None of them can be opened before all have arrived.'}
    >
      {site.files.length > OPEN_FOLDERS_THRESHOLD && (
        <TextField
          label="Search"
          type="search"
          placeholder="Part of a name or folder"
          value={wanted}
          onWrite={want}
          hint={<span role="status">{found && formatFound(found.length, site.files.length)}</span>}
        />
      )}
      {found?.length === 0 && <Empty title="No file is called that." />}
      {found ? (
        <ul class="files">
          {found.slice(0, MAX_SEARCH_RESULTS).map((file) => (
            <FileRow key={file.path} file={{ ...file, name: file.path }} toUrl={toUrl} />
          ))}
        </ul>
      ) : (
        <Entries folder={tree} depth={0} isOpen={site.files.length <= OPEN_FOLDERS_THRESHOLD} toUrl={toUrl} />
      )}
    </Panel>
  )
}

function formatFound(found: number, all: number): string {
  const words = `${formatNumber(found)} of ${pluralize(all, 'file')}`
  return found > MAX_SEARCH_RESULTS
    ? `${words}. The first ${MAX_SEARCH_RESULTS} are shown; type more to see others.`
    : words
}

type ToUrl = ((path: string) => string) | undefined

interface EntriesProps {
  folder: Folder
  depth: number
  /** Whether its folders are open at first. */
  isOpen: boolean
  toUrl: ToUrl
}

function Entries({ folder, depth, isOpen, toUrl }: EntriesProps) {
  return (
    <ul class={`files ${depth > 0 && depth <= MAX_INDENT_DEPTH ? 'within' : ''}`}>
      {folder.folders.map((below) => (
        <li key={`${below.path}/`}>
          <details open={isOpen}>
            <summary class="file-row">
              <Icon name="down" />
              <bdi>{below.name}</bdi>
              <span class="file-type quiet small">{pluralize(below.count, 'file')}</span>
              <span class="file-size quiet small">{formatBytes(below.bytes)}</span>
            </summary>
            <Entries folder={below} depth={depth + 1} isOpen={isOpen} toUrl={toUrl} />
          </details>
        </li>
      ))}
      {folder.files.map((file) => (
        <FileRow key={file.path} file={file} toUrl={toUrl} />
      ))}
    </ul>
  )
}

function FileRow({ file, toUrl }: { file: NamedFile; toUrl: ToUrl }) {
  return (
    <li class="file-row">
      <Icon name={fileIcon(file)} />
      {toUrl && !isRuleFile(file.path) ? (
        <a href={toUrl(file.path)} target="_blank" rel="noreferrer">
          <bdi>{file.name}</bdi>
        </a>
      ) : (
        <bdi>{file.name}</bdi>
      )}
      <span class="file-type quiet small">
        {isRuleFile(file.path) ? 'read, not shown' : file.contentType.split(';', 1)[0]!.trim()}
      </span>
      <span class="file-size quiet small">{formatBytes(file.size)}</span>
    </li>
  )
}

const TYPES: readonly [RegExp, IconName][] = [
  [/^(text\/html|application\/xhtml)/, 'page'],
  [/^image\//, 'image'],
  [/^video\//, 'video'],
  [/^audio\//, 'audio'],
  [/zip|compressed|x-tar|gzip/, 'archive'],
]

function fileIcon({ contentType }: FileEntry): IconName {
  return TYPES.find(([type]) => type.test(contentType.toLowerCase()))?.[1] ?? 'document'
}
