import { Unfit } from './unfit.ts'

/** A file of a drop, where it lay. */
export interface WalkedFile {
  path: string
  file: File
}

/** Files that are listed before it is enough: nobody means to publish that many. */
const MOST_FOUND = 20_000
/** Folders within folders: disks have no more, links in a circle have. */
const DEEPEST = 100

/** Every file below these entries but what `leaves` says is left out, which is not looked into. */
export async function walk(
  entries: readonly FileSystemEntry[],
  leaves: (path: string, isFolder: boolean) => boolean,
  signal: AbortSignal,
): Promise<WalkedFile[]> {
  const found: WalkedFile[] = []
  const folders: { entry: FileSystemDirectoryEntry; path: string }[] = []
  const take = async (entry: FileSystemEntry, prefix: string) => {
    const path = prefix + entry.name
    if (leaves(path, entry.isDirectory)) return
    if (entry.isFile) found.push({ path, file: await fileOf(entry as FileSystemFileEntry, path) })
    else folders.push({ entry: entry as FileSystemDirectoryEntry, path: `${path}/` })
    if (found.length > MOST_FOUND) throw tooMany()
  }
  await Promise.all(entries.map((entry) => take(entry, '')))
  for (let next = folders.pop(); next; next = folders.pop()) {
    const { entry, path } = next
    if (path.split('/').length > DEEPEST) throw tooMany()
    for await (const some of children(entry)) {
      signal.throwIfAborted()
      await Promise.all(some.map((child) => take(child, path)))
    }
  }
  return found
}

/** What a folder holds, as browsers hand it out: some at a time, until there are none. */
export async function* children(folder: FileSystemDirectoryEntry): AsyncGenerator<FileSystemEntry[]> {
  const reader = folder.createReader()
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((settle, fail) =>
      reader.readEntries(settle, () => fail(unreadable(folder.fullPath))),
    )
    if (some.length === 0) return
    yield some
  }
}

export function fileOf(entry: FileSystemFileEntry, path = entry.name): Promise<File> {
  return new Promise((settle, fail) => entry.file(settle, () => fail(unreadable(path))))
}

export function unreadable(path: string): Unfit {
  return new Unfit(
    `${path.replace(/^\//, '')} cannot be read.`,
    'It may have been moved, changed or locked meanwhile. Drop it again.',
  )
}

function tooMany(): Unfit {
  return new Unfit(
    'There are more files in it than a site can have.',
    'Drop only the folder that is to be published, such as dist.',
  )
}
