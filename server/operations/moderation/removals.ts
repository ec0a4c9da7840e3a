import { requireAccountOf } from '../../accounts/administrators.ts'
import { parseHostName } from '../../domains/name.ts'
import { type DomainCertificates, removeDomain, writeWithDomains } from '../../domains/status.ts'
import { Component } from '../../lib/component.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Parts } from '../../parts.ts'
import { deleteRest, deleteSite } from '../../sites/trash.ts'
import type { Queries } from '../../store/queries.ts'
import type { WriteTransaction } from '../../store/store.ts'
import type { Account } from '../../store/tables/accounts.ts'
import { type AuditActor, COMMAND_LINE } from '../../store/tables/administration.ts'
import { requirePresentSite } from './moderated-sites.ts'
import { notify } from './suspensions.ts'

interface RemovalsParts extends Pick<Parts, 'store' | 'clock'> {
  certificates?: DomainCertificates | undefined
  accountDeletion: {
    deleteAccount(account: Account, typed: string, removal: AccountRemoval): Promise<unknown>
  }
}

/** Of an operator; `record` adds to the write that closes the account. */
export interface AccountRemoval {
  reason: string
  /** Whether the service may have no administrator afterwards. */
  mayBeLast: boolean
  record(tx: WriteTransaction): Promise<void>
}

/** What operators take away permanently; the reason is in the audit log and in an email to the owner. */
export class Removals extends Component<RemovalsParts> {
  /** Also from the trash. NOT_FOUND. */
  async deleteSite(actor: AuditActor, slug: string, reason: string): Promise<{ slug: string }> {
    const { store, clock, certificates } = this.parts
    const find = ({ domains }: Queries) => domains.bySite(slug)
    await writeWithDomains(store, { scope: { site: slug }, find }, async (tx) => {
      const now = clock()
      const { title, ownerId } = await requirePresentSite(tx, slug)
      await deleteSite(tx, slug, 'deleted', now, certificates)
      const event = { kind: 'site-removed', slug, title, reason } as const
      await notify(tx, { accountId: ownerId, subject: slug, event, now })
      await tx.audit.add({ at: now, actor, action: 'site.delete', target: slug, details: { reason } })
    })
    await deleteRest(this.parts, slug)
    return { slug }
  }

  /** Any account can add the domain again, also one that was removed and is reserved. NOT_FOUND. */
  async releaseDomain(actor: AuditActor, typed: string, reason: string): Promise<{ domain: string }> {
    const { store, clock, certificates } = this.parts
    const domain = parseHostName(typed)
    const find = async ({ domains }: Queries) =>
      (await domains.active(domain)) ?? (await domains.reservation(domain, clock()))
    for (let isReleased = false; !isReleased; ) {
      const account = (await find(store.read))?.accountId
      if (account === undefined)
        throw new ApiError('NOT_FOUND', `No site has the domain ${domain}, and no account has it reserved`)
      isReleased = await store.write('durable', { host: domain, account }, async (tx) => {
        const now = clock()
        const held = await find(tx)
        if (held?.accountId !== account) return false
        if ('slug' in held) {
          await removeDomain(tx, held, now, certificates)
          const event = { kind: 'domain-released', domain, slug: held.slug, reason } as const
          await notify(tx, { accountId: account, subject: domain, event, now })
        }
        await tx.rows.remove('held_domains', { domain })
        await tx.audit.add({ at: now, actor, action: 'domain.release', target: domain, details: { reason } })
        return true
      })
    }
    return { domain }
  }

  /** Also deletes all of its sites. LAST_ADMINISTRATOR, except for the command line. See `requireAccountOf`. */
  async deleteAccount(actor: AuditActor, target: string, reason: string): Promise<{ email: string }> {
    const { store, clock, accountDeletion } = this.parts
    const account = await requireAccountOf(store.read, target)
    const { email } = account
    await accountDeletion.deleteAccount(account, email, {
      ...{ reason, mayBeLast: actor === COMMAND_LINE },
      record: (tx) =>
        tx.audit.add({ at: clock(), actor, action: 'account.delete', target: email, details: { reason } }),
    })
    return { email }
  }
}
