import { type EntityOf, flag, integer, json, jsonList, nullable, oneOf, Table, text } from '../table.ts'
import type { Domain } from './domains.ts'
import type { Suspension } from './suspension.ts'
import type { Version } from './versions.ts'

/**
 * A site. It is never removed, so that its slug is never reused; a deleted one has no versions, unless it is in the
 * trash. A former name of a site is one, too.
 */
export const siteTable = new Table({
  slug: text,
  /** Null while it is anonymous. */
  ownerId: nullable(text),
  claimTokenHash: nullable(text),
  liveVersionId: nullable(text),
  previousVersionId: nullable(text),
  liveSince: nullable(integer),
  title: nullable(text),
  description: nullable(text),
  ogImagePath: nullable(text),
  spaMode: flag,
  passwordHash: nullable(text),
  createdAt: integer,
  updatedAt: integer,
  expiresAt: nullable(integer),
  deletedAt: nullable(integer),
  /** `renamed`: a former name of a site. */
  deletionReason: nullable(oneOf<'deleted' | 'expired' | 'abandoned' | 'renamed'>()),
  /** The current name of the site that had this one, while visitors are redirected. */
  renamedTo: nullable(text),
  /** The first name of the site, under which its visits are counted. */
  visitsKey: text,
  /** Of a deleted site: until when it is in the trash and can be restored; null when it cannot. */
  keptUntil: nullable(integer),
  /** Domains that a site in the trash had. */
  keptDomains: jsonList<KeptDomain>(),
  /** While it is anonymous: the network that published it first, as a keyed hash. */
  network: nullable(text),
  /** Its own suspension; that of its owner applies too. */
  suspension: nullable(json<Suspension>()),
})

export type Site = EntityOf<typeof siteTable>

export type KeptDomain = Pick<Domain, 'domain' | 'verificationToken' | 'primaryDomain'>

/** A site without an owner and without a version. */
export function emptySite(slug: string, now: number): Site {
  return {
    ...siteTable.nulls,
    slug,
    spaMode: false,
    createdAt: now,
    updatedAt: now,
    visitsKey: slug,
    keptDomains: [],
  }
}

/** The last site of a page of a listing. */
export interface SiteCursor {
  /** Its creation; in the trash, its deletion. */
  at: number
  slug: string
}

export interface OwnerPage {
  limit: number
  after?: SiteCursor | undefined
  /** Also lists the sites with this collaborator. */
  sharedWith?: string | undefined
  /** Lists the sites in the trash, the last deleted one first. */
  trash?: boolean | undefined
  /** Words that all occur in the slug or in the title: the site's own, else that of its live version. */
  words?: readonly string[] | undefined
}

export interface SiteQueries {
  /** Also finds deleted sites: their slugs are retired forever. */
  bySlug(slug: string): Promise<Site | undefined>

  /** Rejects when the slug was ever used. */
  /** With its first version, if it has one: in one statement where the engine allows that. */
  insert(site: Site, version?: Version): Promise<void>

  /** Properties that are absent stay; an absent site stays absent. */
  update(slug: string, change: Partial<Omit<Site, 'slug'>>): Promise<void>

  /**
   * Gives a site a new name that no row has, with its versions, blob references, collaborators and
   * domains. The former one stays as a
   * row of its own that leads to the new one, as earlier ones do. Returns all former names; none for an absent site.
   */
  rename(slug: string, name: string, now: number): Promise<string[]>

  /** The current name of a site that had this one; undefined when it does not redirect. */
  findCurrentName(slug: string): Promise<string | undefined>

  /** The current slugs of the sites with these `visitsKey`s, also of deleted ones, in no order. */
  currentSlugs(visitsKeys: readonly string[]): Promise<Pick<Site, 'slug' | 'visitsKey'>[]>

  /** Removes the row of a former or abandoned name, so that it can be given again. */
  releaseName(name: string): Promise<void>

  /** Number of names that sites of an account gave up since then. */
  countRenames(ownerId: string, since: number): Promise<number>

  /** Ends the redirects of names that were given up before then, or of all former names of `slug`; returns them. */
  endRedirects(before: number, slug?: string): Promise<string[]>

  /**
   * An account's sites after the cursor, newest first, then by slug downwards; deleted ones only from the trash. Case
   * matters only beyond ASCII.
   */
  byOwner(ownerId: string, page: OwnerPage): Promise<Site[]>

  /** Number of sites of an account and bytes of their live versions. */
  usage(ownerId: string): Promise<{ sites: number; totalBytes: number }>

  /** Slugs of the sites that an owner, or a network without an account, holds, in order; with those in the trash. */
  listHeld(holder: { ownerId: string } | { network: string }): Promise<string[]>

  /** Sites that have expired but are not deleted yet, the longest expired first. */
  expired(now: number, limit: number): Promise<Site[]>

  /** Sites whose time in the trash has ended, the longest ended first. */
  overdueInTrash(now: number, limit: number): Promise<Site[]>

  /** Sites created before `before` without a finalized version and without a newer pending one, the oldest first. */
  abandoned(before: number, limit: number): Promise<Site[]>

  isAbandoned(slug: string, before: number): Promise<boolean>
}
