import { ignoreRules } from '../../protocol/ignore/default-rules.ts'
import { commonFolder, type Exclusion, Exclusions } from '../../protocol/ignore/exclusions.ts'
import type { IgnoreRules } from '../../protocol/ignore/ignore-rules.ts'
import type { NamedFile } from '../../protocol/manifest/folder.ts'
import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import type { Source } from './reader/messages.ts'
import { type Reader, ReadingFault } from './reader/reader.ts'
import type { Selection } from './selection.ts'
import { UnpublishableError } from './unpublishable-error.ts'
import { readEntries, readFile, walk } from './walk.ts'

/** A candidate file. */
export interface CollectedFile extends NamedFile {
  source: Source
  /** Why it cannot be extracted from its zip. */
  problem?: string
}

/** The contents of a drop. Paths of folders end with `/`. */
export interface CollectedFiles {
  files: CollectedFile[]
  /** OS metadata, secrets, and matches of `.slipwayignore`. */
  ignored: Exclusion[]
  /** Name of its zip. */
  zip?: string
}

/** A file with its path, before any decision. */
interface Candidate {
  path: string
  size: number
  source: Source
  problem?: string
}

const OWN_RULES = '.slipwayignore'
/** Maximum size of an ignore file in bytes. */
const MAX_RULE_FILE_BYTES = 64 * 1024
/** Maximum length of a path, twice what a site allows. */
const MAX_SCANNED_PATH_LENGTH = 1000

/** Scans a drop: the name of a dropped folder or zip is not part of the paths. Reads names and sizes only. */
export async function collectFiles(
  picked: Selection,
  reader: Reader,
  signal: AbortSignal,
): Promise<CollectedFiles> {
  const { entries, files } = picked
  const [only] = entries
  if (entries.length === 1 && files.length === 0 && only!.isDirectory)
    return collectFolder(only as FileSystemDirectoryEntry, signal)
  if (entries.length > 0) return collectEntries(entries, files, reader, signal)
  if (files.length === 1 && isZip(files[0]!)) return collectZip(files[0]!, reader)
  const candidates = files.map((file) => ({ path: relativePath(file), size: file.size, source: file }))
  return applyIgnoreRules(candidates, await readRules(candidates, reader))
}

async function collectFolder(folder: FileSystemDirectoryEntry, signal: AbortSignal): Promise<CollectedFiles> {
  const top: FileSystemEntry[] = []
  for await (const some of readEntries(folder)) top.push(...some)
  const own = top.find((entry) => entry.isFile && entry.name === OWN_RULES)
  const rules = await parseRules(own && (await readFile(own as FileSystemFileEntry)))
  return collectFiltered(top, [], rules, signal)
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
  return collectFiltered(entries, files, ignoreRules(''), signal)
}

async function collectFiltered(
  entries: FileSystemEntry[],
  files: File[],
  rules: IgnoreRules,
  signal: AbortSignal,
) {
  const leftOut: Exclusion[] = []
  const leaves = (path: string, isFolder: boolean) => {
    const reason = rules.reasonFor(path, isFolder)
    if (reason) leftOut.push({ path: isFolder ? `${path}/` : path, reason })
    return reason !== undefined
  }
  const walked = await walk(entries, leaves, signal)
  const found = applyIgnoreRules(
    [
      ...walked.map(({ path, file }) => toCandidate(path, file)),
      ...files.map((file) => toCandidate(file.name, file)),
    ],
    rules,
  )
  return { ...found, ignored: [...leftOut, ...found.ignored].sort(byPath) }
}

function toCandidate(path: string, file: File): Candidate {
  return { path, size: file.size, source: file }
}

async function collectZip(zip: File, reader: Reader): Promise<CollectedFiles> {
  const listing = await reader.list(zip).catch((fault: unknown) => {
    if (fault instanceof ReadingFault && fault.kind === 'zip') throw brokenZip(zip, fault.message)
    throw fault
  })
  const all = listing.map((entry, at) => ({
    ...entry,
    path: entry.path.replace(/^\.\/(?=.)/, ''),
    source: at,
  }))
  const rules = ignoreRules('')
  const strip = commonFolder(
    all.map(({ path }) => path).filter((path) => isTooDeep(path) || !rules.ignoresWithin(path, false)),
  )
  const inside = all.map((entry) =>
    entry.path.startsWith(strip) ? { ...entry, path: entry.path.slice(strip.length) } : entry,
  )
  const found = applyIgnoreRules(inside, await readRules(inside, reader))
  return { ...found, zip: zip.name }
}

/**
 * Zips can contain names with thousands of nested folders; they are rejected before each folder is checked.
 */
function isTooDeep(path: string): boolean {
  return path.length > MAX_SCANNED_PATH_LENGTH
}

function brokenZip({ name }: File, why: string): UnpublishableError {
  const isLarge = /^it/.test(why)
  return new UnpublishableError(
    `Couldn't open ${name}${isLarge ? `: ${why}.` : '. It may be damaged, or not a ZIP file.'}`,
    'Unzip it first, then drop the folder.',
  )
}

/** The path in a picked folder, without the folder's own name. */
function relativePath({ name, webkitRelativePath }: File): string {
  return webkitRelativePath ? webkitRelativePath.slice(webkitRelativePath.indexOf('/') + 1) : name
}

function isZip({ name, type }: File): boolean {
  return /\.zip$/i.test(name) || type === 'application/zip' || type === 'application/x-zip-compressed'
}

/** The rules of the folder's ignore file, if it has one. */
async function readRules(files: readonly Candidate[], reader: Reader): Promise<IgnoreRules> {
  const own = files.find(({ path, size }) => path === OWN_RULES && size <= MAX_RULE_FILE_BYTES)
  if (!own) return ignoreRules('')
  return parseRules(typeof own.source === 'number' ? await reader.inflate(own.source) : own.source)
}

async function parseRules(own: Blob | undefined): Promise<IgnoreRules> {
  return ignoreRules(own ? await own.slice(0, MAX_RULE_FILE_BYTES).text() : '')
}

function applyIgnoreRules(files: readonly Candidate[], rules: IgnoreRules): CollectedFiles {
  const leftOut = new Map<string, Exclusion>()
  const found: CollectedFiles = { files: [], ignored: [] }
  const exclusions = new Exclusions(rules)
  for (const { path: local, ...file } of files) {
    const exclusion = isTooDeep(local) ? undefined : exclusions.find(local)
    if (exclusion) leftOut.set(exclusion.path, exclusion)
    else found.files.push({ path: normalizeNfc(local), local, ...file })
  }
  found.files.sort((a, b) => (a.path < b.path ? -1 : 1))
  return { ...found, ignored: [...leftOut.values()].sort(byPath) }
}

function byPath(a: Exclusion, b: Exclusion): number {
  return a.path < b.path ? -1 : 1
}
