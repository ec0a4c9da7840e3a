import type { FieldError } from '../../protocol/api/errors.schema.ts'
import type { PublishRequest } from '../../protocol/api/publish.schema.ts'
import type { NameCheck, RenameResponse } from '../../protocol/api/sites.schema.ts'
import { MAX_NAME_LENGTH, MIN_NAME_LENGTH, suggestName } from '../../protocol/site-name.ts'
import {
  type Caller,
  findRole,
  isExpired,
  isInTrash,
  isRetired,
  requireAccess,
} from '../accounts/authorization.ts'
import { countInWindow } from '../accounts/rate-limits.ts'
import { Component } from '../lib/component.ts'
import { ApiError, invalidField } from '../lib/errors.ts'
import { DAY_MS, toIso } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { Queries } from '../store/queries.ts'
import { INDEPENDENT, type Store, type WriteTransaction } from '../store/store.ts'
import type { Account } from '../store/tables/accounts.ts'
import { BEING_DELETED, type Site } from '../store/tables/sites.ts'
import { isPreviewName, PREVIEW_NAME_RULE } from './preview.ts'
import { isGeneratedSlug, LABEL_PATTERN } from './slug.ts'

/** Afterwards no account gets the former name again. */
const REDIRECT_DAYS = 30

/** Each rename retires a name. */
const MAX_RENAMES_PER_DAY = 10

type SiteNamesParts = Pick<Parts, 'store' | 'addresses' | 'clock'> & {
  policy: NamePolicy
  precompressor: { enqueue(slug: string, versionId: string): void }
}

/** Owners choose the slug, which is the host and stands in API paths. */
export class SiteNames extends Component<SiteNamesParts> {
  /** Whether the account, or one that has no site yet, can give this name to a site. */
  async check(account: Account | undefined, name: string): Promise<NameCheck> {
    const { store, policy } = this.parts
    const problem = policy.problem(name)
    if (problem) return { name, available: false, reason: `The name ${problem}.` }
    const site = await store.read.sites.find(name)
    const isFree = !site || isReusable(site, account?.id)
    return isFree ? { name, available: true } : { name, available: false, reason: 'The name is taken.' }
  }

  /** Like the title of a site whose name was generated; undefined when no such name is free. */
  async suggest({ slug, title }: { slug: string; title: string | null }): Promise<string | undefined> {
    const name = title !== null && isGeneratedSlug(slug) ? suggestName(title) : undefined
    if (name === undefined) return undefined
    return (await this.check(undefined, name)).available ? name : undefined
  }

  /** As early as possible: UNAUTHORIZED, VALIDATION_ERROR against the rules, NAME_TAKEN. `takeName` decides. */
  async assertAvailable({ account }: Caller, name: string): Promise<void> {
    if (!account) {
      const sentence = 'Choosing a name needs an account. Sign in, or publish without a name'
      throw new ApiError('UNAUTHORIZED', sentence)
    }
    this.assertAllowed(name)
    if (!(await this.check(account, name)).available) throw nameTaken(name)
  }

  /** Immediate and idempotent. The former name redirects for 30 days, while the site can take it back, then retires. */
  async rename(account: Account, slug: string, name: string): Promise<RenameResponse> {
    const { store, addresses, precompressor, clock } = this.parts
    this.assertAllowed(name)
    const now = clock()
    const scope = { site: [slug, name], account: account.id }
    const liveVersionId = await store.write('durable', scope, async (tx) => {
      const site = await requireAccess(tx, 'manage', { slug, account, now })
      if (slug === name) return null
      await renameWithin(tx, { account, site, name, now })
      return site.liveVersionId
    })
    if (liveVersionId) precompressor.enqueue(name, liveVersionId)
    const redirectsUntil = slug === name ? null : toIso(now + REDIRECT_DAYS * DAY_MS)
    return { slug: name, siteUrl: addresses.site(name), formerSlug: slug, redirectsUntil }
  }

  validatePreviewName(name: unknown): FieldError[] {
    if (name === undefined) return []
    const problem = typeof name === 'string' ? this.parts.policy.previewProblem(name) : 'must be a string'
    return problem ? [{ field: 'preview', message: problem }] : []
  }

  /** VALIDATION_ERROR for a name against the rules. */
  assertAllowed(name: string): void {
    const problem = this.parts.policy.problem(name)
    if (problem) throw invalidField('name', problem)
  }
}

/** What a publish by name updates, if it is one; own sites only: who took the name first could share one. NAME_TAKEN. */
export async function findByName(
  queries: Queries,
  { name, update }: Pick<PublishRequest, 'name' | 'update'>,
  { account, now }: { account: Account | undefined; now: number },
): Promise<Site | undefined> {
  if (!update || !account || name === undefined) return undefined
  let site = await queries.sites.find(name)
  // Each row says where the site is now: two reads of which a rename came between would miss it.
  while (site && site.renamedTo !== null) site = await queries.sites.find(site.renamedTo)
  if (!site || isReusable(site, account.id)) return undefined
  if ((isRetired(site) && !isInTrash(site, now)) || !(await findRole(queries, site, account)))
    throw nameTaken(name)
  if (site.ownerId !== account.id) throw nameTaken(name, ' by a site that another account shares with you')
  if (isExpired(site, now) && !isInTrash(site, now)) throw nameExpired(name)
  return site
}

/** Calls `work` again with the new name of a site that was renamed since. */
export async function withCurrentName<T>(
  { newest }: Pick<Store, 'newest'>,
  slug: string,
  work: (slug: string) => Promise<T>,
): Promise<T> {
  try {
    return await work(slug)
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'NOT_FOUND')) throw error
    const current = await newest.sites.currentName(slug)
    if (current === slug) throw error
    return withCurrentName({ newest }, current, work)
  }
}

/** Within a write that gives a name to a site of the account. NAME_TAKEN. */
export async function takeNewName(tx: WriteTransaction, name: string, accountId: string): Promise<void> {
  await takeName(tx, name, (former) => isReusable(former, accountId))
}

/** In a write of both names. NAME_TAKEN, RATE_LIMITED beyond the renames of a day. Encodings are missing afterwards. */
export async function renameWithin(
  tx: WriteTransaction,
  { account, site, name, now }: { account: Account; site: Site; name: string; now: number },
): Promise<void> {
  const { slug, liveVersionId } = site
  const limit = { counter: `renames:${account.id}`, windowMs: DAY_MS, max: MAX_RENAMES_PER_DAY, now }
  await countInWindow(tx, limit, `An account can rename sites ${MAX_RENAMES_PER_DAY} times a day (UTC)`)
  await takeName(tx, name, (former) => former.renamedTo === slug || isReusable(former, account.id))
  const former = await tx.sites.rename(slug, name, now)
  // The head of the root document may contain the URL of the site.
  if (liveVersionId) await tx.versions.update(liveVersionId, { isEncoded: false })
  for (const changed of [name, ...former]) await tx.notifyChanged(changed)
}

/** Ends the redirects of names that were given up 30 days ago. Returns their number. */
export async function endRedirects({ store, clock }: { store: Store; clock: () => number }): Promise<number> {
  return store.write('relaxed', INDEPENDENT, async (tx) => {
    const ended = await tx.sites.endRedirects(clock() - REDIRECT_DAYS * DAY_MS)
    for (const name of ended) await tx.notifyChanged(name)
    return ended.length
  })
}

async function takeName(
  tx: WriteTransaction,
  name: string,
  mayTake: (former: Site) => boolean,
): Promise<void> {
  const former = await tx.sites.find(name)
  if (!former) return
  if (!mayTake(former)) throw nameTaken(name)
  await tx.sites.releaseName(name)
}

/** Visitors never saw a site that was never finalized, so its owner can use the name again. */
function isReusable({ deletionReason, ownerId, keptUntil }: Site, accountId: string | undefined): boolean {
  return deletionReason === 'abandoned' && ownerId === accountId && keptUntil !== BEING_DELETED
}

function nameTaken(name: string, by = ''): ApiError {
  return new ApiError('NAME_TAKEN', `The name '${name}' is taken${by}`)
}

function nameExpired(name: string): ApiError {
  const sentence = `The site with the name '${name}' has expired, and its name is not given again`
  const hint = 'Choose another name. A site without a time to live (ttlSeconds) does not expire.'
  return new ApiError('NAME_TAKEN', sentence, { hint })
}

/** Names that visitors take for parts of a service, or that programs contact automatically. */
const RESERVED_NAMES = `
  abuse account accounts admin administrator api app apps assets auth authorize autoconfig autodiscover billing caldav
  carddav cdn claim console contact dashboard deploy dev developer device dns docs domain domains download edge email
  enterpriseenrollment enterpriseregistration error exchange ftp health help helpdesk host hostmaster imap info
  internal invoice isatap kerberos ldap legal localhost login logout lyncdiscover mail mailer mcp metrics mta-sts mx
  mx1 mx2 noreply ns ns1 ns2 ns3 ns4 oauth official openpgpkey owa pages password pay payment payments pop pop3 portal
  postmaster preview pricing privacy proxy public register report review root sales secure security server service
  settings signin signup sip site sites smtp ssl sso staging static status support sysadmin system terms test tls
  upload uploads verify vpn webmail webmaster well-known wpad www xmpp`
  .trim()
  .split(/\s+/)

/** A site that contains the project's name could pass for a part of the service. */
const PRODUCT_NAME = 'slipway'

/** A shorter label of the service's host would refuse too many names. */
const MIN_BRAND_LENGTH = 4

interface NamePolicyOptions {
  reservedNames: readonly string[]
  /** The address of the service and the domain of its sites. */
  hosts: readonly string[]
}

export class NamePolicy {
  readonly #reserved: ReadonlySet<string>
  readonly #brands: readonly string[]

  constructor({ reservedNames, hosts }: NamePolicyOptions) {
    const labels = hosts.flatMap((host) => host.toLowerCase().split('.'))
    const brands = hosts.flatMap((host) => host.toLowerCase().split('.').at(-2) ?? [])
    this.#reserved = new Set([...RESERVED_NAMES, ...reservedNames, ...labels].map(toSkeleton))
    this.#brands = [PRODUCT_NAME, ...brands.filter(({ length }) => length >= MIN_BRAND_LENGTH)].map(
      toSkeleton,
    )
  }

  /** Why a site cannot have this name, after "The name"; undefined when the rules allow it. */
  problem(name: string): string | undefined {
    const { length } = name
    if (length < MIN_NAME_LENGTH || length > MAX_NAME_LENGTH)
      return `must have ${MIN_NAME_LENGTH} to ${MAX_NAME_LENGTH} characters`
    if (!LABEL_PATTERN.test(name))
      return 'must consist of lowercase letters, digits and single hyphens, and begin and end with a letter or digit'
    if (isGeneratedSlug(name))
      return 'must not have the form of a generated name, such as amber-harbor-k7x3m2'
    return this.#reserved.has(toSkeleton(name)) || this.#hasBrand(name) ? 'is reserved' : undefined
  }

  /** The name is followed by that of its site, so that fewer names are reserved. */
  previewProblem(name: string): string | undefined {
    if (!isPreviewName(name)) return PREVIEW_NAME_RULE
    return this.#hasBrand(name) ? 'is reserved' : undefined
  }

  #hasBrand(name: string): boolean {
    const skeleton = toSkeleton(name)
    return this.#brands.some((brand) => skeleton.includes(brand))
  }
}

/** The order matters, since a replacement may be part of a later pair. */
const CONFUSABLES: readonly [similar: RegExp, letter: string][] = [
  [/-/g, ''],
  [/0/g, 'o'],
  [/[1il]/g, 'l'],
  [/3/g, 'e'],
  [/4/g, 'a'],
  [/5/g, 's'],
  [/[69]/g, 'g'],
  [/7/g, 't'],
  [/8/g, 'b'],
  [/vv/g, 'w'],
  [/rn/g, 'm'],
  [/cl/g, 'd'],
]

/** Names that look alike have the same skeleton (as in Unicode UTS 39, for ASCII). */
function toSkeleton(name: string): string {
  return CONFUSABLES.reduce((text, [similar, letter]) => text.replace(similar, letter), name.toLowerCase())
}
