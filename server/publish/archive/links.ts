import { ApiError } from '../../lib/errors.ts'

/** A link of an archive to another of its entries. */
export interface ArchiveLink {
  path: string
  /** As in the archive: of a hard link from its top, of a symbolic link from the folder of the link. */
  target: string
  isSymbolic: boolean
}

/** A path that has the contents of a file of the archive. */
export interface LinkedFile {
  path: string
  source: string
}

interface ResolvedLinks {
  files: LinkedFile[]
  /** Links that lead out of the archive, in a loop, or nowhere. */
  broken: string[]
}

/** More links in a row are a loop, as in Linux. */
const MAX_HOPS = 40

/**
 * Maximum number of names that are looked up, and of files and links that are found through links: a few links to each
 * other make any number of paths, and this runs in one turn of the event loop.
 */
const MAX_STEPS = 40_000

/**
 * The files that the links of an archive stand for: copies of what a hard link names, and what symbolic links that stay
 * inside lead to, as a client publishes the unpacked folder. PAYLOAD_TOO_LARGE when there are too many.
 */
export function resolveLinks(
  links: ReadonlyMap<string, ArchiveLink>,
  files: readonly string[],
): ResolvedLinks {
  return links.size === 0 ? { files: [], broken: [] } : new LinkResolver(links, files).resolve()
}

class LinkResolver {
  readonly #links: ReadonlyMap<string, ArchiveLink>
  readonly #files: ReadonlySet<string>
  /** Paths of files and links, sorted, so that those of a folder follow each other. */
  readonly #sorted: readonly string[]
  readonly #found: ResolvedLinks = { files: [], broken: [] }
  #steps = 0

  constructor(links: ReadonlyMap<string, ArchiveLink>, files: readonly string[]) {
    this.#links = links
    this.#files = new Set(files)
    this.#sorted = [...this.#files, ...links.keys()].sort()
  }

  resolve(): ResolvedLinks {
    for (const path of this.#links.keys()) this.#follow(path, path, [])
    return this.#found
  }

  /** Adds what the link at `source` leads to below `path`. `above` are the folders on the way. */
  #follow(path: string, source: string, above: readonly string[]): void {
    this.#count()
    const target = this.#realPath(source)
    if (target === undefined) this.#found.broken.push(path)
    else if (this.#files.has(target)) this.#found.files.push({ path, source: target })
    else this.#addFolder(path, `${target}/`, above)
  }

  #addFolder(path: string, folder: string, above: readonly string[]): void {
    const isLoop = above.includes(folder) || `${path}/`.startsWith(folder)
    const inside = isLoop ? [] : this.#below(folder)
    if (inside.length === 0) this.#found.broken.push(path)
    for (const source of inside) {
      const name = `${path}/${source.slice(folder.length)}`
      if (this.#links.has(source)) this.#follow(name, source, [...above, folder])
      else {
        this.#count()
        this.#found.files.push({ path: name, source })
      }
    }
  }

  #below(folder: string): readonly string[] {
    let [from, to] = [0, this.#sorted.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (this.#sorted[middle]! < folder) from = middle + 1
      else to = middle
    }
    let end = from
    while (this.#sorted[end]?.startsWith(folder)) end++
    return this.#sorted.slice(from, end)
  }

  /** The path without links, or undefined for one that leads out of the archive or in a loop. */
  #realPath(path: string): string | undefined {
    const rest = path.split('/')
    const real: string[] = []
    for (let hops = 0; rest.length > 0; ) {
      const name = rest.shift()!
      this.#count()
      if (name === '' || name === '.') continue
      if (name === '..') {
        if (real.pop() === undefined) return undefined
        continue
      }
      real.push(name)
      const link = this.#links.get(real.join('/'))
      if (link === undefined) continue
      if (link.target.startsWith('/') || ++hops > MAX_HOPS) return undefined
      rest.unshift(...link.target.split('/'))
      real.length = link.isSymbolic ? real.length - 1 : 0
    }
    return real.join('/')
  }

  #count(): void {
    if (++this.#steps > MAX_STEPS)
      throw new ApiError('PAYLOAD_TOO_LARGE', 'The links in the archive lead to too many files')
  }
}
