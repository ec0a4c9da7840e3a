import type { FileEntry } from '../../client/wire.ts'

/** A folder as it is shown; one that holds nothing but another folder is shown with it, as "a/b". */
export interface Folder {
  name: string
  /** With every folder above it; '' for the whole. */
  path: string
  folders: Folder[]
  files: NamedFile[]
  /** Of all that is in it, at any depth. */
  count: number
  bytes: number
}

export interface NamedFile extends FileEntry {
  name: string
}

const byName = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

/** The files as folders, each sorted by name. */
export function treeOf(files: readonly FileEntry[]): Folder {
  const root = emptyFolder('', '')
  const folders = new Map([['', root]])
  for (const file of files) {
    const parts = file.path.split('/')
    const name = parts.pop()!
    root.count++
    root.bytes += file.size
    let folder = root
    for (const [depth, part] of parts.entries()) {
      const path = parts.slice(0, depth + 1).join('/')
      let below = folders.get(path)
      if (!below) {
        below = emptyFolder(part, path)
        folders.set(path, below)
        folder.folders.push(below)
      }
      below.count++
      below.bytes += file.size
      folder = below
    }
    folder.files.push({ ...file, name })
  }
  return sorted(root)
}

function emptyFolder(name: string, path: string): Folder {
  return { name, path, folders: [], files: [], count: 0, bytes: 0 }
}

function sorted(folder: Folder): Folder {
  const folders = folder.folders.map(unchained).map(sorted)
  return {
    ...folder,
    folders: folders.sort((one, other) => byName.compare(one.name, other.name)),
    files: folder.files.sort((one, other) => byName.compare(one.name, other.name)),
  }
}

function unchained(folder: Folder): Folder {
  let last = folder
  let name = folder.name
  while (last.files.length === 0 && last.folders.length === 1) {
    last = last.folders[0]!
    name += `/${last.name}`
  }
  return { ...last, name }
}
