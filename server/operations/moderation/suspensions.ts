import type { SuspensionRequest } from '../../../protocol/api/admin/moderation.schema.ts'
import { noAccount, requireAccountOf } from '../../accounts/administrators.ts'
import { endFrames } from '../../accounts/review-frames.ts'
import { Component } from '../../lib/component.ts'
import type { Parts } from '../../parts.ts'
import { assertStorable } from '../../sites/site-metadata.ts'
import type { WriteTransaction } from '../../store/store.ts'
import type { Account, Suspension } from '../../store/tables/accounts.ts'
import type { AuditActor } from '../../store/tables/administration.ts'
import type { NoticeEvent } from '../../store/tables/notices.ts'
import type { Site } from '../../store/tables/sites.ts'
import { requirePresentSite } from './moderated-sites.ts'

/** One write locks, and invalidates the caches of, this many sites. */
const SITES_PER_WRITE = 100

/** One durable write with its audit entry; repeating it changes the reason. Nodes apply it with the invalidation. */
export class Suspensions extends Component<Pick<Parts, 'store' | 'clock'>> {
  /** Suspends a site, whose open reports are then acted on; without a statement ends that. NOT_FOUND. */
  async changeSite(
    actor: AuditActor,
    slug: string,
    statement?: SuspensionRequest,
  ): Promise<{ slug: string }> {
    await this.parts.store.write('durable', { site: slug }, async (tx) => {
      const now = this.parts.clock()
      const site = await requirePresentSite(tx, slug)
      if (!statement && !site.suspension) return
      await tx.sites.update(slug, { suspension: toSuspension(statement, site, now) })
      await tx.notifyChanged(slug)
      if (statement) await tx.reports.markActed([site.visitsKey], now)
      const { title, ownerId } = site
      const kind = statement ? 'site-suspended' : 'site-resumed'
      const event = { kind, slug, title, reason: statement?.reason ?? null } as const
      await notify(tx, { accountId: ownerId, subject: slug, event, now })
      const action = statement ? 'site.suspend' : 'site.resume'
      await tx.audit.add({ at: now, actor, action, target: slug, details: { ...statement } })
    })
    return { slug }
  }

  /**
   * Suspends an account: all of its sites are offline, also later ones, and open reports are acted on. Without a statement
   * ends that; sites that are suspended themselves stay so. See `requireAccountOf`.
   */
  async changeAccount(
    actor: AuditActor,
    target: string,
    statement?: SuspensionRequest,
  ): Promise<{ email: string }> {
    const found = await requireAccountOf(this.parts.store.read, target)
    const { email } = found
    await this.parts.store.write('durable', { account: found.id }, async (tx) => {
      const now = this.parts.clock()
      const account = await tx.accounts.find(found.id)
      if (!account) throw noAccount(email)
      if (!statement && !account.suspension) return
      await tx.accounts.update(account.id, { suspension: toSuspension(statement, account, now) })
      for (const slug of await tx.reviews.linkedSites(account.id)) await endFrames(tx, slug, now)
      const kind = statement ? 'account-suspended' : 'account-resumed'
      const event = { kind, reason: statement?.reason ?? null } as const
      await notify(tx, { accountId: account.id, subject: account.id, event, now })
      const action = statement ? 'account.suspend' : 'account.resume'
      await tx.audit.add({ at: now, actor, action, target: email, details: { ...statement } })
    })
    await this.#changeSitesOf(found, statement !== undefined)
    return { email }
  }

  /** After the write, so that an account with many sites does not hold the store; a repeated action completes it. */
  async #changeSitesOf({ id }: Account, isSuspended: boolean): Promise<void> {
    let after: { at: number; slug: string } | undefined
    do {
      const sites = await this.parts.store.read.sites.byOwner(id, { limit: SITES_PER_WRITE, after })
      const slugs = sites.map(({ slug }) => slug)
      await this.parts.store.write('durable', { site: slugs }, async (tx) => {
        for (const slug of slugs) await tx.notifyChanged(slug)
        const keys = sites.map(({ visitsKey }) => visitsKey)
        if (isSuspended) await tx.reports.markActed(keys, this.parts.clock())
      })
      const last = sites.length === SITES_PER_WRITE ? sites.at(-1) : undefined
      after = last && { at: last.createdAt, slug: last.slug }
    } while (after)
  }
}

/** A repeated suspension keeps its beginning. VALIDATION_ERROR. */
function toSuspension(
  statement: SuspensionRequest | undefined,
  { suspension }: Pick<Site, 'suspension'>,
  now: number,
): Suspension | null {
  if (!statement) return null
  assertStorable(statement)
  const { reason, publicReason = null, note = null } = statement
  return { reason, publicReason, note, since: suspension?.since ?? now }
}

/** Notifies the owner by email; anonymous sites have none. */
export async function notify(
  tx: WriteTransaction,
  notice: { accountId: string | null; subject: string; event: NoticeEvent; now: number },
): Promise<void> {
  const { accountId, subject, event, now } = notice
  if (accountId === null) return
  await tx.notices.add({ id: `${event.kind} ${subject} ${now}`, accountId, event, createdAt: now })
}
