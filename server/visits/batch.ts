/** What a path or a host is named for. */
export type NameKind = (typeof KINDS)[number]

const KINDS = ['path', 'missing', 'referrer'] as const

/** What is counted by name. */
export interface Name {
  requests: number
}

/** What one batch holds at most; what comes beyond goes into the totals only, or is only said to be lost. */
export const MOST = {
  sites: 20_000,
  /** Over all sites, and of one kind at one site. */
  names: 20_000,
  namesOfSite: 500,
  visitors: 20_000,
  visitorsOfSite: 2000,
  tallies: 20_000,
  /** Characters of a name. */
  name: 512,
} as const

export const HOUR = 3_600_000
export const DAY = 24 * HOUR

/** The visits of one site in one batch. */
export class SiteCounts {
  readonly batch: Batch
  readonly slug: string
  requests = 0
  /** Of bodies. */
  bytes = 0
  /** Who came, as they say who they are: hashed before it is written, and forgotten then. */
  readonly visitors = new Set<string>()
  readonly #names: Partial<Record<NameKind, Map<string, Name>>> = {}

  constructor(batch: Batch, slug: string) {
    this.batch = batch
    this.slug = slug
  }

  /** Where a name is counted; undefined when there is no room for one more. */
  name(kind: NameKind, name: string): Name | undefined {
    this.#names[kind] ??= new Map()
    const names = this.#names[kind]
    const known = names.get(name)
    if (known) return known
    if (name.length > MOST.name || names.size >= MOST.namesOfSite || !this.batch.admitsName()) {
      this.batch.unnamed++
      return undefined
    }
    const made = { requests: 0 }
    names.set(name, made)
    return made
  }

  /** Somebody came; once more changes nothing. */
  meet(visitor: string): void {
    const { visitors } = this
    if (visitors.has(visitor)) return
    if (visitors.size < MOST.visitorsOfSite && this.batch.admitsVisitor()) visitors.add(visitor)
    else this.batch.unmet++
  }

  *names(): Generator<Part['names'][number]> {
    for (const kind of KINDS)
      for (const [name, { requests }] of this.#names[kind] ?? []) yield { kind, name, requests }
  }

  /** As much of it as takes `most` rows to write down, one for the totals among them. */
  part(most: number): Part {
    const visitors = [...this.visitors.values().take(most - 1)]
    const names = [...this.names().take(most - 1 - visitors.length)]
    return { counts: this, requests: this.requests, bytes: this.bytes, visitors, names }
  }

  /** Lets go of a part that was written down; answers whether nothing is left. */
  drop({ requests, bytes, visitors, names }: Part): boolean {
    this.requests -= requests
    this.bytes -= bytes
    for (const visitor of visitors) this.visitors.delete(visitor)
    for (const { kind, name } of names) this.#names[kind]!.delete(name)
    return this.visitors.size === 0 && KINDS.every((kind) => !this.#names[kind]?.size)
  }
}

/** What is written down at once of the visits of a site. */
export interface Part {
  counts: SiteCounts
  requests: number
  bytes: number
  visitors: string[]
  names: { kind: NameKind; name: string; requests: number }[]
}

/**
 * What an answer hangs its visits on while it stays the same: the same answer at the same path is counted by adding one.
 * What was added reaches the site's counts by `settle`.
 */
export class Tally {
  counts: SiteCounts
  /** As it was asked for. */
  path: string
  name: Name | undefined
  /** Of the body of each answer. */
  bytes: number
  /** Whether it is a page, of which who reads it is counted too. */
  isPage: boolean
  requests = 0
  /** The batch that settles it at its end. */
  batch: Batch | undefined

  constructor(of: TallyOf) {
    this.counts = of.counts
    this.path = of.path
    this.name = of.name
    this.bytes = of.bytes
    this.isPage = of.isPage
  }

  /** Counts something else from here on. */
  point({ counts, path, name, bytes, isPage }: TallyOf): void {
    this.settle()
    this.counts = counts
    this.path = path
    this.name = name
    this.bytes = bytes
    this.isPage = isPage
  }

  /** Counts nothing until it is pointed at something: an answer that is kept must keep no batch and no path. */
  close(): void {
    this.settle()
    this.batch = undefined
    this.counts = NOWHERE
    this.name = undefined
    this.path = ''
  }

  settle(): void {
    const { counts, name, requests, bytes } = this
    if (requests === 0) return
    this.requests = 0
    counts.requests += requests
    counts.bytes += requests * bytes
    if (name) name.requests += requests
  }
}

export type TallyOf = Pick<Tally, 'counts' | 'path' | 'name' | 'bytes' | 'isPage'>

/** What was counted between two writes, all in one hour; bounded, however many come. */
export class Batch {
  /** Its start, milliseconds since 1970. */
  readonly hour: number
  readonly sites = new Map<string, SiteCounts>()
  /** Requests for sites that there was no room for. */
  lost = 0
  /** How often there was no room for a name, and for somebody who came. */
  unnamed = 0
  unmet = 0
  #names = 0
  #visitors = 0
  readonly #tallies: Tally[] = []

  constructor(now: number) {
    this.hour = Math.floor(now / HOUR) * HOUR
  }

  get day(): number {
    return Math.floor(this.hour / DAY) * DAY
  }

  /** Whether `now` is in its hour. */
  includes(now: number): boolean {
    return now >= this.hour && now < this.hour + HOUR
  }

  /** Where the visits of a site are counted; undefined, and said to be lost, when there is no room for one more. */
  site(slug: string): SiteCounts | undefined {
    const known = this.sites.get(slug)
    if (known) return known
    if (this.sites.size >= MOST.sites) {
      this.lost++
      return undefined
    }
    const made = new SiteCounts(this, slug)
    this.sites.set(slug, made)
    return made
  }

  /** Whether a tally is settled at the end of this batch. */
  admits(tally: Tally): boolean {
    if (tally.batch === this) return true
    if (this.#tallies.length >= MOST.tallies) return false
    tally.batch = this
    this.#tallies.push(tally)
    return true
  }

  admitsName(): boolean {
    if (this.#names >= MOST.names) return false
    this.#names++
    return true
  }

  admitsVisitor(): boolean {
    if (this.#visitors >= MOST.visitors) return false
    this.#visitors++
    return true
  }

  /** Ends it: everything that was counted is at its site. */
  end(): void {
    for (const tally of this.#tallies) tally.close()
    this.#tallies.length = 0
  }

  get requests(): number {
    let sum = 0
    for (const { requests } of this.sites.values()) sum += requests
    return sum
  }

  /** Lets go of everything: who was counted last in it may hold on to it as long as a connection lasts. */
  drop(): void {
    for (const counts of this.sites.values()) counts.drop(counts.part(Number.MAX_SAFE_INTEGER))
    this.sites.clear()
  }
}

/** Of a batch that nobody counts in. */
const NOWHERE = new SiteCounts(new Batch(0), '')
