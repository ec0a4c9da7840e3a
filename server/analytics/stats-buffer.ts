import { MAX_VISIT_NAME_LENGTH, VISIT_NAME_KINDS, type VisitNameKind } from '../../protocol/api/visits.ts'
import { DAY_MS, HOUR_MS } from '../lib/time.ts'

export interface NamedCount {
  requests: number
}

/** Beyond these, visits are only counted in totals, or only reported as lost. */
export const BUFFER_LIMITS = {
  sites: 20_000,
  /** Over all sites, and of one kind at one site. */
  names: 20_000,
  namesOfSite: 500,
  visitors: 20_000,
  visitorsOfSite: 2000,
  tallies: 20_000,
} as const

export class SiteStats {
  readonly buffer: StatsBuffer
  readonly slug: string
  requests = 0
  bytes = 0
  /** Fingerprints of visitors: hashed before they are written, then dropped. */
  readonly visitors = new Set<string>()
  readonly #names: Partial<Record<VisitNameKind, Map<string, NamedCount>>> = {}

  constructor(buffer: StatsBuffer, slug: string) {
    this.buffer = buffer
    this.slug = slug
  }

  name(kind: VisitNameKind, name: string): NamedCount | undefined {
    this.#names[kind] ??= new Map()
    const names = this.#names[kind]
    const known = names.get(name)
    if (known) return known
    if (
      name.length > MAX_VISIT_NAME_LENGTH ||
      names.size >= BUFFER_LIMITS.namesOfSite ||
      this.buffer.nameCount >= BUFFER_LIMITS.names
    ) {
      this.buffer.droppedNames++
      return undefined
    }
    this.buffer.nameCount++
    const made = { requests: 0 }
    names.set(name, made)
    return made
  }

  addVisitor(visitor: string): void {
    const { buffer, visitors } = this
    if (visitors.has(visitor)) return
    if (visitors.size >= BUFFER_LIMITS.visitorsOfSite || buffer.visitorCount >= BUFFER_LIMITS.visitors) {
      buffer.droppedVisitors++
      return
    }
    buffer.visitorCount++
    visitors.add(visitor)
  }

  *names(): Generator<StatsChunk['names'][number]> {
    for (const kind of VISIT_NAME_KINDS)
      for (const [name, { requests }] of this.#names[kind] ?? []) yield { kind, name, requests }
  }

  /** A part that takes at most `maxRows` rows to write, one for the totals among them. */
  takeChunk(maxRows: number): StatsChunk {
    const visitors = [...this.visitors.values().take(maxRows - 1)]
    const names = [...this.names().take(maxRows - 1 - visitors.length)]
    return { site: this, requests: this.requests, bytes: this.bytes, visitors, names }
  }

  /** Removes a part that was written; returns whether nothing is left. */
  drop({ requests, bytes, visitors, names }: StatsChunk): boolean {
    this.requests -= requests
    this.bytes -= bytes
    for (const visitor of visitors) this.visitors.delete(visitor)
    for (const { kind, name } of names) this.#names[kind]!.delete(name)
    return this.visitors.size === 0 && VISIT_NAME_KINDS.every((kind) => !this.#names[kind]?.size)
  }
}

export interface StatsChunk {
  site: SiteStats
  requests: number
  bytes: number
  visitors: string[]
  names: { kind: VisitNameKind; name: string; requests: number }[]
}

/** Counts repetitions of one response at the same path by incrementing a number, which `flush` adds to the site. */
export class ResponseCounter {
  site: SiteStats = NO_SITE_STATS
  path = ''
  name: NamedCount | undefined
  bytes = 0
  isPage = false
  requests = 0
  buffer: StatsBuffer | undefined

  bind({ site, path, name, bytes, isPage }: CounterTarget): void {
    this.flush()
    this.site = site
    this.path = path
    this.name = name
    this.bytes = bytes
    this.isPage = isPage
  }

  /** Unbinds the counter: a cached response must not retain a buffer or a path. */
  close(): void {
    this.flush()
    this.buffer = undefined
    this.site = NO_SITE_STATS
    this.name = undefined
    this.path = ''
  }

  flush(): void {
    const { site, name, requests, bytes } = this
    if (requests === 0) return
    this.requests = 0
    site.requests += requests
    site.bytes += requests * bytes
    if (name) name.requests += requests
  }
}

export type CounterTarget = Pick<ResponseCounter, 'site' | 'path' | 'name' | 'bytes' | 'isPage'>

/** The counts between two writes, all in one hour; bounded. */
export class StatsBuffer {
  /** Milliseconds since 1970. */
  readonly hour: number
  readonly sites = new Map<string, SiteStats>()
  dropped = 0
  droppedNames = 0
  droppedVisitors = 0
  nameCount = 0
  visitorCount = 0
  readonly #counters: ResponseCounter[] = []

  constructor(now: number) {
    this.hour = Math.floor(now / HOUR_MS) * HOUR_MS
  }

  get day(): number {
    return Math.floor(this.hour / DAY_MS) * DAY_MS
  }

  includes(now: number): boolean {
    return now >= this.hour && now < this.hour + HOUR_MS
  }

  /** The counter of a site; undefined, and counted as dropped, beyond the maximum number. */
  site(slug: string): SiteStats | undefined {
    const known = this.sites.get(slug)
    if (known) return known
    if (this.sites.size >= BUFFER_LIMITS.sites) {
      this.dropped++
      return undefined
    }
    const made = new SiteStats(this, slug)
    this.sites.set(slug, made)
    return made
  }

  register(counter: ResponseCounter): boolean {
    if (counter.buffer === this) return true
    if (this.#counters.length >= BUFFER_LIMITS.tallies) return false
    counter.buffer = this
    this.#counters.push(counter)
    return true
  }

  end(): void {
    for (const counter of this.#counters) counter.close()
    this.#counters.length = 0
  }

  get requests(): number {
    let sum = 0
    for (const { requests } of this.sites.values()) sum += requests
    return sum
  }

  /** Drops everything: the last visitor may hold the buffer as long as its connection lasts. */
  drop(): void {
    for (const counts of this.sites.values()) counts.drop(counts.takeChunk(Number.MAX_SAFE_INTEGER))
    this.sites.clear()
  }
}

const NO_SITE_STATS = new SiteStats(new StatsBuffer(0), '')
