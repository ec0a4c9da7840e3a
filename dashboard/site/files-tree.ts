import type { FileEntry } from '../../protocol/api/fields.schema.ts'

/** A folder as displayed; a folder with a single subfolder is joined with it, as "a/b". */
export interface Folder {
  name: string
  /** With all parent folders; '' for the root. */
  path: string
  folders: Folder[]
  files: NamedFile[]
  /** Number of files at any depth. */
  count: number
  bytes: number
}

export interface NamedFile extends FileEntry {
  name: string
}

const byName = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

/** The files as folders, each sorted by name. */
export function buildTree(files: readonly FileEntry[]): Folder {
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
  return sortFolder(root)
}

function emptyFolder(name: string, path: string): Folder {
  return { name, path, folders: [], files: [], count: 0, bytes: 0 }
}

function sortFolder(folder: Folder): Folder {
  const folders = folder.folders.map(collapseChain).map(sortFolder)
  return {
    ...folder,
    folders: folders.sort((one, other) => byName.compare(one.name, other.name)),
    files: folder.files.sort((one, other) => byName.compare(one.name, other.name)),
  }
}

function collapseChain(folder: Folder): Folder {
  let last = folder
  let name = folder.name
  while (last.files.length === 0 && last.folders.length === 1) {
    last = last.folders[0]!
    name += `/${last.name}`
  }
  return { ...last, name }
}
