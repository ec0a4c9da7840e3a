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

/** A link that stands for no file. */
interface BrokenLink extends ArchiveLink {
  /** What it leads to inside of the archive; undefined for a link that leads out of it or in a loop. */
  leadsTo: string | undefined
}

interface ResolvedLinks {
  files: LinkedFile[]
  broken: BrokenLink[]
}

/** The links of an archive lead to too many files. */
export class TooManyLinksError extends Error {
  constructor() {
    super('The links in the archive lead to too many files')
  }
}

/** More links in a row are a loop, as in Linux. */
const MAX_HOPS = 40

/**
 * Maximum number of names that are looked up, and of files and links that are found through links: a few links to each
 * other make any number of paths, and this runs in one turn of the event loop.
 */
const MAX_STEPS = 40_000

/** Names of the path so far, which each lookup joins, that take as long as the rest of a step. */
const NAMES_PER_STEP = 32

/**
 * The files that the links of an archive stand for: copies of what a hard link names, and what symbolic links that stay
 * inside lead to, as a client publishes the unpacked folder. Hard links to a file of `leftOut` are copies of it as well:
 * its bytes are that of both. Throws a TooManyLinksError.
 */
export function resolveLinks(
  links: ReadonlyMap<string, ArchiveLink>,
  files: readonly string[],
  leftOut: readonly string[] = [],
): ResolvedLinks {
  return links.size === 0 ? { files: [], broken: [] } : new LinkResolver(links, files, leftOut).resolve()
}

class LinkResolver {
  readonly #links: ReadonlyMap<string, ArchiveLink>
  readonly #files: ReadonlySet<string>
  readonly #leftOut: ReadonlySet<string>
  /** Paths of files and links, sorted, so that those of a folder follow each other. */
  readonly #sorted: readonly string[]
  readonly #found: ResolvedLinks = { files: [], broken: [] }
  #steps = 0

  constructor(links: ReadonlyMap<string, ArchiveLink>, files: readonly string[], leftOut: readonly string[]) {
    this.#links = links
    this.#files = new Set(files)
    this.#leftOut = new Set(leftOut)
    this.#sorted = [...this.#files, ...links.keys()].sort()
  }

  resolve(): ResolvedLinks {
    for (const link of this.#links.values()) this.#follow(link.path, link, [])
    return this.#found
  }

  /** Adds what the link leads to below `path`. `above` are the folders on the way. */
  #follow(path: string, link: ArchiveLink, above: readonly string[]): void {
    this.#count()
    const target = this.#realPath(link.path)
    const isFile =
      target !== undefined && (this.#files.has(target) || (!link.isSymbolic && this.#leftOut.has(target)))
    if (isFile) this.#found.files.push({ path, source: target })
    else if (target === undefined || !this.#addFolder(path, `${target}/`, above))
      this.#found.broken.push({ ...link, path, leadsTo: target })
  }

  /** Returns false when nothing is there. */
  #addFolder(path: string, folder: string, above: readonly string[]): boolean {
    const isLoop = above.includes(folder) || `${path}/`.startsWith(folder)
    const inside = isLoop ? [] : this.#below(folder)
    for (const source of inside) {
      const name = `${path}/${source.slice(folder.length)}`
      const link = this.#links.get(source)
      if (link) this.#follow(name, link, [...above, folder])
      else {
        this.#count()
        this.#found.files.push({ path: name, source })
      }
    }
    return inside.length > 0
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
      this.#count(1 + real.length / NAMES_PER_STEP)
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

  #count(steps = 1): void {
    this.#steps += steps
    if (this.#steps > MAX_STEPS) throw new TooManyLinksError()
  }
}
