import { randomBytes } from 'node:crypto'
import type {
  DeleteDomainResponse,
  DomainCertificate,
  DomainList,
  DomainRecord,
} from '../../protocol/api/domains.schema.ts'
import { pluralize } from '../../protocol/format.ts'
import { requireAccess } from '../accounts/authorization.ts'
import type { Plan, Plans } from '../accounts/plans.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { toIso, toIsoOrNull } from '../lib/time.ts'
import type { Queries } from '../store/queries.ts'
import type { Account } from '../store/tables/accounts.ts'
import { type Domain, newDomain } from '../store/tables/domains.ts'
import {
  canReceiveDomains,
  parseDomain,
  parseHostName,
  proofEntry,
  proofName,
  splitName,
  wwwCounterpart,
} from './name.ts'
import { removeDomain } from './status.ts'
import { DomainVerifier, type DomainVerifierOptions } from './verifier.ts'
import { DomainWatchers, type DomainWatchersOptions, type WatchedBy, type WatchListener } from './watch.ts'

interface DomainsOptions extends DomainVerifierOptions, Pick<DomainWatchersOptions, 'pollIntervalMs'> {
  siteDomain: string
  baseUrl: string
  plans: Plans
}

/** Names reserved per domain of a plan: each had a certificate, and the CA's limits apply to all accounts together. */
const RESERVATIONS_PER_DOMAIN = 10

/** Custom domains, from the required DNS records to the name that is served (spec 4.11 and 5.3). */
export class DomainService extends Component<DomainsOptions> implements Disposable {
  readonly #verifier = new DomainVerifier(this.parts)
  readonly #watchers = new DomainWatchers({
    ...this.parts,
    records: (rows, all) => this.#records(rows, all),
    verify: (row) => this.#verifier.verifyNow(row),
  })
  readonly #own = [this.parts.siteDomain, this.parts.proxyHost, new URL(this.parts.baseUrl).hostname]

  async list(account: Account): Promise<DomainList> {
    const rows = await this.parts.store.read.domains.byAccount(account.id)
    return { domains: await this.#records(rows, rows) }
  }

  /** Checks the records before it returns, unless they were checked a moment ago. */
  async check(account: Account, typed: string): Promise<DomainRecord> {
    const row = await this.parts.store.read.domains.find(account.id, parseHostName(typed))
    const checked = row && (await this.#verifier.verifyNow(row))
    if (!checked) throw domainNotFound()
    if (checked.status === 'active') await this.parts.certificates?.retry(checked.domain)
    return this.#record(checked)
  }

  /** DOMAINS_UNAVAILABLE on a local service, DOMAIN_LIMIT_REACHED, DOMAIN_TAKEN if active elsewhere or added before. */
  async add(account: Account, typed: string, slug: string): Promise<DomainRecord> {
    const { store, clock, proxyHost } = this.parts
    if (!canReceiveDomains(proxyHost))
      throw new ApiError('DOMAINS_UNAVAILABLE', "Custom domains aren't available on this server")
    const domain = await parseDomain(typed, this.#own)
    await requireAccess(store.read, 'manage', { slug, account, now: clock() })
    const previousOwner = await this.#findOwnerWithoutProof(account, domain)
    const counterpart = await wwwCounterpart(domain)
    const scope = { host: domain, account: account.id, site: slug }
    const row = await store.write('durable', scope, async (tx) => {
      const now = clock()
      await requireAccess(tx, 'manage', { slug, account, now })
      const own = await tx.domains.find(account.id, domain)
      if (own) throw domainExists(own)
      const active = await tx.domains.active(domain)
      if (active && active.verificationToken !== previousOwner?.verificationToken) throw domainTaken(domain)
      const primary = counterpart && (await tx.domains.find(account.id, counterpart))
      const isSecond = primary && primary.slug === slug && primary.primaryDomain === null
      const plan = this.parts.plans.limitsOf(account)
      if (!isSecond) await assertDomainLimit(tx, account, plan)
      const reservation = await tx.domains.reservation(domain, now)
      const isKept = reservation?.accountId === account.id
      if (!isKept) await assertReservationLimit(tx, account, { maxDomains: plan.domains, now })
      const verificationToken = isKept
        ? reservation.verificationToken
        : `slipway-${randomBytes(16).toString('hex')}`
      const primaryDomain = isSecond ? counterpart : null
      const given = { domain, accountId: account.id, slug, verificationToken, primaryDomain }
      const row = newDomain({ ...given, createdAt: now })
      await tx.domains.insert(row)
      return row
    })
    return this.#record(row)
  }

  /** An active name is reserved for the account for a week, so that it can be added again with the same state. */
  async remove(account: Account, typed: string): Promise<DeleteDomainResponse> {
    const { store, clock, certificates } = this.parts
    const domain = parseHostName(typed)
    await store.write('durable', { host: domain, account: account.id }, async (tx) => {
      const row = await tx.domains.find(account.id, domain)
      if (!row) throw domainNotFound()
      await removeDomain(tx, row, clock(), certificates)
    })
    return { domain, deleted: true }
  }

  /** Notifies of changes of a domain; returns a function that stops it. See `watch.ts` for time limit and capacity. */
  async watch(by: WatchedBy, typed: string, listener: WatchListener): Promise<() => void> {
    const row = await this.parts.store.read.domains.find(by.account.id, parseHostName(typed))
    if (!row) throw domainNotFound()
    return this.#watchers.watch(by, row, listener)
  }

  endWatching(): Promise<void> {
    return this.#watchers.end()
  }

  verifyDue(which: { slow: boolean }): Promise<number> {
    return this.#verifier.verifyDue(which)
  }

  lookupFailure(): ReturnType<DomainVerifier['lookupFailure']> {
    return this.#verifier.lookupFailure()
  }

  /** Starts no further due checks, so that the sweep ends with those in progress. */
  [Symbol.dispose](): void {
    this.#verifier.stop()
  }

  /** Another account's row without its TXT record: the next account that proves the name can take it. */
  async #findOwnerWithoutProof(account: Account, domain: string): Promise<Domain | undefined> {
    const active = await this.parts.store.read.domains.active(domain)
    if (!active || active.accountId === account.id) return undefined
    return (await this.#verifier.hasLostProof(active, account.id)) ? active : undefined
  }

  async #record(row: Domain): Promise<DomainRecord> {
    const rows = await this.parts.store.read.domains.byAccount(row.accountId)
    const [record] = await this.#records([row], rows)
    return record!
  }

  async #records(rows: readonly Domain[], all: readonly Domain[]): Promise<DomainRecord[]> {
    const { proxyHost, certificates } = this.parts
    const active = rows.filter((row) => row.status === 'active').map((row) => row.domain)
    const known = (active.length > 0 && (await certificates?.statuses(active))) || new Map()
    const names = Map.groupBy(all, (row) => row.accountId)
    return Promise.all(
      rows.map((row) => {
        const own = new Map(names.get(row.accountId)?.map((one) => [one.domain, one]))
        return toDomainRecord(row, { proxyHost, own, certificates: known })
      }),
    )
  }
}

/** A root domain and its `www` on one site count as one (spec 8.2). */
async function assertDomainLimit(tx: Queries, account: Account, { name, domains }: Plan): Promise<void> {
  if ((await tx.domains.count(account.id)) < domains) return
  const sentence =
    domains === 0
      ? `The ${name} plan includes no custom domains. Ask the administrator for a higher limit.`
      : `You have used ${domains === 1 ? 'your' : 'all'} ${pluralize(domains, 'custom domain')} (${name} plan). Remove a domain, or ask the administrator for more.`
  throw new ApiError('DOMAIN_LIMIT_REACHED', sentence)
}

async function assertReservationLimit(
  tx: Queries,
  account: Account,
  { maxDomains, now }: { maxDomains: number; now: number },
): Promise<void> {
  const max = RESERVATIONS_PER_DOMAIN * maxDomains
  if ((await tx.domains.countReservations(account.id, now)) < max) return
  const sentence = `You removed ${max} domains in the last 7 days. Until their 7 days end, you can add only those again.`
  throw new ApiError('DOMAIN_LIMIT_REACHED', sentence)
}

function domainExists({ domain, slug }: Domain): ApiError {
  const sentence = `${domain} is already connected to your site ${slug}. Remove it there first.`
  return new ApiError('DOMAIN_TAKEN', sentence)
}

function domainTaken(domain: string): ApiError {
  const remedy = `If you control its DNS, delete the TXT record of that account at ${proofName(domain)}, then add ${domain} again.`
  return new ApiError('DOMAIN_TAKEN', `${domain} is active for another account. ${remedy}`)
}

function domainNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'Domain not found in this account')
}

interface RecordContext {
  proxyHost: string
  own: ReadonlyMap<string, Domain>
  /** Certificates of active names, when HTTPS is enabled. */
  certificates: ReadonlyMap<string, DomainCertificate>
}

const NO_CERTIFICATE: DomainCertificate = {
  status: 'none',
  issuedAt: null,
  expiresAt: null,
  renewsAt: null,
  problem: null,
}

async function toDomainRecord(
  row: Domain,
  { proxyHost, own, certificates }: RecordContext,
): Promise<DomainRecord> {
  const { label } = await splitName(row.domain)
  const found = row.findings
  const counterpart = await wwwCounterpart(row.domain)
  return {
    domain: row.domain,
    siteSlug: row.slug,
    status: row.status,
    records: [
      {
        type: label ? 'CNAME' : 'ALIAS',
        name: label || '@',
        value: proxyHost,
        found: found?.pointing ?? null,
        right: found?.right.pointing ?? null,
      },
      {
        type: 'TXT',
        name: proofEntry(label),
        value: row.verificationToken,
        found: found?.texts ?? null,
        right: found?.right.text ?? null,
      },
    ],
    reason: formatReason(row),
    redirectsTo: redirectTarget(row, own),
    alternate: counterpart !== null && !own.has(counterpart) ? counterpart : null,
    certificate: (row.status === 'active' && certificates.get(row.domain)) || NO_CERTIFICATE,
    createdAt: toIso(row.createdAt),
    verifiedAt: toIsoOrNull(row.verifiedAt),
    checkedAt: toIsoOrNull(row.checkedAt),
    nextCheckAt: toIsoOrNull(row.nextCheckAt),
  }
}

/** An active name shows the site while its primary one is not active. */
function redirectTarget({ status, primaryDomain }: Domain, own: RecordContext['own']): string | null {
  if (primaryDomain === null || status !== 'active') return primaryDomain
  return own.get(primaryDomain)?.status === 'active' ? primaryDomain : null
}

function formatReason({ status, reason, nextCheckAt }: Domain): string | null {
  if (reason === null && status === 'active') return null
  const message = reason ?? 'Waiting for both DNS records'
  if (nextCheckAt !== null) return `${message}.`
  return `${message}. Automatic checks have stopped: check again after you add the records.`
}
