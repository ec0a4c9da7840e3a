import type { AccountScope } from '../../../protocol/api/keys.ts'
import type {
  CreateTrustRequest,
  ExchangeRequest,
  ExchangeResponse,
  Trust,
  TrustList,
  TrustRemovedResponse,
} from '../../../protocol/api/trusts.schema.ts'
import type { Forge } from '../../../protocol/api/trusts.ts'
import { pluralize } from '../../../protocol/format.ts'
import { Component } from '../../lib/component.ts'
import { ApiError, invalidField, validationError } from '../../lib/errors.ts'
import { DAY_MS, HOUR_MS, toIso, toIsoOrNull } from '../../lib/time.ts'
import { newId } from '../../lib/tokens.ts'
import type { Parts } from '../../parts.ts'
import type { Queries } from '../../store/queries.ts'
import type { Account } from '../../store/tables/accounts.ts'
import type { StoredTrust } from '../../store/tables/keys.ts'
import { assertNotBeingDeleted, findRole, requireAccess } from '../authorization.ts'
import { keyScope, mintKey } from '../named-keys.ts'
import { endLinksOfEndedKeys } from '../review-frames.ts'
import { type IdToken, type IdTokens, type Issuer, invalidToken } from './id-tokens.ts'
import { type Job, matchesRules } from './job.ts'

export const MAX_TRUSTS = 50

/** As upload targets: finalize needs the key after the uploads, and a job can exchange its token once. */
const KEY_LIFETIME_MS = HOUR_MS

/** A trust without the id of its repository waits for the first exchange, which fixes it. */
const FIRST_USE_MS = 30 * DAY_MS

type TrustsParts = Pick<Parts, 'store' | 'clock'> & { issuers: readonly Issuer[]; tokens: IdTokens }

type ChargeAccount = (account: Account) => Promise<void>

interface Candidate {
  trust: StoredTrust
  account: Account
}

/** Jobs of a repository exchange their tokens for keys of one site (contract). */
export class Trusts extends Component<TrustsParts> {
  async list({ id }: Account): Promise<TrustList> {
    const { read } = this.parts.store
    const trusts = await read.trusts.list(id)
    const slugs = await read.sites.currentSlugs(trusts.map(({ site }) => site))
    return { trusts: trusts.map((trust) => summarize(trust, slugs)) }
  }

  /** VALIDATION_ERROR for invalid fields, NOT_FOUND for a site without access, TRUST_LIMIT_REACHED beyond the limit. */
  async create(account: Account, request: CreateTrustRequest): Promise<Trust> {
    const rules = readRules(request)
    const { forge, repositoryId = null, scope = 'publish' } = request
    const issuer = this.#findIssuer(request)
    const now = this.parts.clock()
    return this.parts.store.write('durable', keyScope(account), async (tx) => {
      await assertNotBeingDeleted(tx, account)
      const slug = await tx.sites.currentName(request.site)
      const { visitsKey: site } = await requireAccess(tx, 'publish', { slug, account, now })
      if ((await tx.trusts.list(account.id)).length >= MAX_TRUSTS) throw limitReached()
      const trust: StoredTrust = {
        ...rules,
        ...{ id: newId(now), accountId: account.id, createdAt: now, lastUsedAt: null },
        ...{ forge, issuer, repository: request.repository.toLowerCase(), repositoryId, site, scope },
      }
      await tx.rows.insert('trusts', trust)
      return summarize(trust, await tx.sites.currentSlugs([site]))
    })
  }

  /** Ends its keys. NOT_FOUND without a trust of this id. */
  async remove(account: Account, id: string): Promise<TrustRemovedResponse> {
    await this.parts.store.write('durable', keyScope(account), async (tx) => {
      if (!(await tx.trusts.list(account.id)).some((trust) => trust.id === id))
        throw new ApiError('NOT_FOUND', 'Trust not found. It may have been removed.')
      await tx.rows.remove('trusts', { id })
      await tx.keys.deleteIssued(account.id, keyIssuer(id))
      await endLinksOfEndedKeys(tx, account.id, this.parts.clock())
    })
    return { id, removed: true }
  }

  /**
   * Once for each token. INVALID_ID_TOKEN, NOT_TRUSTED when no trust is for its job, VALIDATION_ERROR when `site` has
   * to say which one is meant. `charge` charges the account of the trust, and rejects beyond its rate limit.
   */
  async exchange({ token, site }: ExchangeRequest, charge: ChargeAccount): Promise<ExchangeResponse> {
    return this.issueKey(await this.parts.tokens.verify(token), site, charge)
  }

  async issueKey(
    idToken: IdToken,
    slug: string | undefined,
    charge: ChargeAccount = async () => undefined,
  ): Promise<ExchangeResponse> {
    const { trust, account } = await this.#findTrust(idToken, slug)
    // Who repeats a token of a job is not the job.
    if (await this.parts.store.read.trusts.isTokenUsed(idToken.hash)) throw usedToken()
    await charge(account)
    const now = this.parts.clock()
    const expiresAt = now + KEY_LIFETIME_MS
    const scope = keyScopeFor(trust, idToken.job)
    return this.parts.store.write('durable', keyScope(account), async (tx) => {
      await assertNotBeingDeleted(tx, account)
      const current = (await tx.trusts.list(account.id)).find(({ id }) => id === trust.id)
      const { job } = idToken
      if (!current || !isFor(current, job, now)) throw notTrusted(job, slug)
      // The site may have been renamed since it was found.
      const currentSlug = (await tx.sites.currentSlugs([trust.site])).get(trust.site)
      if (currentSlug === undefined) throw notTrusted(job, slug)
      await requireAccess(tx, 'publish', { slug: currentSlug, account, now })
      if (!(await tx.trusts.useToken(idToken.hash, idToken.expiresAt))) throw usedToken()
      await tx.trusts.recordUse(trust.id, job, now)
      const grant = { scope, sites: [trust.site], expiresAt }
      const named = { accountId: account.id, name: job.repository, grant, issuedBy: keyIssuer(trust.id) }
      const { apiKey } = await mintKey(tx, named, now)
      return { apiKey, site: currentSlug, scope, expiresAt: toIso(expiresAt) }
    })
  }

  /** Without a slug only when all trusts of the repository are for one site: any account can trust a repository. */
  async #findTrust({ issuer, job }: IdToken, slug: string | undefined): Promise<Candidate> {
    const { read } = this.parts.store
    const repository = { issuer, ...job }
    const named = slug === undefined ? undefined : await read.sites.find(await read.sites.currentName(slug))
    const sites = slug === undefined ? await read.trusts.listSites(repository, 2) : [named?.visitsKey ?? '']
    if (sites.length > 1)
      throw invalidField('site', 'is required, because several sites trust this repository')
    const found = await read.trusts.find(repository, sites[0] ?? '')
    const now = this.parts.clock()
    for (const trust of found.filter((one) => isFor(one, job, now))) {
      const candidate = await findCandidate(read, trust)
      if (candidate) return candidate
    }
    const isLate = found.some((one) => hasLapsed(one, now) && matchesRules(one, job))
    throw notTrusted(job, slug, isLate ? LAPSED : undefined)
  }

  #findIssuer({ forge, issuer }: CreateTrustRequest): string {
    const known = this.parts.issuers.filter((one) => one.forge === forge)
    const found = issuer ? known.find(({ url }) => url === issuer) : known[0]
    if (found) return found.url
    const allowed = known.length > 0 ? known.map(({ url }) => url).join(', ') : 'none'
    throw invalidField('issuer', `must be an issuer in the settings of the server, for ${forge}: ${allowed}`)
  }
}

/** While the account may publish to the site. */
async function findCandidate(queries: Queries, trust: StoredTrust): Promise<Candidate | undefined> {
  const account = await queries.accounts.find(trust.accountId)
  const slug = (await queries.sites.currentSlugs([trust.site])).get(trust.site)
  const site = slug === undefined ? undefined : await queries.sites.find(slug)
  if (!account || !site || !(await findRole(queries, site, account))) return undefined
  return { trust, account }
}

/** A repository with the name of a deleted one has another id; one that was renamed or transferred keeps its id. */
function isFor(trust: StoredTrust, job: Job, now: number): boolean {
  const isRepository =
    trust.repositoryId === null ? !hasLapsed(trust, now) : trust.repositoryId === job.repositoryId
  return isRepository && matchesRules(trust, job)
}

function lapsesAt({ repositoryId, createdAt }: StoredTrust): number | null {
  return repositoryId === null ? createdAt + FIRST_USE_MS : null
}

function hasLapsed(trust: StoredTrust, now: number): boolean {
  return now >= (lapsesAt(trust) ?? Infinity)
}

/** A pull request has not been merged yet, also in a merge queue: its jobs publish previews, and read. */
function keyScopeFor({ scope }: StoredTrust, { ref }: Job): AccountScope {
  const isMerged = ref.kind === 'branch' || ref.kind === 'tag'
  return isMerged || scope === 'read' ? scope : 'preview'
}

function keyIssuer(id: string): string {
  return `trust:${id}`
}

const NAME = /^[^\p{C}\s*][^\p{C}\s*]{0,254}\*?$|^\*$/u

function readRules(request: CreateTrustRequest) {
  const { forge, branch = null, tag = null, environment = null, pullRequests = false } = request
  const workflow = request.workflow == null ? null : toWorkflowPath(forge, request.workflow)
  const segments = request.repository.split('/')
  const isRepository =
    segments.every((segment) => /^[\w.-]{1,100}$/.test(segment)) &&
    (forge === 'github' ? segments.length === 2 : segments.length >= 2)
  const problems = []
  if (!isRepository) problems.push({ field: 'repository', message: 'must be OWNER/REPOSITORY' })
  for (const [field, pattern] of Object.entries({ branch, tag }))
    if (pattern !== null && !NAME.test(pattern))
      problems.push({ field, message: 'must be a name, or the beginning of one and *' })
  if (environment !== null && /^\s|\s$|\p{C}|^$/u.test(environment))
    problems.push({ field: 'environment', message: 'must be the name of an environment' })
  if (workflow !== null && (!/^[^\p{C}\s@][^\p{C}@]*$/u.test(workflow) || workflow.startsWith('/')))
    problems.push({ field: 'workflow', message: 'must be the path of a file in the repository' })
  if (branch === null && tag === null && environment === null && !pullRequests)
    problems.push({ field: 'branch', message: 'or tag, environment or pullRequests is required' })
  if (problems.length > 0) throw validationError(problems)
  return { branch, tag, environment, workflow, pullRequests }
}

/** GitHub runs workflows of one folder only, so that the name of the file is enough. */
function toWorkflowPath(forge: Forge, path: string): string {
  return forge === 'github' && !path.includes('/') ? `.github/workflows/${path}` : path
}

function summarize(trust: StoredTrust, slugs: ReadonlyMap<string, string>): Trust {
  const { accountId: _, site, createdAt, lastUsedAt, ...rest } = trust
  return {
    ...rest,
    site: slugs.get(site) ?? site,
    createdAt: toIso(createdAt),
    lastUsedAt: toIsoOrNull(lastUsedAt),
    lapsesAt: toIsoOrNull(lapsesAt(trust)),
  }
}

const LAPSED =
  'A trust for this job has waited 30 days for its first job, and has ended: remove it, and add it again, with the id of the repository.'

function notTrusted(job: Job, site: string | undefined, hint?: string): ApiError {
  const { forge, repository, repositoryId, event, ref, environment, workflow } = job
  const details = { forge, repository, repositoryId, event, environment, workflow, site: site ?? null }
  if (ref.kind === 'other')
    return new ApiError('NOT_TRUSTED', `Jobs of the event ${event} are never trusted: ${repository}`, {
      details,
    })
  const where = site === undefined ? 'No site trusts' : 'The site does not trust'
  return new ApiError('NOT_TRUSTED', `${where} this job: ${ref.kind} ${ref.name} of ${repository}`, {
    details: { ...details, [DETAIL_NAMES[ref.kind]]: ref.name },
    hint,
  })
}

const DETAIL_NAMES = {
  ...{ branch: 'branch', tag: 'tag', 'pull request': 'pullRequest', 'merge queue': 'mergeQueue' },
} as const

function usedToken(): ApiError {
  return invalidToken('it was used before')
}

function limitReached(): ApiError {
  const sentence = `This account has ${pluralize(MAX_TRUSTS, 'trust')}, which is the limit`
  return new ApiError('TRUST_LIMIT_REACHED', sentence)
}
