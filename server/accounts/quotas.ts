import { shortenAddress } from '../../packages/http-server/clients/client-ip.ts'
import type { QuotaDetails, QuotaName } from '../../protocol/api/errors.schema.ts'
import { formatBytes, formatCountLimit, formatLimit, formatNumber, pluralize } from '../../protocol/format.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { DAY_MS } from '../lib/time.ts'
import { type Secrets, Signer } from '../lib/tokens.ts'
import type { Queries } from '../store/queries.ts'
import type { Store, WriteScope, WriteTransaction } from '../store/store.ts'
import type { Site } from '../store/tables/sites.ts'
import { ANONYMOUS, accountHolder, type Holding, networkHolder } from '../store/tables/usage.ts'
import type { Plans } from './plans.ts'

export type SiteHolder = Pick<Site, 'ownerId' | 'network'>

export interface Charge extends Holding {
  versionId?: string
}

interface QuotasOptions {
  plans: Plans
  anonymous: { total: Holding; network: Holding }
  secret: Secrets
  clock: () => number
  log: Log
}

interface Quota {
  holder: string
  limits: Holding
  names: Record<keyof Holding, QuotaName>
  subject: string
}

/** Parts of a limit at which its account is notified. */
const REPORTED_PERCENTS = [100, 80] as const

export class Quotas extends Component<QuotasOptions> {
  readonly #networks = new Signer(this.parts.secret, 'networks of anonymous sites')

  /** Hashed with a key of the service, so that the store keeps no addresses. */
  hashNetwork(address: string): string {
    return this.#networks.sign([shortenAddress(address)])
  }

  /** Durable. When the quota of an account refuses it, notifies the account, at most once a day for each quota. */
  async write<T>(store: Store, scope: WriteScope, work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    try {
      return await store.write('durable', scope, work)
    } catch (error) {
      if (error instanceof AccountQuotaError)
        await this.#noticeRefusal(store, error).catch((failure: unknown) =>
          this.parts.log.warn('an account is not notified of its quota', {
            account: error.accountId,
            error: failure,
          }),
        )
      throw error
    }
  }

  /** Within `write`, after its other changes. QUOTA_EXCEEDED when a part that grows would exceed its limit. */
  async charge(tx: WriteTransaction, site: SiteHolder, change: Charge): Promise<void> {
    if (isNothing(site, change)) return
    for (const quota of await this.#listQuotas(tx, site)) {
      const used = await tx.usage.add(quota.holder, change, quota.limits)
      if (!used) throw await quotaExceeded(tx, quota, { change, ownerId: site.ownerId })
      if (site.ownerId !== null)
        await this.#noticeUse(tx, site.ownerId, { used, change, limits: quota.limits })
    }
  }

  /**
   * QUOTA_EXCEEDED when the network of an anonymous site, or all of them, have no room for what they send, as known before
   * a write. An account may have these contents already, or send them twice: UNAVAILABLE when it sends more at the same
   * time than twice its limit, or twice the largest site.
   */
  async assertRoom(
    read: Queries,
    site: SiteHolder,
    { sent, siteBytes }: { sent: ReadonlyMap<string, number>; siteBytes: number },
  ): Promise<void> {
    const { ownerId } = site
    for (const quota of await this.#listQuotas(read, site)) {
      const change = { bytes: sent.get(quota.holder) ?? 0, sites: 0 }
      if (ownerId !== null) {
        const limit = 2 * Math.max(quota.limits.bytes, siteBytes)
        if (change.bytes > limit) throw tooMuchAtOnce(limit)
      } else if (exceededPart(await read.usage.find(quota.holder), change, quota.limits))
        throw await quotaExceeded(read, quota, { change, ownerId })
    }
  }

  /** One notice for each part and limit. */
  async #noticeUse(
    tx: WriteTransaction,
    accountId: string,
    { used, change, limits }: Record<'used' | 'change' | 'limits', Holding>,
  ): Promise<void> {
    for (const part of ['sites', 'bytes'] as const) {
      const limit = limits[part]
      const before = used[part] - change[part]
      const percent = REPORTED_PERCENTS.find((one) => {
        const threshold = (limit * one) / 100
        return before < threshold && used[part] >= threshold
      })
      if (percent === undefined || limit === 0) continue
      const event = { kind: 'limit-reached', part, percent, used: used[part], limit } as const
      const id = `limit-reached ${accountId} ${part} ${percent} ${limit}`
      await tx.notices.add({ id, accountId, event, createdAt: this.parts.clock() })
    }
  }

  /** The refused write has left nothing behind. */
  async #noticeRefusal(store: Store, { accountId, details }: AccountQuotaError) {
    const { quota, used, limit } = details
    const createdAt = this.parts.clock()
    const part = quota === 'account-sites' ? 'sites' : 'bytes'
    const event = { kind: 'limit-reached', part, percent: 100, used, limit, refused: true } as const
    const id = `limit-reached ${accountId} ${part} refused ${Math.floor(createdAt / DAY_MS)}`
    await store.execute('relaxed', ({ notices }) => notices.add({ id, accountId, event, createdAt }))
  }

  /** The row of all anonymous sites comes last: most writes wait for it. */
  async #listQuotas(queries: Queries, { ownerId, network }: SiteHolder): Promise<Quota[]> {
    const { plans, anonymous } = this.parts
    if (ownerId !== null)
      return [
        {
          holder: accountHolder(ownerId),
          limits: await plans.limitsOfOwner(queries, ownerId),
          names: { bytes: 'account-bytes', sites: 'account-sites' },
          subject: 'The account',
        },
      ]
    if (network === null) return []
    return [
      {
        holder: networkHolder(network),
        limits: anonymous.network,
        names: { bytes: 'network-bytes', sites: 'network-sites' },
        subject: 'Your network without an account',
      },
      {
        holder: ANONYMOUS,
        limits: anonymous.total,
        names: { bytes: 'anonymous-bytes', sites: 'anonymous-sites' },
        subject: 'This server for sites without an account',
      },
    ]
  }
}

export function holdersOf({ ownerId, network }: SiteHolder): string[] {
  if (ownerId !== null) return [accountHolder(ownerId)]
  return network === null ? [] : [networkHolder(network), ANONYMOUS]
}

/** Within a write: subtracts what the holders no longer have. */
export async function releaseHolding(tx: WriteTransaction, site: SiteHolder, change: Holding): Promise<void> {
  if (isNothing(site, change)) return
  for (const holder of holdersOf(site))
    await tx.usage.add(holder, { bytes: -change.bytes, sites: -change.sites })
}

/** Of an account never: which of its sites has a content first may have changed, so that a recount begins again. */
function isNothing({ ownerId }: SiteHolder, { bytes, sites }: Holding): boolean {
  return ownerId === null && bytes === 0 && sites === 0
}

function exceededPart(used: Holding, change: Holding, limits: Holding): keyof Holding | undefined {
  return (['sites', 'bytes'] as const).find(
    (part) => change[part] > 0 && used[part] + change[part] > limits[part],
  )
}

async function quotaExceeded(
  queries: Queries,
  { holder, limits, names, subject }: Quota,
  { change, ownerId }: { change: Charge; ownerId: string | null },
): Promise<ApiError> {
  const usage = await queries.usage.find(holder)
  const part = exceededPart(usage, change, limits) ?? 'bytes'
  const [limit, used, requested] = [limits[part], usage[part], change[part]]
  const freeable =
    ownerId === null ? undefined : await queries.usage.countFreeable(ownerId, change.versionId ?? '')
  const details: QuotaDetails = { quota: names[part], limit, used, requested, ...freeable }
  const message =
    part === 'sites'
      ? `${subject} has ${formatNumber(used)} of ${formatCountLimit(limit, 'site')}`
      : `${subject} has ${formatBytes(used)} of ${formatLimit(limit)}, and this needs ${formatBytes(requested)} more`
  return ownerId === null
    ? new ApiError('QUOTA_EXCEEDED', message, { details, hint: describeRoom(details) })
    : new AccountQuotaError(message, ownerId, details)
}

function tooMuchAtOnce(limit: number): ApiError {
  const sentence = `The archives of the account that are being received have more than ${formatBytes(limit)}. Send this one when they have arrived.`
  return new ApiError('UNAVAILABLE', sentence, { retryAfterSeconds: 60 })
}

export class AccountQuotaError extends ApiError {
  readonly accountId: string
  declare readonly details: QuotaDetails

  constructor(message: string, accountId: string, details: QuotaDetails) {
    super('QUOTA_EXCEEDED', message, { details, hint: describeRoom(details) })
    this.accountId = accountId
  }

  /** For callers that are not the owner of the account: they do not see its trash. */
  forOthers(): ApiError {
    const { quota, limit, used, requested } = this.details
    return new ApiError(this.code, this.message.replace('The account', "The owner's account"), {
      details: { quota, limit, used, requested },
      hint: 'Ask the owner of the site to delete what is no longer needed, or the administrator for a higher limit.',
    })
  }
}

function describeRoom({ trashedSites, pendingVersions }: QuotaDetails): string {
  if (trashedSites === undefined || pendingVersions === undefined)
    return 'Sign in and publish to an account, or try again when earlier sites without an account have expired.'
  const counted = [
    ...(trashedSites > 0 ? [`${pluralize(trashedSites, 'site')} in the trash`] : []),
    ...(pendingVersions > 0 ? [`${pluralize(pendingVersions, 'unfinished upload')}`] : []),
  ]
  const also = counted.length === 0 ? '' : ` Also counted: ${counted.join(' and ')}.`
  return `Delete sites permanently, previews or earlier versions, or ask the administrator for a higher limit.${also}`
}
