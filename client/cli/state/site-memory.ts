import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import type { PublishedSite } from '../../sdk/resume.ts'
import { readPrivate, writePrivate } from './private-file.ts'

/** Stored state of a site that was published from here. */
export interface RememberedSite extends PublishedSite {
  /** The published folder, relative to the working folder. */
  folder: string
  server: string
  /** The live version that this folder last published or saw. */
  liveVersionId?: string | undefined
}

/** The sites that were published from one working folder, in its `.slipway/site.json`; the latest first. */
export class SiteMemory {
  readonly #cwd: string
  readonly #file: string

  constructor(cwd: string) {
    this.#cwd = cwd
    this.#file = join(cwd, '.slipway', 'site.json')
  }

  /** The site of this folder, on this server if one is given. */
  find(folder: string, server?: string): RememberedSite | undefined {
    const key = this.#key(folder)
    return this.all(server).find((site) => site.folder === key)
  }

  /** All sites published from here, on this server if one is given. */
  all(server?: string): RememberedSite[] {
    const { sites } = (readPrivate(this.#file) ?? {}) as { sites?: RememberedSite[] }
    return (sites ?? []).filter((site) => server === undefined || site.server === server)
  }

  /** Stores this site in place of the folder's earlier one on its server. */
  remember(folder: string, site: Omit<RememberedSite, 'folder'>): void {
    const entry = { ...site, folder: this.#key(folder) }
    const others = this.all().filter((one) => one.folder !== entry.folder || one.server !== entry.server)
    this.#write([entry, ...others])
  }

  /** Deletes a site, whatever its folder. */
  forget(slug: string, server: string): void {
    const sites = this.all()
    const rest = sites.filter((site) => site.slug !== slug || site.server !== server)
    if (rest.length < sites.length) this.#write(rest)
  }

  /** Stores the new slug and URL of a site. */
  rename(slug: string, server: string, { slug: name, siteUrl }: { slug: string; siteUrl: string }): void {
    this.#change(slug, server, (site) => ({ ...site, slug: name, siteUrl }))
  }

  /** Stores the live version that the caller has seen, for all folders of the site. */
  setLiveVersion(slug: string, server: string, liveVersionId: string): void {
    this.#change(slug, server, (site) => ({ ...site, liveVersionId }))
  }

  /** Records that a site has an owner now, and deletes its claim token. */
  markClaimed(slug: string, server: string): void {
    this.#change(slug, server, withoutClaim)
  }

  #change(slug: string, server: string, change: (site: RememberedSite) => RememberedSite): void {
    const sites = this.all()
    const isMeant = (site: RememberedSite) => site.slug === slug && site.server === server
    if (sites.some(isMeant)) this.#write(sites.map((site) => (isMeant(site) ? change(site) : site)))
  }

  #write(sites: RememberedSite[]): void {
    writePrivate(this.#file, { sites })
    const ignore = join(dirname(this.#file), '.gitignore')
    // Claim tokens must not be committed.
    if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
  }

  #key(folder: string): string {
    return relative(this.#cwd, folder).split(sep).join('/') || '.'
  }
}

function withoutClaim({
  claimToken: _token,
  claimUrl: _url,
  expiresAt: _end,
  ...site
}: RememberedSite): RememberedSite {
  return site
}
