import type { LeaveAnswer } from '../client/wire.ts'
import { readEmail } from './account.ts'
import type { Blobs } from './blobs/blobs.ts'
import type { DomainCertificates } from './domain/status.ts'
import { Failure, invalid } from './failure.ts'
import { callerOfAccount } from './limits/limits.ts'
import { endSite } from './site.ts'
import type { AccountRow } from './store/schema.ts'
import type { Store, Writing } from './store/store.ts'

/** What one write takes of an account that leaves, so that none holds the store for long. */
const SITES_AT_ONCE = 25
const FILES_AT_ONCE = 2000

const ACCOUNTS_AT_ONCE = 100

interface LeavingOptions {
  store: Store
  blobs: Blobs
  clock: () => number
  certificates?: DomainCertificates | undefined
}

/**
 * The end of an account. First nobody can sign in to it any more; then its sites go, some at a time; then it goes itself.
 * Each step is durable, so that whoever comes after a power cut can go on.
 */
export class Leaving {
  readonly #options: LeavingOptions

  constructor(options: LeavingOptions) {
    this.#options = options
  }

  /** Deletes everything of an account; answers when all is gone. VALIDATION_ERROR unless `typed` is its address. */
  async leave(account: AccountRow, typed: string): Promise<LeaveAnswer> {
    const { store, clock } = this.#options
    if (readEmail(typed) !== account.email)
      throw invalid([{ field: 'email', message: 'must be the address of the account that is to be deleted' }])
    await store.write('durable', async (tx) => {
      await tx.accounts.leave(account.id, clock())
      await tx.signIns.dropSessionsOf(account.id)
      await tx.signIns.dropCode(account.email)
      await tx.signIns.forgetFailures(account.email)
    })
    try {
      await this.#finish(account)
    } catch (cause) {
      const sentence = 'The account is closed, and what is left of it will be deleted within minutes'
      throw new Failure('UNAVAILABLE', sentence, { cause, retryAfterSeconds: 60 })
    }
    return { email: account.email, deleted: true }
  }

  /** Goes on with accounts whose end was interrupted; answers how many are gone by that. */
  async finish(): Promise<number> {
    const left = await this.#options.store.read.accounts.leaving(ACCOUNTS_AT_ONCE)
    const failures: unknown[] = []
    // One that cannot be finished keeps none of the others from it.
    for (const account of left) await this.#finish(account).catch((error: unknown) => failures.push(error))
    if (failures.length > 0) throw failures[0]
    return left.length
  }

  async #finish(account: AccountRow): Promise<void> {
    while (!(await this.#step(account)));
  }

  /** Ends some of the sites, or the account when it has none left; answers whether it is gone. */
  async #step({ id }: AccountRow): Promise<boolean> {
    const { store, blobs } = this.#options
    const { batches, gone } = await store.write('durable', async (tx) => {
      const account = await tx.accounts.byId(id)
      // Somebody else has finished it.
      if (!account || account.leaving_since === null) return { batches: [], gone: true }
      const batches = await this.#endSites(tx, account)
      if (batches === undefined) await forget(tx, account)
      return { batches: batches ?? [], gone: batches === undefined }
    })
    for (const batch of batches) await blobs.discard(batch)
    return gone
  }

  /** The uploads that are to be discarded after the commit; undefined when there was no site. */
  async #endSites(tx: Writing, account: AccountRow): Promise<string[] | undefined> {
    const { clock, certificates } = this.#options
    const sites = await tx.sites.byOwner(account.id, SITES_AT_ONCE)
    if (sites.length === 0) return undefined
    const batches: string[] = []
    let files = 0
    for (const { slug } of sites) {
      if (files >= FILES_AT_ONCE) break
      for (const version of await tx.versions.bySlug(slug)) files += version.file_count
      batches.push(...(await endSite(tx, slug, 'deleted', clock(), certificates)))
    }
    return batches
  }
}

async function forget(tx: Writing, account: AccountRow): Promise<void> {
  // Kept for whoever might come back; this one will not.
  await tx.domains.letGoOf(account.id)
  await tx.counters.drop(callerOfAccount(account.id))
  await tx.accounts.remove(account.id)
}
