import type { Addresses } from '../../address.ts'
import type { Budget } from '../../memory/kept.ts'
import { Remembered } from '../../memory/remembered.ts'
import type { DomainRow, SiteRow, VersionRow } from '../../store/schema.ts'
import type { Store } from '../../store/store.ts'
import type { Host } from '../host.ts'
import type { Table } from '../table.ts'
import { liveTable, previewTable } from './published.ts'

/** What a host stands for. `gone` is a site whose time was over; every other site that ended is `nothing`. */
export type Place = { kind: 'nothing' } | { kind: 'gone' } | Elsewhere | Site

/** Where whoever asks for this host is sent, with the path that was asked for. */
export interface Elsewhere {
  kind: 'elsewhere'
  /** Scheme, host and port. */
  origin: string
  /** Whether it is the same name: an owner may make either name of a pair lead to the other, then to this one. */
  sameName: boolean
}

/** A site, or one version of it at a host of its own. */
export interface Site {
  kind: 'site'
  slug: string
  /** Milliseconds since 1970: from then on the site is gone, whatever the store says. */
  expiresAt: number | null
  passwordHash: string | null
  /** Whether this is the host of one version. */
  preview: boolean
  /** Undefined when nothing is published there: no live version, or no such version that is kept and finalized. */
  table: Table | undefined
  /** Tells one reading of the site from the next, so that what was worked out with the first ends with it. */
  reading: number
}

/** A version at a host of its own, and the reading of its site that it holds with. */
interface Preview {
  table: Table | undefined
  reading: number
}

/** A custom domain's slug, and the reading of that site that it holds with. */
interface Pointer {
  slug: string | undefined
  reading: number
  /** Where those are sent that came over HTTPS, and those that came without. */
  secured?: Elsewhere | undefined
  plain?: Elsewhere | undefined
  /** When the certificate ends that they rest on (milliseconds since 1970). */
  until?: number | undefined
}

interface PlacesOptions {
  store: Store
  clock: () => number
  budget: Budget
  addresses: Addresses
  https: Https | undefined
}

/** HTTPS as this service speaks it itself. */
export interface Https {
  /** Of the addresses that visitors see. */
  port: number
  /** Whether the site domain has its certificate. */
  coversSites(): boolean
}

interface VersionName {
  slug: string
  versionId: string
}

/** A site is read again when the version it named went away between the two questions. */
const MOST_READINGS = 3

const NOTHING: Place = { kind: 'nothing' }
const GONE: Place = { kind: 'gone' }

/** A host, its site and the version there, remembered until `forget`: a warm visit asks the store nothing. */
export class Places {
  readonly #store: Store
  readonly #addresses: Addresses
  readonly #clock: () => number
  readonly #sites: Remembered<Place>
  readonly #previews: Remembered<Preview>
  readonly #domains: Remembered<Pointer>
  readonly #https: Https | undefined
  #readings = 0

  constructor({ store, clock, budget, addresses, https }: PlacesOptions) {
    this.#https = https
    this.#store = store
    this.#addresses = addresses
    this.#clock = clock
    const remembered = { clock, budget }
    this.#sites = new Remembered({
      ...remembered,
      ask: (slug) => this.#readSite(slug),
      bytes: (place) => (place.kind === 'site' ? 300 + (place.table?.bytes ?? 0) : 0),
      nothing: (place) => place.kind === 'nothing',
    })
    this.#previews = new Remembered({
      ...remembered,
      ask: (name) => this.#readPreview(name),
      bytes: ({ table }) => 100 + (table?.bytes ?? 0),
      nothing: (preview) => preview.table === undefined,
    })
    this.#domains = new Remembered({
      ...remembered,
      ask: (domain) => this.#readPointer(domain),
      bytes: () => 100,
      nothing: (pointer) => pointer.slug === undefined,
    })
  }

  /** What is at a host when nobody has to be asked; undefined when the store has to be. */
  warm(host: Host, secure: boolean): Place | undefined {
    if (host.kind === 'domain') return this.#warmDomain(host.domain, secure)
    if (!secure && this.#https?.coversSites()) return this.#elsewhere(host) ?? NOTHING
    if (host.kind === 'site') return this.#sites.warm(host.slug, host.at)
    if (host.kind === 'version') return this.#warmPreview(host)
    return NOTHING
  }

  /** What is at a host. UNAVAILABLE when it is not known and the store is away. */
  async find(host: Host, secure: boolean): Promise<Place> {
    if (host.kind === 'domain') return this.#findDomain(host.domain, secure)
    if (!secure && this.#https?.coversSites()) return this.#elsewhere(host) ?? NOTHING
    if (host.kind === 'site') return this.#sites.get(host.slug)
    if (host.kind === 'version') return this.#findPreview(host)
    return NOTHING
  }

  /** These sites or domains changed; without names, anything may have. What is being read meanwhile is not remembered. */
  forget(names: readonly string[] | undefined): void {
    if (names === undefined) {
      for (const remembered of [this.#sites, this.#previews, this.#domains]) remembered.doubt()
      return
    }
    for (const name of names) {
      if (name.includes('.')) this.#forgetDomain(name)
      else this.#sites.forget(name)
    }
    // Of all that is being read, only this is read before the site that it is bound to.
    this.#domains.interrupt()
  }

  #warmPreview({ slug, versionId }: VersionName): Place | undefined {
    const site = this.#sites.warm(slug)
    if (site?.kind !== 'site') return site
    const preview = this.#previews.warm(`${versionId}--${slug}`)
    return preview?.reading === site.reading ? previewOf(site, preview) : undefined
  }

  async #findPreview({ slug, versionId }: VersionName): Promise<Place> {
    const name = `${versionId}--${slug}`
    const site = await this.#sites.get(slug)
    if (site.kind !== 'site') return site
    const preview = await this.#previews.get(name)
    if (preview.reading >= site.reading) return previewOf(site, preview)
    this.#previews.forget(name)
    return previewOf(site, await this.#previews.get(name))
  }

  /** A root and its `www` may send visitors to each other. */
  #forgetDomain(name: string): void {
    for (const one of [name, `www.${name}`, name.replace(/^www\./, '')]) this.#domains.forget(one)
  }

  #warmDomain(domain: string, secure: boolean): Place | undefined {
    const pointer = this.#domains.warm(domain)
    if (pointer && this.#hasEnded(pointer)) return undefined
    if (pointer?.slug === undefined) return pointer && NOTHING
    const elsewhere = secure ? pointer.secured : pointer.plain
    if (elsewhere) return elsewhere
    const site = this.#sites.warm(pointer.slug)
    return site?.kind === 'site' && site.reading === pointer.reading ? site : undefined
  }

  async #findDomain(domain: string, secure: boolean): Promise<Place> {
    const remembered = this.#domains.warm(domain)
    if (remembered && this.#hasEnded(remembered)) this.#domains.forget(domain)
    const pointer = await this.#domains.get(domain)
    const elsewhere = secure ? pointer.secured : pointer.plain
    if (elsewhere) return elsewhere
    const place = await this.#siteOf(pointer)
    if (place.kind !== 'site' || pointer.reading >= place.reading) return place
    this.#domains.forget(domain)
    return this.#siteOf(await this.#domains.get(domain))
  }

  #hasEnded({ until }: Pointer): boolean {
    return until !== undefined && this.#clock() >= until
  }

  async #siteOf({ slug }: Pointer): Promise<Place> {
    return slug === undefined ? NOTHING : this.#sites.get(slug)
  }

  async #readSite(slug: string): Promise<Place> {
    const { read } = this.#store
    for (let attempt = 1; attempt <= MOST_READINGS; attempt++) {
      const row = await read.sites.bySlug(slug)
      if (row?.gone_reason === 'expired') return GONE
      if (!row || row.gone_at !== null) return NOTHING
      const live = row.live_version_id ? await read.versions.byId(row.live_version_id) : undefined
      if (row.live_version_id && !live) continue
      return this.#site(row, live)
    }
    throw new Error(`site ${slug} has a live version that is not there`)
  }

  async #site(row: SiteRow, live: VersionRow | undefined): Promise<Site> {
    return {
      kind: 'site',
      slug: row.slug,
      expiresAt: row.expires_at,
      passwordHash: row.password_hash,
      preview: false,
      table: live && (await liveTable(row, live, this.#context)),
      reading: ++this.#readings,
    }
  }

  async #readPreview(name: string): Promise<Preview> {
    const [versionId, slug] = name.split('--') as [string, string]
    const reading = readingOf(await this.#sites.get(slug))
    const version = await this.#store.read.versions.byId(versionId)
    if (version?.slug !== slug || version.state !== 'ready') return { table: undefined, reading }
    const site = await this.#store.read.sites.bySlug(slug)
    const table = site && (await previewTable(site, version, this.#context))
    return { table, reading }
  }

  get #context() {
    return { read: this.#store.read, addresses: this.#addresses, now: this.#clock() }
  }

  async #readPointer(domain: string): Promise<Pointer> {
    const { read } = this.#store
    const row = await read.domains.active(domain)
    if (!row) return { slug: undefined, reading: 0 }
    const reading = readingOf(await this.#sites.get(row.slug))
    return { slug: row.slug, reading, ...(await this.#ways(row)) }
  }

  /** A name that is not the primary one leads there; one that has a certificate leads to HTTPS. */
  async #ways({
    domain,
    account_id,
    primary_domain,
  }: DomainRow): Promise<Pick<Pointer, 'secured' | 'plain' | 'until'>> {
    const { read } = this.#store
    const primary = primary_domain === null ? undefined : await read.domains.active(primary_domain)
    const name = primary?.account_id === account_id ? primary.domain : domain
    if (!this.#https) {
      const to = name === domain ? undefined : this.#addresses.elsewhere(name)
      return { secured: elsewhere(to, false), plain: elsewhere(to, false) }
    }
    const [certificate] = await read.certificates.summaries([name])
    const end = certificate?.not_after ?? 0
    const covered = end > this.#clock()
    const origin = covered ? this.#secureOrigin(name) : `http://${name}`
    const sameName = name === domain
    return {
      secured: elsewhere(covered && !sameName ? origin : undefined, sameName),
      plain: elsewhere(covered || !sameName ? origin : undefined, sameName),
      until: covered ? end : undefined,
    }
  }

  #elsewhere(host: Host): Elsewhere | undefined {
    if (host.kind !== 'site' && host.kind !== 'version') return undefined
    const label = host.kind === 'site' ? host.slug : `${host.versionId}--${host.slug}`
    return elsewhere(this.#secureOrigin(`${label}.${this.#addresses.siteDomain}`), true)
  }

  #secureOrigin(name: string): string {
    const { port } = this.#https!
    return `https://${name}${port === 443 ? '' : `:${port}`}`
  }
}

function elsewhere(origin: string | undefined, sameName: boolean): Elsewhere | undefined {
  return origin === undefined ? undefined : { kind: 'elsewhere', origin, sameName }
}

/** The site's own password and expiry hold for every version of it. */
function previewOf(site: Site, { table }: Preview): Site {
  return { ...site, preview: true, table }
}

function readingOf(place: Place): number {
  return place.kind === 'site' ? place.reading : 0
}
