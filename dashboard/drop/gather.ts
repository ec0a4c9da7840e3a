import type { IgnoreRules } from '../../client/folder/ignore.ts'
import { leavingOut } from '../../client/folder/left-out.ts'
import type { NamedFile } from '../../client/folder/limits.ts'
import type { Picked } from './picked.ts'
import type { Source } from './reader/messages.ts'
import { type Reader, ReadingFault } from './reader/reader.ts'
import { Unfit } from './unfit.ts'
import { children, fileOf, walk } from './walk.ts'

/** A file that may be published. */
export interface GatheredFile extends NamedFile {
  source: Source
  /** Why it cannot come out of its zip. */
  problem?: string
}

/** What was found in a drop. Paths of folders end with `/`. */
export interface Gathered {
  files: GatheredFile[]
  /** Junk, secrets, and what `.slipwayignore` names. */
  leftOut: string[]
  /** Empty files, which the service does not take. */
  empty: string[]
  /** The name of the zip that it came from. */
  zip?: string
}

/** A file by its path, before anything is decided. */
interface Lying {
  path: string
  size: number
  source: Source
  problem?: string
}

const OWN_RULES = '.slipwayignore'
/** Bytes of such a file that are read. */
const MOST_RULES = 64 * 1024
/** Characters of a path, twice what a site can have. */
const LONGEST_LOOKED_AT = 1000

/** Looks through what was dropped: a folder's or a zip's own name is no part of the site. Reads names and sizes only. */
export async function gather(picked: Picked, reader: Reader, signal: AbortSignal): Promise<Gathered> {
  const { entries, files } = picked
  const [only] = entries
  if (entries.length === 1 && files.length === 0 && only!.isDirectory)
    return gatherFolder(only as FileSystemDirectoryEntry, signal)
  if (entries.length > 0) return gatherEntries(entries, files, reader, signal)
  if (files.length === 1 && isZip(files[0]!)) return gatherZip(files[0]!, reader)
  const lying = files.map((file) => ({ path: pathOf(file), size: file.size, source: file }))
  return sift(lying, await rulesIn(lying, reader))
}

async function gatherFolder(folder: FileSystemDirectoryEntry, signal: AbortSignal): Promise<Gathered> {
  const top: FileSystemEntry[] = []
  for await (const some of children(folder)) top.push(...some)
  const own = top.find((entry) => entry.isFile && entry.name === OWN_RULES)
  const rules = await rulesOf(own && (await fileOf(own as FileSystemFileEntry)))
  return sifted(top, [], rules, signal)
}

async function gatherEntries(
  entries: FileSystemEntry[],
  files: File[],
  reader: Reader,
  signal: AbortSignal,
): Promise<Gathered> {
  const [only] = entries
  if (entries.length === 1 && files.length === 0 && only!.isFile) {
    const file = await fileOf(only as FileSystemFileEntry)
    if (isZip(file)) return gatherZip(file, reader)
  }
  return sifted(entries, files, leavingOut(''), signal)
}

async function sifted(entries: FileSystemEntry[], files: File[], rules: IgnoreRules, signal: AbortSignal) {
  const leftOut: string[] = []
  const leaves = (path: string, isFolder: boolean) => {
    const isLeftOut = rules.ignores(path, isFolder)
    if (isLeftOut) leftOut.push(isFolder ? `${path}/` : path)
    return isLeftOut
  }
  const walked = await walk(entries, leaves, signal)
  const found = sift(
    [...walked.map(({ path, file }) => lying(path, file)), ...files.map((file) => lying(file.name, file))],
    rules,
  )
  return { ...found, leftOut: [...leftOut, ...found.leftOut].sort() }
}

function lying(path: string, file: File): Lying {
  return { path, size: file.size, source: file }
}

async function gatherZip(zip: File, reader: Reader): Promise<Gathered> {
  const listing = await reader.list(zip).catch((fault: unknown) => {
    if (fault instanceof ReadingFault && fault.kind === 'zip') throw brokenZip(zip, fault.message)
    throw fault
  })
  const all = listing.map((entry, at) => ({
    ...entry,
    path: entry.path.replace(/^\.\/(?=.)/, ''),
    source: at,
  }))
  const rules = leavingOut('')
  const strip = wrapper(
    all.map(({ path }) => path).filter((path) => isEndless(path) || !rules.ignoresWithin(path, false)),
  )
  const inside = all.map((entry) =>
    entry.path.startsWith(strip) ? { ...entry, path: entry.path.slice(strip.length) } : entry,
  )
  const found = sift(inside, await rulesIn(inside, reader))
  return { ...found, zip: zip.name }
}

/** Zips can have names of thousands of folders within folders; they are refused, and nobody looks at each folder before. */
function isEndless(path: string): boolean {
  return path.length > LONGEST_LOOKED_AT
}

function brokenZip({ name }: File, why: string): Unfit {
  const isLarge = /^it/.test(why)
  return new Unfit(
    isLarge ? `${name} is no site: ${why}.` : `${name} cannot be read: it is broken, or no zip.`,
    'Unpack it on this machine and drop the folder.',
  )
}

/** The folder that everything is in, with its `/`; empty when there is no such folder. */
function wrapper(paths: readonly string[]): string {
  const first = paths[0] ?? ''
  const folder = first.slice(0, first.indexOf('/') + 1)
  return paths.every((path) => path.startsWith(folder)) ? folder : ''
}

/** In a folder that was picked, without the folder's own name. */
function pathOf({ name, webkitRelativePath }: File): string {
  return webkitRelativePath ? webkitRelativePath.slice(webkitRelativePath.indexOf('/') + 1) : name
}

function isZip({ name, type }: File): boolean {
  return /\.zip$/i.test(name) || type === 'application/zip' || type === 'application/x-zip-compressed'
}

/** The rules of the folder's own file, where it has one. */
async function rulesIn(files: readonly Lying[], reader: Reader): Promise<IgnoreRules> {
  const own = files.find(({ path, size }) => path === OWN_RULES && size <= MOST_RULES)
  if (!own) return leavingOut('')
  return rulesOf(typeof own.source === 'number' ? await reader.inflate(own.source) : own.source)
}

async function rulesOf(own: Blob | undefined): Promise<IgnoreRules> {
  return leavingOut(own ? await own.slice(0, MOST_RULES).text() : '')
}

function sift(files: readonly Lying[], rules: IgnoreRules): Gathered {
  const leftOut = new Set<string>()
  const found: Gathered = { files: [], leftOut: [], empty: [] }
  const verdicts = new Map<string, string | undefined>()
  for (const { path: local, ...file } of files) {
    const left = isEndless(local) ? undefined : leftOutAt(local, rules, verdicts)
    if (left !== undefined) leftOut.add(left)
    else if (file.size === 0) found.empty.push(local)
    else found.files.push({ path: local.normalize('NFC'), local, ...file })
  }
  found.files.sort((a, b) => (a.path < b.path ? -1 : 1))
  return { ...found, leftOut: [...leftOut].sort(), empty: found.empty.sort() }
}

/** The file itself or the outermost folder above it that is left out. */
function leftOutAt(
  path: string,
  rules: IgnoreRules,
  verdicts: Map<string, string | undefined>,
): string | undefined {
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  return folderLeftOut(folder, rules, verdicts) ?? (rules.ignores(path, false) ? path : undefined)
}

/** Folders are asked about once, however many files they hold. */
function folderLeftOut(
  folder: string,
  rules: IgnoreRules,
  verdicts: Map<string, string | undefined>,
): string | undefined {
  if (folder === '' || folder === '/') return undefined
  if (verdicts.has(folder)) return verdicts.get(folder)
  const above = folder.slice(0, folder.lastIndexOf('/', folder.length - 2) + 1)
  const left =
    folderLeftOut(above, rules, verdicts) ?? (rules.ignores(folder.slice(0, -1), true) ? folder : undefined)
  verdicts.set(folder, left)
  return left
}
