import type { DeleteAccountResponse } from '../../protocol/api/account.schema.ts'
import { administratorScope, assertNotLast } from '../accounts/administrators.ts'
import { assertAccountNotSuspended } from '../accounts/authorization.ts'
import { readEmail } from '../accounts/email-address.ts'
import { counterKeys } from '../accounts/rate-limits.ts'
import { type DomainCertificates, writeWithDomains } from '../domains/status.ts'
import { Component } from '../lib/component.ts'
import { ApiError, invalidField } from '../lib/errors.ts'
import type { AccountRemoval } from '../operations/moderation/removals.ts'
import type { Parts } from '../parts.ts'
import { endReviewsOf } from '../sites/reviews/access.ts'
import { deleteSite } from '../sites/trash.ts'
import type { Queries } from '../store/queries.ts'
import { deleteInSteps, type Store, type WriteTransaction } from '../store/store.ts'
import type { Account } from '../store/tables/accounts.ts'
import { accountHolder } from '../store/tables/usage.ts'
import { listDue, processEach } from './process-each.ts'

/** Sites per write, so that none holds the store for long. */
const SITES_PER_TRANSACTION = 25
const FILES_PER_TRANSACTION = 2000
const RECORDS_PER_TRANSACTION = 100

type AccountDeletionParts = Pick<Parts, 'store' | 'clock'> & { certificates?: DomainCertificates | undefined }

/** Ends the sign-in, then the sites, then the account, durably: any process can resume after a crash. */
export class AccountDeletion extends Component<AccountDeletionParts> {
  /**
   * VALIDATION_ERROR unless `typed` is the address of the account, LAST_ADMINISTRATOR for the only administrator of the
   * service, ACCOUNT_SUSPENDED for a suspended one without a `removal`. Returns when all is deleted.
   */
  async deleteAccount(
    account: Account,
    typed: string,
    removal?: AccountRemoval,
  ): Promise<DeleteAccountResponse> {
    const { store, clock } = this.parts
    if (readEmail(typed) !== account.email)
      throw invalidField('email', 'must be the email address of the account to delete')
    const scope = { ...administratorScope(account), address: account.email }
    await store.write('durable', scope, async (tx) => {
      const current = await tx.accounts.find(account.id)
      // Its address could create an account again, which would not be suspended.
      if (current && !removal) assertAccountNotSuspended(current)
      if (!removal?.mayBeLast) await assertNotLast(tx, account)
      if (current?.deletionStartedAt === null) {
        const [at, reason] = [clock(), removal?.reason ?? null]
        const event = { kind: 'account-deleted', to: account.email, at, reason } as const
        const id = `account-deleted ${account.id}`
        await tx.notices.add({ id, accountId: account.id, event, createdAt: at })
      }
      await tx.accounts.markBeingDeleted(account.id, clock())
      await tx.signIns.deleteSessions(account.id)
      await tx.signIns.removeAddress(account.email)
      await removal?.record(tx)
    })
    try {
      await this.#deleteInSteps(account.id, store)
    } catch (cause) {
      const sentence = 'The account is closed. The rest of its data will be deleted within minutes.'
      throw new ApiError('UNAVAILABLE', sentence, { cause, retryAfterSeconds: 60, details: { closed: true } })
    }
    return { email: account.email, deleted: true }
  }

  /** For a job with its store; returns how many deletions were completed. */
  async resume(store: Store): Promise<number> {
    const find = async (limit: number) => (await store.read.accounts.beingDeleted(limit)).map(({ id }) => id)
    return processEach(listDue(find), async (id) => {
      await this.#deleteInSteps(id, store)
      return 1
    })
  }

  async #deleteInSteps(id: string, store: Store): Promise<void> {
    await deleteInSteps(store, ({ oauth }) => oauth.deleteOfAccount(id, RECORDS_PER_TRANSACTION))
    while (!(await this.#deleteNext(id, store)));
  }

  /** Deletes some of the sites, or the account when it has none left; returns whether the account is deleted. */
  async #deleteNext(id: string, store: Store): Promise<boolean> {
    const { clock, certificates } = this.parts
    const slugs = await store.read.sites.listFirstHeld(id, SITES_PER_TRANSACTION)
    const scope = { account: id, site: slugs }
    const find = ({ domains }: Queries) => domains.byAccount(id)
    return writeWithDomains(store, { scope, find }, async (tx) => {
      const account = await tx.accounts.find(id)
      // Another process has completed it.
      if (!account || account.deletionStartedAt === null) return true
      const remaining = await tx.sites.listFirstHeld(id, SITES_PER_TRANSACTION)
      if (remaining.length === 0) await deleteEmptyAccount(tx, account, clock())
      let files = 0
      for (const slug of remaining.filter((one) => slugs.includes(one)))
        if (files < FILES_PER_TRANSACTION)
          files += await deleteSite(tx, slug, 'deleted', clock(), certificates)
      return remaining.length === 0
    })
  }
}

async function deleteEmptyAccount(tx: WriteTransaction, account: Account, now: number): Promise<void> {
  // Reservations protect a returning owner; this one does not return.
  await tx.domains.releaseReservations(account.id)
  await tx.notices.deleteOfAccount(account.id)
  for (const slug of await tx.collaborators.removeEmail(account.email))
    await endReviewsOf(tx, account, { slug, now })
  for (const key of counterKeys(account.id)) await tx.counters.delete(key)
  await tx.rows.remove('usage', { holder: accountHolder(account.id) })
  await tx.rows.remove('accounts', { id: account.id })
}
