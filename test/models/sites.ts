import type { KeyScope } from '../../protocol/api/keys.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import type { Contents } from '../api/content.ts'

/** What the model knows of an account. */
export interface Person {
  email: string
  key: Credential
  isSuspended: boolean
  hasLeft: boolean
}

export interface Credential {
  token: string
  person: Person
  scope: KeyScope
  /** The only sites that it is for. */
  sites: readonly Site[] | null
  expiresAt: number
  hasEnded: boolean
  /** Of a named key. */
  id?: string
}

export interface Version {
  id: string
  files: Contents
  wasLive: boolean
}

interface Preview {
  version: Version
  expiresAt: number
  shown: Shown
}

export interface ReviewLink {
  site: Site
  preview: string | undefined
  /** What it is about: another preview of this name has links of its own. */
  shown: Shown
  id: string
  token: string
  creator: Credential
  isRevoked: boolean
  expiresAt: number
}

export type Right = 'read' | 'publish' | 'remove' | 'manage' | 'delete'

/** What a call must be refused with, one of these codes; and codes that depend on what the model does not know. */
export interface Refusals {
  must: string[]
  may: string[]
}

const SCOPES: readonly KeyScope[] = ['read', 'preview', 'publish', 'manage', 'admin']

/** The files at one address, and those that it had within the last hour. */
export class Shown {
  files: Contents | undefined
  former: { path: string; content: string; until: number }[] = []

  show(files: Contents, now: number): void {
    for (const [path, content] of Object.entries(this.files ?? {}))
      if (!(path in files)) this.former.push({ path, content: String(content), until: now + HOUR_MS })
    this.files = files
  }

  /** What a path may show at this time; undefined is a 404. */
  at(path: string, now: number): (string | undefined)[] {
    if (this.files && path in this.files) return [String(this.files[path])]
    const former = this.former.filter((one) => one.path === path && now <= one.until)
    return [undefined, ...former.map(({ content }) => content)]
  }
}

export class Site {
  slug: string
  owner: Person | undefined
  claimToken: string | undefined
  expiresAt: number
  live: Version | undefined
  readonly shown = new Shown()
  readonly versions: Version[] = []
  /** Versions that wait for their files, and the paths that were not uploaded. */
  readonly pending: { id: string; files: Contents; missing: string[] }[] = []
  readonly previews = new Map<string, Preview>()
  readonly collaborators = new Set<string>()
  password: string | null = null
  /** Each changes what earlier cookies are worth. */
  passwordChanges = 0
  readonly cookies: { text: string; host: string; at: number; expiresAt: number }[] = []
  isSuspended = false
  approval: 'off' | 'anyone' | 'collaborators' = 'off'
  readonly decisions: { version: Version; isApproval: boolean }[] = []
  readonly formerNames: { slug: string; until: number }[] = []
  allowsSecret = false
  /** Whether it was in the trash, which may end links. */
  wasDeleted = false
  /** Until when it is in the trash. */
  deletedUntil: number | undefined
  isDeleted = false

  constructor(given: Pick<Site, 'slug' | 'owner' | 'claimToken' | 'expiresAt'>) {
    this.slug = given.slug
    this.owner = given.owner
    this.claimToken = given.claimToken
    this.expiresAt = given.expiresAt
  }

  get isGone(): boolean {
    return this.isDeleted || this.deletedUntil !== undefined
  }

  isExpired(now: number): boolean {
    return now >= this.expiresAt
  }

  isShown(now: number): boolean {
    return !this.isGone && !this.isExpired(now) && !this.isSuspended && !this.owner?.isSuspended
  }

  goLive(version: Version, now: number): void {
    this.keep(version)
    version.wasLive = true
    this.live = version
    this.shown.show(version.files, now)
  }

  keep(version: Version): void {
    if (!this.versions.includes(version)) this.versions.push(version)
  }

  setPreview(name: string, version: Version, until: { now: number; expiresAt: number }): void {
    const { now, expiresAt } = until
    this.keep(version)
    const shown = this.preview(name, now)?.shown ?? new Shown()
    shown.show(version.files, now)
    this.previews.set(name, { version, expiresAt, shown })
  }

  preview(name: string, now: number): Preview | undefined {
    const preview = this.previews.get(name)
    return preview && now < preview.expiresAt ? preview : undefined
  }

  /** The last decision about these files; undefined without one. */
  lastDecision({ files }: Version) {
    const text = JSON.stringify(Object.entries(files).sort())
    return this.decisions.findLast(
      ({ version }) => JSON.stringify(Object.entries(version.files).sort()) === text,
    )
  }

  roleOf({ email }: Person): 'owner' | 'collaborator' | undefined {
    if (this.owner?.email === email) return 'owner'
    return this.collaborators.has(email) ? 'collaborator' : undefined
  }

  forget(version: Version): void {
    this.versions.splice(this.versions.indexOf(version), 1)
    for (const [name, preview] of this.previews) if (preview.version === version) this.previews.delete(name)
  }

  rename(name: string, redirectsUntil: number): void {
    this.formerNames.push({ slug: this.slug, until: redirectsUntil })
    this.slug = name
  }

  moveToTrash(until: number): void {
    this.deletedUntil = until
    this.wasDeleted = true
    this.formerNames.length = 0
  }
}

/** What a call with a credential must be refused with. */
export function refusalsOf(
  site: Site,
  { person, scope, sites, expiresAt, hasEnded }: Credential,
  { right, needs, now }: { right: Right; needs: KeyScope; now: number },
): Refusals {
  if (hasEnded || now >= expiresAt) return { must: ['UNAUTHORIZED'], may: [] }
  const must: string[] = []
  if (SCOPES.indexOf(scope) < SCOPES.indexOf(needs) || (sites && !sites.includes(site)))
    must.push('INSUFFICIENT_SCOPE')
  const role = site.roleOf(person)
  const isChange = right === 'publish' || right === 'manage'
  if (role === undefined || site.isGone) must.push('NOT_FOUND')
  if (role === 'collaborator' && (right === 'manage' || right === 'delete')) must.push('OWNER_REQUIRED')
  if (role === 'collaborator' && right !== 'read' && person.isSuspended) must.push('ACCOUNT_SUSPENDED')
  if (isChange && (site.isSuspended || site.owner?.isSuspended)) must.push('SITE_SUSPENDED')
  const isKept = !isChange && (site.isSuspended || person.isSuspended)
  if (site.isExpired(now) && !isKept) must.push('SITE_EXPIRED')
  // What has expired and been deleted is unknown to those who shared it.
  const may = site.isExpired(now) ? ['SITE_EXPIRED', 'NOT_FOUND'] : []
  if (must.length > 0 && person.isSuspended) may.push('ACCOUNT_SUSPENDED')
  // Keys for a site alone end with it.
  if (sites?.every((one) => one.isExpired(now))) may.push('UNAUTHORIZED')
  return { must, may }
}

/** Of changes with the claim token of a site without an owner. */
export function refusalsOfToken(site: Site, now: number): Refusals {
  const must: string[] = []
  if (site.isDeleted) must.push('NOT_FOUND', 'INVALID_CLAIM_TOKEN')
  if (site.isExpired(now)) must.push('SITE_EXPIRED')
  if (site.isSuspended) must.push('SITE_SUSPENDED')
  return { must, may: site.isExpired(now) ? ['NOT_FOUND', 'INVALID_CLAIM_TOKEN'] : [] }
}

/** Of those who open a review by its link. */
export function refusalsOfLink(
  { site, preview, shown, creator, ...link }: ReviewLink,
  now: number,
): Refusals {
  const { person, scope, sites, expiresAt, hasEnded } = creator
  const isLimited = scope !== 'manage' || sites !== null || expiresAt < Number.POSITIVE_INFINITY
  const present = preview === undefined ? site.shown : site.preview(preview, now)?.shown
  const must: string[] = []
  if (link.isRevoked || now >= link.expiresAt || site.isGone || present !== shown) must.push('NOT_FOUND')
  if (person.hasLeft || person.isSuspended || (isLimited && (hasEnded || now >= expiresAt)))
    must.push('NOT_FOUND')
  if (site.isExpired(now)) must.push('SITE_EXPIRED', 'NOT_FOUND')
  if (site.isSuspended || site.owner?.isSuspended) must.push('SITE_SUSPENDED')
  return { must, may: site.wasDeleted ? ['NOT_FOUND'] : [] }
}

export function suspensionOf(person: Person | undefined): Refusals {
  return { must: person?.isSuspended ? ['ACCOUNT_SUSPENDED'] : [], may: [] }
}
