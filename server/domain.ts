import { randomBytes } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { DeleteDomainAnswer, DomainList, DomainRecord } from '../client/wire.ts'
import { Failure, invalid } from './failure.ts'
import { ownedSite } from './ownership.ts'
import type { AccountRow, DomainRow } from './store/schema.ts'
import type { Store } from './store/store.ts'
import { iso, isoOrNull } from './time.ts'

interface DomainsOptions {
  store: Store
  clock: () => number
  /** Spec `{proxy_host}`. */
  proxyHost: string
  siteDomain: string
  baseUrl: string
}

/** Custom domains of each plan (spec 8.2). */
export const DOMAINS_ALLOWED = { free: 1, hobby: 5 }

/** Custom domains of an account: kept as pending, with what to enter in DNS (spec 4.11 and 5.3). */
export class Domains {
  readonly #options: DomainsOptions

  constructor(options: DomainsOptions) {
    this.#options = options
  }

  async list(account: AccountRow): Promise<DomainList> {
    const rows = await this.#options.store.read.domains.byAccount(account.id)
    return { domains: await Promise.all(rows.map((row) => this.#record(row))) }
  }

  async find(account: AccountRow, typed: string): Promise<DomainRecord> {
    const row = await this.#options.store.read.domains.find(account.id, await this.#read(typed))
    if (!row) throw noSuchDomain()
    return this.#record(row)
  }

  /** DOMAIN_LIMIT_REACHED beyond the plan, DOMAIN_TAKEN when it is active, or already there. */
  async add(account: AccountRow, typed: string, slug: string): Promise<DomainRecord> {
    const { store, clock } = this.#options
    const domain = await this.#read(typed)
    const row = await store.write('durable', async (tx) => {
      const now = clock()
      ownedSite(await tx.sites.bySlug(slug), account, now)
      const mine = await tx.domains.find(account.id, domain)
      if (mine)
        throw new Failure(
          'DOMAIN_TAKEN',
          `You have ${domain} already, on the site ${mine.slug}; remove it there first`,
        )
      if (await tx.domains.active(domain))
        throw new Failure('DOMAIN_TAKEN', `${domain} is active for another account`)
      const allowed = DOMAINS_ALLOWED[account.plan]
      if ((await tx.domains.count(account.id)) >= allowed) {
        const sentence = `The ${account.plan} plan has room for ${allowed} custom domain${allowed === 1 ? '' : 's'}, all in use`
        throw new Failure('DOMAIN_LIMIT_REACHED', sentence)
      }
      const row: DomainRow = {
        domain,
        account_id: account.id,
        slug,
        status: 'pending',
        proof: `slipway-${randomBytes(16).toString('hex')}`,
        reason: null,
        created_at: now,
        verified_at: null,
        checked_at: null,
        primary_domain: null,
        found: null,
        proven_since: null,
        failing_since: null,
        next_check_at: now,
      }
      await tx.domains.insert(row)
      return row
    })
    return this.#record(row)
  }

  async remove(account: AccountRow, typed: string): Promise<DeleteDomainAnswer> {
    const domain = await this.#read(typed)
    await this.#options.store.write('durable', async (tx) => {
      const row = await tx.domains.find(account.id, domain)
      if (!row) throw noSuchDomain()
      await tx.domains.remove(account.id, domain)
      await tx.changed(row.slug)
    })
    return { domain, deleted: true }
  }

  async #read(typed: string): Promise<string> {
    const { siteDomain, proxyHost, baseUrl } = this.#options
    const { parse } = await import('tldts')
    const domain = domainToASCII(typed.trim().replace(/\.$/, '').toLowerCase())
    const refuse = (message: string) => invalid([{ field: 'domain', message }])
    // Of an address, `domainToASCII` would take the host and drop the rest.
    if (/[/?#\\]/.test(typed) || !isHostName(domain))
      throw refuse('must be a host name such as www.example.com')
    const parsed = parse(domain, { allowPrivateDomains: true })
    if (parsed.isIp) throw refuse('must be a host name, not an IP address')
    if (!domain.includes('.')) throw refuse('must have at least two labels, such as example.com')
    if (parsed.domain === null) throw refuse(`must be a name of your own; ${domain} is a public suffix`)
    const own = [siteDomain, proxyHost, new URL(baseUrl).hostname]
    if (own.some((name) => domain === name || domain.endsWith(`.${name}`))) {
      throw refuse('must be a name of your own, not one of this service')
    }
    return domain
  }

  async #record(row: DomainRow): Promise<DomainRecord> {
    const { proxyHost } = this.#options
    const { parse } = await import('tldts')
    const { subdomain } = parse(row.domain, { allowPrivateDomains: true })
    return {
      domain: row.domain,
      siteSlug: row.slug,
      status: row.status,
      records: [
        { type: subdomain ? 'CNAME' : 'ALIAS', name: subdomain || '@', value: proxyHost, found: null },
        {
          type: 'TXT',
          name: subdomain ? `_slipway.${subdomain}` : '_slipway',
          value: row.proof,
          found: null,
        },
      ],
      reason: row.status === 'pending' ? (row.reason ?? 'Waiting for both DNS records to be entered') : null,
      redirectsTo: row.primary_domain,
      alternate: null,
      certificate: { status: 'none', expiresAt: null, renewsAt: null, problem: null },
      createdAt: iso(row.created_at),
      verifiedAt: isoOrNull(row.verified_at),
      checkedAt: isoOrNull(row.checked_at),
      nextCheckAt: isoOrNull(row.next_check_at),
    }
  }
}

/** RFC 1123, 2.1: labels of letters, digits and hyphens, 63 characters each and 253 together. */
function isHostName(name: string): boolean {
  return name.length <= 253 && /^(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*$/.test(name)
}

function noSuchDomain(): Failure {
  return new Failure('NOT_FOUND', 'There is no such domain in this account')
}
