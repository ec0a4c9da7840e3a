import type {
  Collaborator,
  CollaboratorList,
  RemoveCollaboratorResponse,
} from '../../protocol/api/collaborators.schema.ts'
import { MAX_COLLABORATORS } from '../../protocol/api/sites.ts'
import { requireAccess } from '../accounts/authorization.ts'
import { readEmail } from '../accounts/email-address.ts'
import { countInWindow } from '../accounts/rate-limits.ts'
import { Component } from '../lib/component.ts'
import { ApiError, invalidField } from '../lib/errors.ts'
import { DAY_MS, toIso } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { WriteTransaction } from '../store/store.ts'
import type { Account } from '../store/tables/accounts.ts'
import type { Site } from '../store/tables/sites.ts'
import { endReviewsOf } from './reviews/access.ts'

/** Each invitation is an email to an address that the account chooses. */
const MAX_INVITATIONS_PER_DAY = 20

/** The accounts that may publish to a site beside its owner, by their verified addresses. */
export class Collaborators extends Component<Pick<Parts, 'store' | 'clock'>> {
  async list(account: Account, slug: string): Promise<CollaboratorList> {
    const { store, clock } = this.parts
    const { read } = store
    const { ownerId } = await requireAccess(read, 'read', { slug, account, now: clock() })
    const owner = await read.accounts.find(ownerId!)
    const found = await read.collaborators.bySite(slug)
    return { slug, ownerEmail: owner?.email ?? '', collaborators: found.map(toCollaborator) }
  }

  /** The address needs no account, and gets an email. Idempotent. RATE_LIMITED by day, COLLABORATOR_LIMIT_REACHED. */
  async add(account: Account, slug: string, typed: string): Promise<Collaborator> {
    const { store, clock } = this.parts
    const email = readEmail(typed)
    return store.write('durable', { site: slug, account: account.id }, async (tx) => {
      const now = clock()
      const site = await requireAccess(tx, 'manage', { slug, account, now })
      if (email === account.email) throw invalidField('email', 'is the address of the owner')
      const present = await tx.collaborators.bySite(slug)
      const known = present.find((collaborator) => collaborator.email === email)
      if (known) return toCollaborator(known)
      if (present.length >= MAX_COLLABORATORS) {
        const sentence = `A site can have at most ${MAX_COLLABORATORS} collaborators`
        throw new ApiError('COLLABORATOR_LIMIT_REACHED', sentence)
      }
      const added = { slug, email, addedAt: now }
      await tx.collaborators.add(added)
      await invite(tx, { account, site, email, now })
      return toCollaborator(added)
    })
  }

  /** Collaborators may remove themselves. Ends their review links and trusts, and their access by keys, with the lock of those. NOT_FOUND. */
  async remove(account: Account, slug: string, typed: string): Promise<RemoveCollaboratorResponse> {
    const { store, clock } = this.parts
    const email = readEmail(typed)
    await store.write('durable', { site: slug, address: email }, async (tx) => {
      const now = clock()
      const right = email === account.email ? 'read' : 'delete'
      const { visitsKey } = await requireAccess(tx, right, { slug, account, now })
      if (!(await tx.rows.remove('collaborators', { slug, email })))
        throw new ApiError('NOT_FOUND', 'The site has no collaborator with this address')
      const removed = await tx.accounts.byEmail(email)
      if (!removed) return
      await endReviewsOf(tx, removed, { slug, now })
      await tx.trusts.deleteOfSite(visitsKey, removed.id)
      await tx.keys.deleteOfSite(removed.id, visitsKey)
    })
    return { slug, email, removed: true }
  }
}

function toCollaborator({ email, addedAt }: { email: string; addedAt: number }): Collaborator {
  return { email, addedAt: toIso(addedAt) }
}

async function invite(
  tx: WriteTransaction,
  { account, site, email, now }: { account: Account; site: Site; email: string; now: number },
): Promise<void> {
  const { id: accountId, email: ownerEmail } = account
  const limit = { counter: `invitations:${accountId}`, windowMs: DAY_MS, max: MAX_INVITATIONS_PER_DAY, now }
  await countInWindow(tx, limit, `An account can invite ${MAX_INVITATIONS_PER_DAY} collaborators a day (UTC)`)
  const event = { kind: 'site-shared', slug: site.slug, ownerEmail, to: email } as const
  await tx.notices.add({ id: `site-shared ${site.slug} ${email} ${now}`, accountId, event, createdAt: now })
}
