import { email } from '../fields.schema.ts'
import { named, object, type Static, time } from '../schema.ts'
import { page, pageQuery } from './page.schema.ts'

/** An address that may create an account. */
export const invitation = named('Invitation', {
  email,
  createdAt: time('When it was sent'),
  expiresAt: time('Until when it is valid'),
})
export type Invitation = Static<typeof invitation>

export const invitationPage = page('InvitationPage', invitation, 'In the order of the addresses')
export type InvitationPage = Static<typeof invitationPage>

export const invitationRequest = named('InvitationRequest', { email })
export type InvitationRequest = Static<typeof invitationRequest>

export const revokedInvitation = named('RevokedInvitation', { email })
export const invitationQuery = object({}, pageQuery)
