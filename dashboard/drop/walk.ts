import { NOT_UTF8 } from '../../protocol/manifest/paths.ts'
import { UnpublishableError } from './unpublishable-error.ts'

/** A file of a drop with its path. */
export interface WalkedFile {
  path: string
  file: File
}

/** Maximum number of listed files. */
const MAX_FILES = 20_000
/** Maximum depth: disks have no more, links in a loop have. */
const MAX_DEPTH = 100

/** All files below these entries except those that `isIgnored` excludes; excluded folders are not entered. */
export async function walk(
  entries: readonly FileSystemEntry[],
  isIgnored: (path: string, isFolder: boolean) => boolean,
  signal: AbortSignal,
): Promise<WalkedFile[]> {
  const found: WalkedFile[] = []
  const folders: { entry: FileSystemDirectoryEntry; path: string }[] = []
  const take = async (entry: FileSystemEntry, prefix: string) => {
    const path = prefix + entry.name
    if (isIgnored(path, entry.isDirectory)) return
    if (entry.isFile) found.push({ path, file: await readFile(entry as FileSystemFileEntry, path) })
    else folders.push({ entry: entry as FileSystemDirectoryEntry, path: `${path}/` })
    if (found.length > MAX_FILES) throw tooMany()
  }
  await Promise.all(entries.map((entry) => take(entry, '')))
  for (let next = folders.pop(); next; next = folders.pop()) {
    const { entry, path } = next
    if (path.split('/').length > MAX_DEPTH) throw tooMany()
    for await (const some of readEntries(entry)) {
      signal.throwIfAborted()
      await Promise.all(some.map((child) => take(child, path)))
    }
  }
  return found
}

/** The children of a folder: browsers return them in batches until one is empty. */
export async function* readEntries(folder: FileSystemDirectoryEntry): AsyncGenerator<FileSystemEntry[]> {
  const reader = folder.createReader()
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, () => reject(unreadable(folder.fullPath.slice(1)))),
    )
    if (some.length === 0) return
    yield some
  }
}

export function readFile(entry: FileSystemFileEntry, path = entry.name): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, () => reject(unreadable(path))))
}

/** A file that the browser cannot find: Chromium has no name for one that is not UTF-8. */
export function unreadable(path: string): UnpublishableError {
  if (path.includes('\uFFFD') || path.endsWith('/'))
    return new UnpublishableError(`${path}…: ${NOT_UTF8}.`, 'Then drop the folder again.')
  return new UnpublishableError(
    `Couldn't read ${path}.`,
    'It may have been moved, changed or locked. Drop it again.',
  )
}

function tooMany(): UnpublishableError {
  return new UnpublishableError('Too many files.', 'Drop only the folder to publish, such as dist.')
}
