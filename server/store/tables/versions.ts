import type { FileChanges } from '../../../protocol/api/fields.schema.ts'
import type { PublishWarning, SiteMetadata } from '../../../protocol/api/publish.schema.ts'
import type { SiteKind } from '../../../protocol/api/sites.schema.ts'
import type { PublishedWith } from '../../../protocol/api/versions.schema.ts'
import type { StoredFile } from '../../../protocol/manifest/manifest.ts'
import { mediaType } from '../../../protocol/manifest/media-type.ts'
import type { CodedContent } from '../../blobs/content-coding.ts'
import type { SiteRules } from '../../site-rules/site-rules.ts'
import {
  type Column,
  type EntityOf,
  flag,
  integer,
  json,
  jsonList,
  key,
  nullable,
  oneOf,
  Table,
  text,
} from '../table.ts'

/** What a version changes on the one that was live when it was staged. */
export interface VersionChanges extends FileChanges {
  comparedWith: string
}

/**
 * A list for each property, with one value for each file, null for an absent one. JSON of the files would be longer by half,
 * and take twice as long to parse. A content type that an earlier file has is the position of the first such file.
 */
type Lists = { [Name in keyof ManifestFile]-?: (ManifestFile[Name] | null)[] } & {
  contentType: (string | number)[]
}

/** `hash` comes first, for `containsHash`, before any "]". */
function formatFiles(files: readonly ManifestFile[]): string {
  const names = new Set<string>(['hash', 'path', ...files.flatMap(Object.keys)])
  const lists = [...names].map((name) => {
    const values = files.map((file) => file[name as keyof ManifestFile] ?? null)
    return [name, name === 'contentType' ? refer(values) : values]
  })
  return JSON.stringify(Object.fromEntries(lists))
}

function refer(values: readonly unknown[]): unknown[] {
  const first = new Map<unknown, number>()
  return values.map((value, at) => {
    const earlier = first.get(value)
    if (earlier === undefined) first.set(value, at)
    return earlier ?? value
  })
}

export function parseFiles<File extends ManifestFile>(stored: string): File[] {
  const { hash, path, size, contentType, ...others } = JSON.parse(stored) as Lists
  const files = path.map((one, at): ManifestFile => {
    const type = contentType[at]!
    const file = {
      path: one!,
      size: size[at]!,
      contentType: (typeof type === 'number' ? contentType[type] : type) as string,
    }
    return hash[at] == null ? file : { ...file, hash: hash[at] }
  })
  for (const [name, values] of Object.entries(others))
    for (const [at, value] of values.entries())
      if (value !== null) Object.assign(files[at]!, { [name]: value })
  return files as File[]
}

export function parseHashes(stored: string): string[] {
  return (JSON.parse(stored) as Lists).hash.filter((hash) => hash != null)
}

/** Parts that are stored as JSON are parsed when they are read first; a spread reads all of them. */
export const versionTable = new Table({
  id: key(text),
  slug: text,
  /** `former` is no version: it records the former files of its site or, with `previewName`, of a preview. */
  state: oneOf<'pending' | 'ready' | 'former'>(),
  fileCount: integer,
  totalBytes: integer,
  /** Of the publish request; applied when the version first goes live. */
  metadata: json<SiteMetadata>(),
  /** The version that it replaced when it first went live; before that, the one that must be live, null for any. */
  baseVersionId: nullable(text),
  createdAt: integer,
  publishedAt: nullable(integer),
  /** When it went live last, by a publish or a restore. */
  lastLiveAt: nullable(integer),
  isEncoded: flag,
  /** The account that staged it, null for none, and its credential. */
  publishedBy: nullable(text),
  publishedWith: nullable(oneOf<PublishedWith>()),
  /** The program that staged it, as it named itself; null when it did not. */
  publishedClient: nullable(text),
  /** Null before finalize. */
  preview: nullable(json<SitePreview>()),
  /** Title of its start page; null without one, and as `preview`. */
  title: nullable(text),
  /** Equal for versions with equal files; null as `preview`. */
  contentHash: nullable(text),
  message: nullable(text),
  thumbnailHash: nullable(text),
  /** Null when no version was live when it was staged or a hash was not declared, and as `contentHash`. */
  changes: nullable(json<VersionChanges>()),
  /** The name of the preview that shows this version; of a pending version, that it will have. */
  previewName: nullable(text),
  /** When the preview ends; of a pending version, its lifetime after `createdAt`. Null without a name. */
  previewUntil: nullable(integer),
  liveReload: flag,
  /** Written at staging, and again at finalize when hashes were not declared. */
  files: { encode: formatFiles, decode: parseFiles, isLazy: true } as Column<readonly ManifestFile[], string>,
  /** The parsed `_redirects` and `_headers`; null when the version has neither. */
  rules: nullable(json<SiteRules>()),
  warnings: jsonList<PublishWarning>(),
  /** Of the root document with metadata in its head, when its encodings are stored; null when served as published. */
  injectedDocumentHash: nullable(text),
})

export type Version = EntityOf<typeof versionTable>

export const versionHeader = versionTable.omit('files', 'rules', 'warnings', 'injectedDocumentHash')

export type VersionHeader = EntityOf<typeof versionHeader>

/** A picture of a version for lists of sites: WebP in base64. */
export const thumbnailTable = new Table({ versionId: key(text), picture: text })

/** Name of the lease of the node that prepares the encodings of a version; the id comes last. */
export function encodingsLease(versionId: string): string {
  return `encodings of ${versionId}`
}

export function emptyVersion(id: string, slug: string, now: number): Version {
  return {
    ...versionTable.nulls,
    id,
    slug,
    state: 'pending',
    files: [],
    fileCount: 0,
    totalBytes: 0,
    metadata: {},
    createdAt: now,
    warnings: [],
    isEncoded: false,
    liveReload: false,
  }
}

/**
 * A manifest entry; `known` bytes of a pending version are those of the live version at staging, or of the one that its
 * preview shows, `isUnscanned` for secrets as their former type. With `coded`, bytes are served in their content coding,
 * decoded for clients that do not accept it.
 */
export interface ManifestFile extends StoredFile {
  known?: true
  isUnscanned?: true
  coded?: CodedContent
}

/** For a content coding that of the name without its extension, unless another was declared. */
export function servedType({
  path,
  contentType,
  coded,
}: Pick<ManifestFile, 'path' | 'contentType' | 'coded'>): string {
  const isDeclared = !coded || contentType !== mediaType(path)
  return isDeclared ? contentType : mediaType(path.replace(/\.(?:gz|br)$/i, ''))
}

/** A file that a site had; it stays reachable until then. */
export interface FormerFile extends ManifestFile {
  /** Its path in NFC, when that differs. */
  nfc?: string
  until: number
}

/** The record of a site or of a preview, the last to go away first; `previewUntil` is that of the first. */
export interface FormerFiles {
  id: string
  previewName: string | null
  files: readonly FormerFile[]
}

/** Whether the bytes of a file of a pending version are to be received: the site has them not, and it is not empty. */
export function needsUpload({ size, known }: ManifestFile): boolean {
  return size > 0 && known !== true
}

export interface SitePreview {
  kind: SiteKind
  /** Path of the site's icon, or of its only image. */
  image: string | null
  icon: string | null
}

/** The bytes that a pending version may still receive or has received; 0 of a finalized one. */
export function sumUploads(state: Version['state'], files: readonly ManifestFile[]): number {
  return state !== 'pending' ? 0 : files.reduce((sum, { size, known }) => (known ? sum : sum + size), 0)
}

/** A received file of a pending version, in an object of its own. */
export const arrivalTable = new Table({
  versionId: key(text),
  fileNumber: key(integer),
  hash: text,
  size: integer,
  object: text,
  piecesHash: nullable(text),
})

export type Arrival = EntityOf<typeof arrivalTable>

export const acceptedScanTable = new Table({ hash: key(text), scanner: key(text), acceptedAt: integer })
