import type { ArchiveLink } from '../../protocol/folder/archive-links.ts'
import { FolderSelection, toArchivePath } from '../../protocol/folder/folder-selection.ts'
import {
  IGNORE_FILE,
  ignoreRules,
  invalidIgnoreFile,
  MAX_IGNORE_BYTES,
  STATE_FOLDER,
} from '../../protocol/ignore/default-rules.ts'
import { type Exclusion, Exclusions } from '../../protocol/ignore/exclusions.ts'
import type { IgnoreRules } from '../../protocol/ignore/ignore-rules.ts'
import type { NamedFile } from '../../protocol/manifest/folder.ts'
import { describeIndexAlias, findIndexAliases } from '../../protocol/manifest/root-document.ts'
import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import type { Source, ZipListingEntry } from './reader/messages.ts'
import { type Reader, ReadingFault } from './reader/reader.ts'
import type { FileChange, Selection } from './selection.ts'
import { UnpublishableError } from './unpublishable-error.ts'
import { readEntries, readFile, walk } from './walk.ts'

/** A candidate file. */
export interface CollectedFile extends NamedFile, Omit<Candidate, 'path' | 'size'> {}

/** The contents of a drop. */
export interface CollectedFiles {
  files: CollectedFile[]
  /** What is left out. */
  ignored: Exclusion[]
  /** What was guessed, as sentences. */
  notes: string[]
  /** Name of its zip. */
  zip?: string
  /** Whether the site keeps its other files. */
  isChange?: true
}

/** A file with its path, before any decision. */
interface Candidate {
  path: string
  size: number
  source: Source
  /** Why it cannot be extracted from its zip. */
  problem?: string
  /** The `index.html` of a folder whose index has another name; a site that is added to may have one. */
  isIndexAlias?: true
  /** By default, it follows from the path and the content. */
  contentType?: string | undefined
}

/** Maximum length of a path, twice what a site allows. */
const MAX_SCANNED_PATH_LENGTH = 1000

/** Scans a drop: the name of a dropped folder or zip is not part of the paths. Reads names and sizes only. */
export async function collectFiles(
  picked: Selection,
  reader: Reader,
  signal: AbortSignal,
): Promise<CollectedFiles> {
  const { entries, files, change } = picked
  if (change) return collectChange(change)
  const [only] = entries
  if (entries.length === 1 && files.length === 0 && only!.isDirectory)
    return collectFolder(only as FileSystemDirectoryEntry, signal)
  if (entries.length > 0) return collectEntries(entries, files, reader, signal)
  if (files.length === 1 && isZip(files[0]!)) return collectZip(files[0]!, reader)
  const candidates = files.map((file) => ({ path: relativePath(file), size: file.size, source: file }))
  const own = candidates.find(({ path }) => path === IGNORE_FILE)
  return applyIgnoreRules(candidates, await parseRules(own?.source))
}

function collectChange({ files }: FileChange): CollectedFiles {
  const candidates = files.map((file) => ({ ...file, size: file.source.size }))
  return { files: toCollected(candidates), ignored: [], notes: [], isChange: true }
}

async function collectFolder(folder: FileSystemDirectoryEntry, signal: AbortSignal): Promise<CollectedFiles> {
  const top: FileSystemEntry[] = []
  for await (const some of readEntries(folder)) top.push(...some)
  return collectFiltered(top, [], signal)
}

async function collectEntries(
  entries: FileSystemEntry[],
  files: File[],
  reader: Reader,
  signal: AbortSignal,
): Promise<CollectedFiles> {
  const [only] = entries
  if (entries.length === 1 && files.length === 0 && only!.isFile) {
    const file = await readFile(only as FileSystemFileEntry)
    if (isZip(file)) return collectZip(file, reader)
  }
  return collectFiltered(entries, files, signal)
}

async function collectFiltered(entries: FileSystemEntry[], files: File[], signal: AbortSignal) {
  const entry = entries.find(({ isFile, name }) => isFile && name === IGNORE_FILE)
  const own = entry && (await readFile(entry as FileSystemFileEntry))
  const rules = await parseRules(own ?? files.find(({ name }) => name === IGNORE_FILE))
  const leftOut: Exclusion[] = []
  const leaves = (path: string, isFolder: boolean) => {
    const reason = rules.reasonFor(path, isFolder)
    if (reason) leftOut.push({ path: isFolder ? `${path}/` : path, reason })
    return reason !== undefined
  }
  const walked = await walk(entries, leaves, signal)
  const candidates = [
    ...walked.map(({ path, file }) => toCandidate(path, file)),
    ...files.map((file) => toCandidate(file.name, file)),
  ]
  return applyIgnoreRules(candidates, rules, leftOut)
}

function toCandidate(path: string, file: File): Candidate {
  return { path, size: file.size, source: file }
}

async function collectZip(zip: File, reader: Reader): Promise<CollectedFiles> {
  const listing = await reader.list(zip).catch((fault: unknown) => {
    if (fault instanceof ReadingFault && fault.kind === 'zip') throw brokenZip(zip, fault.message)
    throw fault
  })
  const entries = listing.entries.map((entry, at) => ({
    ...entry,
    path: isTooDeep(entry.path) ? entry.path : toArchivePath(entry.path),
    source: at,
  }))
  const deep = entries.filter(({ path }) => isTooDeep(path))
  const found = await selectZip(
    entries.filter(({ path }) => !isTooDeep(path)),
    reader,
  ).catch((error: Error) => {
    throw new UnpublishableError(`Couldn't open ${zip.name}: ${error.message}.`, UNZIP_HINT)
  })
  const files = [...found.files, ...toCollected(deep)].sort(byPath)
  return { ...found, files, notes: [...listing.notes, ...found.notes], zip: zip.name }
}

type ZipCandidate = ZipListingEntry & { source: number }

/** The files of a zip that are published, as those of the unpacked folder. */
async function selectZip(entries: readonly ZipCandidate[], reader: Reader): Promise<CollectedFiles> {
  const selection = new FolderSelection()
  for (const { path, size, source } of entries) {
    if (!selection.isIgnoreFile(path)) continue
    if (size > MAX_IGNORE_BYTES) throw invalidIgnoreFile(path)
    selection.addIgnoreFile(path, await (await reader.inflate(source)).text())
  }
  const early: Exclusion[] = []
  const files: ZipCandidate[] = []
  const links = new Map<string, ArchiveLink>()
  for (const entry of entries) {
    const { path, link, isSpecial } = entry
    const exclusion = await selection.findEarly(path)
    if (exclusion) early.push(exclusion)
    else if (isSpecial) early.push({ path, reason: 'special' })
    else if (link !== undefined) links.set(path, { path, target: link, isSymbolic: true })
    else if (!path.endsWith('/')) files.push(entry)
  }
  const selected = await selection.select({ files: files.map(({ path }) => path), links }, early)
  const { kept, copies, removedFolder, excluded, notes } = selected
  const sources = new Map(files.map((file) => [file.path, file]))
  const aliases = new Set(selected.indexes)
  const inSite = [
    ...files.filter(({ path }) => kept.has(path)),
    ...copies.map(({ path, source }) => ({ ...sources.get(source)!, path })),
  ].map((file) => ({
    ...file,
    path: file.path.slice(removedFolder.length),
    ...(aliases.has(file.path) && { isIndexAlias: true as const }),
  }))
  return { files: toCollected(inSite), ignored: excluded, notes }
}

/**
 * Zips can contain names with thousands of nested folders; they are rejected before each folder is checked.
 */
function isTooDeep(path: string): boolean {
  return path.length > MAX_SCANNED_PATH_LENGTH
}

const UNZIP_HINT = 'Unzip it first, then drop the folder.'

function brokenZip({ name }: File, why: string): UnpublishableError {
  const isLarge = /^it/.test(why)
  return new UnpublishableError(
    `Couldn't open ${name}${isLarge ? `: ${why}.` : '. It may be damaged, or not a ZIP file.'}`,
    UNZIP_HINT,
  )
}

/** The path in a picked folder, without the folder's own name. */
function relativePath({ name, webkitRelativePath }: File): string {
  return webkitRelativePath ? webkitRelativePath.slice(webkitRelativePath.indexOf('/') + 1) : name
}

function isZip({ name, type }: File): boolean {
  return /\.zip$/i.test(name) || type === 'application/zip' || type === 'application/x-zip-compressed'
}

async function parseRules(own: File | undefined): Promise<IgnoreRules> {
  try {
    if (own && own.size > MAX_IGNORE_BYTES) throw invalidIgnoreFile(IGNORE_FILE)
    return ignoreRules(own ? await own.text() : '')
  } catch (error) {
    throw new UnpublishableError(`${(error as Error).message}.`, 'Change it, then drop the folder again.')
  }
}

/** The files that the rules do not exclude, with the index of folders that have another one. */
function applyIgnoreRules(
  files: readonly Candidate[],
  rules: IgnoreRules,
  leftOut: readonly Exclusion[] = [],
): CollectedFiles {
  const excluded = new Map(leftOut.map((exclusion) => [exclusion.path, exclusion]))
  const exclusions = new Exclusions(rules)
  const kept = files.filter(({ path }) => {
    const exclusion = isTooDeep(path) ? undefined : exclusions.find(path)
    if (exclusion) excluded.set(exclusion.path, exclusion)
    return exclusion === undefined
  })
  excluded.delete(`${STATE_FOLDER}/`)
  const collected = toCollected(kept)
  const aliases = findIndexAliases(collected)
  const indexes = aliases.map(({ path, file }) => ({ ...file, path, isIndexAlias: true as const }))
  return {
    files: [...collected, ...indexes].sort(byPath),
    ignored: [...excluded.values()].sort(byPath),
    notes: aliases.map(describeIndexAlias),
  }
}

function toCollected(files: readonly Candidate[]): CollectedFile[] {
  return files.map(({ path: local, ...file }) => ({ path: normalizeNfc(local), local, ...file }))
}

function byPath(a: { path: string }, b: { path: string }): number {
  return a.path < b.path ? -1 : 1
}
