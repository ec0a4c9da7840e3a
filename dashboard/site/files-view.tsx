import type { ComponentChildren } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { formatBytes, formatNumber, pluralize } from '../../protocol/format.ts'
import { isRuleFile } from '../../protocol/manifest/rule-files.ts'
import { SitePublication } from '../drop/drop-to-update.tsx'
import { TextField } from '../kit/field.tsx'
import { Icon, type IconName } from '../kit/icon.tsx'
import { useFocusAround } from '../kit/notice.tsx'
import { Empty, Panel } from '../kit/panel.tsx'
import { fileUrl } from '../sites/address.ts'
import { FileEditor } from './file-editor.tsx'
import { FileMenu } from './file-menu.tsx'
import { AddFiles } from './files-add.tsx'
import { buildTree, type Folder, type NamedFile } from './files-tree.ts'

/** Number of files up to which every folder is open. */
const OPEN_FOLDERS_THRESHOLD = 30

/** Maximum number of search results. */
const MAX_SEARCH_RESULTS = 200

/** Maximum depth of indentation. */
const MAX_INDENT_DEPTH = 6

interface FilesViewProps {
  site: SiteDetails
  /** Whether the page is loading the site again. */
  isStale: boolean
  /** Called when another version is live. */
  onLive: () => void
}

/** The live files in their folders, to add, edit, replace and delete. */
export function FilesView({ site, isStale, onLive }: FilesViewProps) {
  const [wanted, want] = useState('')
  const [edited, edit] = useState<FileEntry | undefined>(undefined)
  const tree = useMemo(() => buildTree(site.files), [site.files])
  const text = wanted.trim().toLowerCase()
  const found = text === '' ? undefined : site.files.filter(({ path }) => path.toLowerCase().includes(text))
  const isLive = site.currentVersionId !== null
  const canOpen = isLive && !site.suspension
  const toUrl = canOpen ? (path: string) => fileUrl(site.siteUrl, path) : undefined
  const menu = (file: FileEntry) =>
    canOpen && <FileMenu {...{ site, file, onLive }} onEdit={() => edit(file)} />
  const row = { toUrl, menu }
  return (
    <>
      <SitePublication slug={site.slug} onPublished={onLive} />
      <Panel
        title="Files"
        actions={
          <div class="choices">
            <p class="quiet">{`${pluralize(tree.count, 'file')}, ${formatBytes(tree.bytes)}`}</p>
            {canOpen && <AddFiles site={site} />}
          </div>
        }
        lead={!isLive && 'Files can be opened once all are uploaded.'}
      >
        {site.files.length > OPEN_FOLDERS_THRESHOLD && (
          <TextField
            label="Search"
            type="search"
            placeholder="Name or folder"
            value={wanted}
            onWrite={want}
            hint={<span role="status">{found && formatFound(found.length, site.files.length)}</span>}
          />
        )}
        {found?.length === 0 && <Empty title={`No files match "${wanted.trim()}".`} />}
        {found ? (
          <ul class="files">
            {found.slice(0, MAX_SEARCH_RESULTS).map((file) => (
              <FileRow key={file.path} file={{ ...file, name: file.path }} {...row} />
            ))}
          </ul>
        ) : (
          <Entries folder={tree} depth={0} isOpen={site.files.length <= OPEN_FOLDERS_THRESHOLD} {...row} />
        )}
      </Panel>
      {/* Not in the row, which an update may remove while the text is edited. */}
      {edited && <FileEditor {...{ site, isStale, onLive }} file={edited} onClose={() => edit(undefined)} />}
    </>
  )
}

function formatFound(found: number, all: number): string {
  const words = `${formatNumber(found)} of ${pluralize(all, 'file')}`
  return found > MAX_SEARCH_RESULTS
    ? `${words}; the first ${MAX_SEARCH_RESULTS} are shown. Type more to narrow the search.`
    : words
}

interface RowProps {
  toUrl: ((path: string) => string) | undefined
  menu: (file: FileEntry) => ComponentChildren
}

interface EntriesProps extends RowProps {
  folder: Folder
  depth: number
  /** Whether its folders are open at first. */
  isOpen: boolean
}

function Entries({ folder, depth, isOpen, ...row }: EntriesProps) {
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
            <Entries folder={below} depth={depth + 1} isOpen={isOpen} {...row} />
          </details>
        </li>
      ))}
      {folder.files.map((file) => (
        <FileRow key={file.path} file={file} {...row} />
      ))}
    </ul>
  )
}

function FileRow({ file, toUrl, menu }: RowProps & { file: NamedFile }) {
  const row = useRef<HTMLLIElement>(null)
  useFocusAround(row)
  return (
    <li class="file-row" ref={row}>
      <Icon name={fileIcon(file)} />
      {toUrl && !isRuleFile(file.path) ? (
        <a href={toUrl(file.path)} target="_blank" rel="noreferrer">
          <bdi>{file.name}</bdi>
        </a>
      ) : (
        <bdi>{file.name}</bdi>
      )}
      <span class="file-type quiet small">
        {isRuleFile(file.path) ? 'not served' : file.contentType.split(';', 1)[0]!.trim()}
      </span>
      <span class="file-size quiet small">{formatBytes(file.size)}</span>
      {menu(file)}
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
