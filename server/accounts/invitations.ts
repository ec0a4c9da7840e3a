import type { Invitation as ListedInvitation } from '../../protocol/api/admin/invitations.schema.ts'
import type { AdminPage } from '../../protocol/api/admin/page.schema.ts'
import type { SignUpPolicy } from '../../protocol/api/admin/policies.schema.ts'
import { Component } from '../lib/component.ts'
import { ApiError, invalidField } from '../lib/errors.ts'
import { DAY_MS, toIso } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { Queries } from '../store/queries.ts'
import type { Invitation } from '../store/tables/accounts.ts'
import type { AuditActor } from '../store/tables/administration.ts'
import { readEmail } from './email-address.ts'
import { invitationEmail } from './emails.ts'

export const INVITATION_DAYS = 14

const INVITATION_LIFETIME_MS = INVITATION_DAYS * DAY_MS

/** An invitation counts unless sign-up is closed. */
export async function maySignUp(
  queries: Pick<Queries, 'invitations'>,
  policy: SignUpPolicy,
  { email, now }: { email: string; now: number },
): Promise<boolean> {
  if (policy.kind === 'open') return true
  if (policy.kind === 'closed') return false
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (policy.kind === 'domains' && policy.domains.includes(domain)) return true
  return (await queries.invitations.find(email, now)) !== undefined
}

type InvitationsParts = Pick<Parts, 'store' | 'mail' | 'baseUrl' | 'branding' | 'clock'> & {
  policy: SignUpPolicy
}

export class Invitations extends Component<InvitationsParts> {
  /** Also invites an address again. VALIDATION_ERROR when it has an account, or with sign-up closed. */
  async invite(actor: AuditActor, typed: string): Promise<ListedInvitation> {
    const { store, mail, policy, baseUrl, branding, clock } = this.parts
    const email = readEmail(typed)
    if (policy.kind === 'closed')
      throw invalidField('email', 'cannot be invited while sign-up is closed: SLIPWAY_SIGN_UP')
    const now = clock()
    const invitation: Invitation = {
      email,
      invitedBy: actor.accountId,
      createdAt: now,
      expiresAt: now + INVITATION_LIFETIME_MS,
    }
    await store.write('durable', { address: email }, async (tx) => {
      if (await tx.accounts.byEmail(email)) throw invalidField('email', 'already has an account')
      await tx.rows.put('invitations', invitation)
      await tx.audit.add({ at: now, actor, action: 'invitation.add', target: email })
    })
    await mail.send(invitationEmail({ to: email, days: INVITATION_DAYS, baseUrl, branding }))
    return toListed(invitation)
  }

  /** NOT_FOUND when the address is not invited. */
  async revoke(actor: AuditActor, typed: string): Promise<{ email: string }> {
    const { store, clock } = this.parts
    const email = readEmail(typed)
    await store.write('durable', { address: email }, async (tx) => {
      if (!(await tx.rows.remove('invitations', { email })))
        throw new ApiError('NOT_FOUND', `${email} is not invited`)
      await tx.audit.add({ at: clock(), actor, action: 'invitation.remove', target: email })
    })
    return { email }
  }

  /** In the order of addresses, without expired ones. */
  async list(page: { limit: number; cursor?: string | undefined }): Promise<AdminPage<ListedInvitation>> {
    const { store, clock } = this.parts
    const { limit, cursor: after = '' } = page
    const found = await store.read.invitations.list(clock(), { after, limit: limit + 1 })
    const rows = found.slice(0, limit).map(toListed)
    return { rows, nextCursor: found.length > limit ? rows.at(-1)!.email : null }
  }
}

function toListed({ email, createdAt, expiresAt }: Invitation): ListedInvitation {
  return { email, createdAt: toIso(createdAt), expiresAt: toIso(expiresAt) }
}
