import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { readPrivate, writePrivate } from './private-file.ts'

/** What is remembered of a site that was published from here. */
export interface RememberedSite {
  /** The published folder, relative to the working folder. */
  folder: string
  server: string
  slug: string
  siteUrl: string
  /** Only while the site has no owner. */
  claimToken?: string
  claimUrl?: string
  expiresAt?: string
  /** A version that was staged and not finished, and what was to be in it. */
  pending?: { versionId: string; manifest: string }
}

/** The sites that were published from one working folder, in its `.slipway/site.json`; the latest first. */
export class SiteMemory {
  readonly #cwd: string
  readonly #file: string

  constructor(cwd: string) {
    this.#cwd = cwd
    this.#file = join(cwd, '.slipway', 'site.json')
  }

  /** The site that this folder was published as, on this server if one is named. */
  find(folder: string, server?: string): RememberedSite | undefined {
    const key = this.#key(folder)
    return this.all(server).find((site) => site.folder === key)
  }

  /** Every site that was published from here, on this server if one is named. */
  all(server?: string): RememberedSite[] {
    const { sites } = (readPrivate(this.#file) ?? {}) as { sites?: RememberedSite[] }
    return (sites ?? []).filter((site) => server === undefined || site.server === server)
  }

  /** Remembers this site in place of what the folder was on its server. */
  remember(folder: string, site: Omit<RememberedSite, 'folder'>): RememberedSite {
    const entry = { ...site, folder: this.#key(folder) }
    const others = this.all().filter((one) => one.folder !== entry.folder || one.server !== entry.server)
    this.#write([entry, ...others])
    return entry
  }

  /** Forgets a site, for whatever folder it was. */
  forget(slug: string, server: string): void {
    const sites = this.all()
    const rest = sites.filter((site) => site.slug !== slug || site.server !== server)
    if (rest.length < sites.length) this.#write(rest)
  }

  /** Remembers that a site has an owner now, and no claim token. */
  claimed(slug: string, server: string): void {
    const sites = this.all()
    if (!sites.some((site) => site.slug === slug && site.server === server)) return
    this.#write(sites.map((site) => (site.slug === slug && site.server === server ? owned(site) : site)))
  }

  #write(sites: RememberedSite[]): void {
    writePrivate(this.#file, { sites })
    const ignore = join(dirname(this.#file), '.gitignore')
    // Claim tokens must not slip into somebody's history.
    if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
  }

  #key(folder: string): string {
    return relative(this.#cwd, folder).split(sep).join('/') || '.'
  }
}

function owned({
  claimToken: _token,
  claimUrl: _url,
  expiresAt: _end,
  ...site
}: RememberedSite): RememberedSite {
  return site
}
