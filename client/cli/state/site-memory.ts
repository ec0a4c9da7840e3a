import { existsSync, lstatSync, readFileSync, realpathSync, rmSync, type Stats } from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { StoredSite } from '../../sdk/resume.ts'
import { RefusedError } from '../cli-error.ts'
import { serverAddress } from '../server.ts'
import type { CredentialStore } from './credentials.ts'
import {
  changePrivate,
  invalidFile,
  isUnwritable,
  readPrivate,
  writePrivate,
  writePrivateText,
} from './private-file.ts'

/**
 * Stored state of a site that was published from here. A stranger may have written it: `server` is used by
 * `chooseServer` only, and no URL is read from it.
 */
export interface RememberedSite extends StoredSite {
  /** The published folder, relative to the working folder. */
  folder: string
  server: string
  /** The live version that this folder last published or saw. */
  liveVersionId?: string | undefined
  /** The folder is not that of this site, of which no version from it was live. */
  unlinked?: boolean
  /** Whether this user has published the folder as this site, linked it or claimed the site: only then has it more than names and a token. */
  isOwn: boolean
}

/** A `.gitignore` for a folder of which nothing is committed. */
const IGNORE_ALL = '*\n'

/** Maximum size of the state. */
const MAX_STATE_BYTES = 1024 * 1024

/** Maximum length of a site in it as JSON; a server chooses most of it. */
const MAX_SITE_LENGTH = 10_000

type StoredSites = readonly Pick<RememberedSite, 'expiresAt'>[]

/** Proofs that the user, and no stranger, stored a site. */
type Seals = Pick<CredentialStore, 'sealOf' | 'sealCheck'>

/** The sites that were published from one working folder, in its `.slipway/site.json`; the latest first. */
export class SiteMemory {
  readonly #cwd: string
  readonly #seals: Seals
  readonly #folder: string
  readonly #file: string
  readonly #onUnwritable: (error: NodeJS.ErrnoException) => void
  #isReported = false

  /** `onUnwritable` is called once when the place of the state cannot be written, and something the server did is not stored. */
  constructor(cwd: string, seals: Seals, onUnwritable: (error: NodeJS.ErrnoException) => void = () => {}) {
    this.#cwd = cwd
    this.#seals = seals
    this.#onUnwritable = onUnwritable
    this.#folder = join(cwd, '.slipway')
    this.#file = join(this.#folder, 'site.json')
  }

  /** The site of this folder, on this server if one is given. */
  find(folder: string, server?: string): RememberedSite | undefined {
    const key = this.#key(folder)
    return this.all(server).find((site) => site.folder === key)
  }

  /** All sites published from here, on this server if one is given. */
  all(server?: string): RememberedSite[] {
    return this.#read().filter((site) => !site.unlinked && (server ?? site.server) === site.server)
  }

  /** A site to which something was published from here, or began to be. */
  findNamed(slug: string, server?: string): RememberedSite | undefined {
    return this.#read().find((site) => site.slug === slug && (server ?? site.server) === site.server)
  }

  /**
   * Whether a remembered folder is in the working folder, also by the target of each link. A path outside is not touched:
   * on Windows it could lead to a server that receives the user's hash (`\\host\share`).
   */
  isInside(folder: string): boolean {
    const path = resolve(this.#cwd, folder)
    const name = relative(this.#cwd, path)
    if (name.split(sep)[0] === '..' || isAbsolute(name)) return false
    if (!existsSync(path)) return true
    const [top, target] = [realpathSync.native(this.#cwd), realpathSync.native(path)]
    return target === top || target.startsWith(top.endsWith(sep) ? top : top + sep)
  }

  /** Whether the state is not of this user: a repository may have it, and commit what is stored now. */
  isForeign(): boolean {
    return existsSync(this.#file) && this.#read().every((site) => !site.isOwn)
  }

  /**
   * Stores this site, in place of the folder's earlier one on its server unless it is unlinked. Throws where that is not
   * possible.
   */
  remember(folder: string, site: Omit<RememberedSite, 'folder' | 'isOwn'>): void {
    const entry = { ...site, folder: this.#key(folder), isOwn: true }
    const isReplaced = (one: RememberedSite) =>
      one.unlinked ? one.slug === entry.slug : !entry.unlinked && one.folder === entry.folder
    const isOther = (one: RememberedSite) => one.server !== entry.server || !isReplaced(one)
    try {
      this.#update((sites) => [entry, ...sites.filter(isOther)])
    } catch (error) {
      this.#isReported = isUnwritable(error)
      throw error
    }
  }

  /** Deletes a site, whatever its folder. Without another one the file goes, too: an empty one counts as foreign. */
  forget(slug: string, server: string): void {
    const isOther = (site: RememberedSite) => site.slug !== slug || site.server !== server
    if (this.#read().every(isOther)) return
    this.#settle(() => this.#update((sites) => sites.filter(isOther)))
  }

  /** Stores the new slug of a site. */
  rename(slug: string, server: string, name: string): void {
    this.#change(slug, server, (site) => ({ ...site, slug: name }))
  }

  /** Stores the live version that the caller has seen, for all folders of the site. */
  setLiveVersion(slug: string, server: string, liveVersionId: string): void {
    this.#change(slug, server, (site) => ({ ...site, liveVersionId }))
  }

  /** Records that a site has an owner now, and deletes its claim token. */
  markClaimed(slug: string, server: string): void {
    this.#change(slug, server, ({ claimToken: _, expiresAt: __, ...site }) => ({ ...site, isOwn: true }))
  }

  #change(slug: string, server: string, change: (site: RememberedSite) => RememberedSite): void {
    const isMeant = (site: RememberedSite) => site.slug === slug && site.server === server
    if (!this.all().some(isMeant)) return
    this.#settle(() => this.#update((sites) => sites.map((site) => (isMeant(site) ? change(site) : site))))
  }

  /** Stores what the server has done already: that it cannot be stored is no failure. */
  #settle(store: () => void): void {
    try {
      store()
    } catch (error) {
      if (!isUnwritable(error)) throw error
      if (!this.#isReported) this.#onUnwritable(error)
      this.#isReported = true
    }
  }

  #read(): RememberedSite[] {
    this.#assertNoLinks()
    const { sites = [] } = (readPrivate(this.#file) ?? {}) as { sites?: unknown }
    if (!Array.isArray(sites) || !sites.every(isSite))
      throw invalidFile(this.#file, 'is not the state of a folder')
    const hasSealed = this.#seals.sealCheck()
    return sites.map((stored: RememberedSite & { seal?: string }) => {
      const { seal, ...own } = stored
      const { liveVersionId: _, pending: __, ...named } = own
      const { slug, claimToken, server } = named
      const isOwn = hasSealed(server, slug, seal)
      const query = new URLSearchParams({ slug, token: claimToken ?? '' })
      const claim = claimToken !== undefined && { claimUrl: `${server}/claim?${query}` }
      return { ...(isOwn ? own : named), isOwn, ...claim }
    })
  }

  #update(change: (sites: RememberedSite[]) => RememberedSite[]): void {
    this.#assertNoLinks()
    changePrivate(this.#file, () => {
      const changed = change(this.#read())
      if (changed.length === 0) rmSync(this.#file, { force: true })
      else this.#write(changed)
    })
  }

  #write(sites: RememberedSite[]): void {
    this.#assertNoLinks()
    if (!sites.every(isSite)) throw new RefusedError('The server sent a site that cannot be stored')
    const stored = sites.map(
      ({ claimUrl: _, siteUrl: __, isOwn, ...site }: RememberedSite & { siteUrl?: string }) =>
        isOwn ? { ...site, seal: this.#seals.sealOf(site.server, site.slug) } : site,
    )
    // Before the claim tokens, which must not be committed. The folder may have come with a file of its own.
    const ignore = join(this.#folder, '.gitignore')
    const isFile = lstatSync(ignore, { throwIfNoEntry: false })?.isFile()
    if (!isFile || readFileSync(ignore, 'utf8') !== IGNORE_ALL) writePrivateText(ignore, IGNORE_ALL)
    writePrivate(this.#file, { sites: newestOf(stored) })
  }

  /** A link would lead the state of another folder, or files elsewhere, into this one. */
  #assertNoLinks(): void {
    for (const path of [this.#folder, this.#file]) {
      const found = this.#stat(path)
      if (found?.isSymbolicLink())
        throw new RefusedError(`${path} is a symbolic link`, 'Delete the link to start over.')
      if (found && !found.isFile() && !found.isDirectory())
        throw new RefusedError(`${path} is a special file`, 'Delete it to start over.')
      if (found && found.size > MAX_STATE_BYTES) throw invalidFile(path, 'is too long')
    }
  }

  #stat(path: string): Stats | undefined {
    try {
      return lstatSync(path, { throwIfNoEntry: false })
    } catch (error) {
      const hint = `Another user published from here: run this as that user, or delete ${this.#folder} to start over.`
      throw isUnwritable(error) ? Object.assign(error, { hints: [hint] }) : error
    }
  }

  #key(folder: string): string {
    return relative(this.#cwd, folder).split(sep).join('/') || '.'
  }
}

/**
 * Those that fit into half of the state, the latest first: every command here would end with an error at a file that is
 * too long. Expired ones are left out before others.
 */
function newestOf(sites: StoredSites): StoredSites {
  const length = (some: StoredSites) => Buffer.byteLength(JSON.stringify({ sites: some }, undefined, 2))
  let kept = sites
  if (length(kept) > MAX_STATE_BYTES / 2)
    kept = kept.filter(({ expiresAt }) => expiresAt === undefined || Date.parse(expiresAt) > Date.now())
  while (length(kept) > MAX_STATE_BYTES / 2) kept = kept.slice(0, -Math.ceil(kept.length / 10))
  return kept
}

/** How a command names a site to its user. */
export function describeSite({ slug, server }: { slug: string; server: string }): string {
  return `${slug} at ${server}`
}

function isSite(value: unknown): value is RememberedSite {
  if (typeof value !== 'object' || value === null) return false
  const { folder, server, slug, pending, ...site } = value as Record<string, unknown>
  const texts = [site.claimToken, site.expiresAt, site.liveVersionId, site.seal]
  return (
    typeof folder === 'string' &&
    isServerAddress(server) &&
    typeof slug === 'string' &&
    /^[a-z0-9-]+$/.test(slug) &&
    texts.every((text) => text === undefined || typeof text === 'string') &&
    (pending === undefined || isPending(pending)) &&
    JSON.stringify(value).length <= MAX_SITE_LENGTH
  )
}

function isServerAddress(value: unknown): boolean {
  try {
    return typeof value === 'string' && serverAddress(value) === value
  } catch {
    return false
  }
}

function isPending(value: unknown): boolean {
  const { versionId, manifest } = (value ?? {}) as Record<string, unknown>
  return typeof versionId === 'string' && typeof manifest === 'string'
}
