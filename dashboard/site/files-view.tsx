import { useMemo, useState } from 'preact/hooks'
import type { FileEntry, SiteDetails } from '../../client/wire.ts'
import { count, figure, size } from '../../client/words.ts'
import { TextField } from '../kit/field.tsx'
import { Icon, type IconName } from '../kit/icon.tsx'
import { Empty, Panel } from '../kit/panel.tsx'
import { fileUrl, isServed } from '../sites/address.ts'
import { type Folder, type NamedFile, treeOf } from './files-tree.ts'

/** Files up to which every folder stands open. */
const FEW = 30

/** Files that a search shows; who means one of the others types on. */
const MOST_FOUND = 200

/** Folders within folders up to which each is indented further. */
const DEEP = 6

/** The files that are live, in their folders. */
export function FilesView({ site }: { site: SiteDetails }) {
  const [wanted, want] = useState('')
  const tree = useMemo(() => treeOf(site.files), [site.files])
  const text = wanted.trim().toLowerCase()
  const found = text === '' ? undefined : site.files.filter(({ path }) => path.toLowerCase().includes(text))
  const isLive = site.currentVersionId !== null
  const addressOf = isLive ? (path: string) => fileUrl(site.siteUrl, path) : undefined
  return (
    <Panel
      title="Files"
      actions={<p class="quiet">{`${count(tree.count, 'file')}, ${size(tree.bytes)}`}</p>}
      lead={!isLive && 'These files are expected. None of them can be opened before all have arrived.'}
    >
      {site.files.length > FEW && (
        <TextField
          label="Search"
          type="search"
          placeholder="Part of a name or folder"
          value={wanted}
          onWrite={want}
          hint={<span role="status">{found && foundWords(found.length, site.files.length)}</span>}
        />
      )}
      {found?.length === 0 && <Empty title="No file is called that." />}
      {found ? (
        <ul class="files">
          {found.slice(0, MOST_FOUND).map((file) => (
            <FileRow key={file.path} file={{ ...file, name: file.path }} addressOf={addressOf} />
          ))}
        </ul>
      ) : (
        <Entries folder={tree} depth={0} isOpen={site.files.length <= FEW} addressOf={addressOf} />
      )}
    </Panel>
  )
}

function foundWords(found: number, all: number): string {
  const words = `${figure(found)} of ${count(all, 'file')}`
  return found > MOST_FOUND ? `${words}. The first ${MOST_FOUND} are shown; type more to see others.` : words
}

type AddressOf = ((path: string) => string) | undefined

interface EntriesProps {
  folder: Folder
  depth: number
  /** Whether the folders in it stand open at first. */
  isOpen: boolean
  addressOf: AddressOf
}

function Entries({ folder, depth, isOpen, addressOf }: EntriesProps) {
  return (
    <ul class={`files ${depth > 0 && depth <= DEEP ? 'within' : ''}`}>
      {folder.folders.map((below) => (
        <li key={`${below.path}/`}>
          <details open={isOpen}>
            <summary class="file-row">
              <Icon name="down" />
              <bdi>{below.name}</bdi>
              <span class="file-type quiet small">{count(below.count, 'file')}</span>
              <span class="file-size quiet small">{size(below.bytes)}</span>
            </summary>
            <Entries folder={below} depth={depth + 1} isOpen={isOpen} addressOf={addressOf} />
          </details>
        </li>
      ))}
      {folder.files.map((file) => (
        <FileRow key={file.path} file={file} addressOf={addressOf} />
      ))}
    </ul>
  )
}

function FileRow({ file, addressOf }: { file: NamedFile; addressOf: AddressOf }) {
  return (
    <li class="file-row">
      <Icon name={iconOf(file)} />
      {addressOf && isServed(file.path) ? (
        <a href={addressOf(file.path)} target="_blank" rel="noreferrer">
          <bdi>{file.name}</bdi>
        </a>
      ) : (
        <bdi>{file.name}</bdi>
      )}
      <span class="file-type quiet small">
        {isServed(file.path) ? file.contentType.replace(/\s*;.*/, '') : 'read, not shown'}
      </span>
      <span class="file-size quiet small">{size(file.size)}</span>
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

function iconOf({ contentType }: FileEntry): IconName {
  return TYPES.find(([type]) => type.test(contentType.toLowerCase()))?.[1] ?? 'document'
}
