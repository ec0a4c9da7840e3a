import { named, object, text, time } from '../schema.ts'
import { page, pageQuery } from './page.ts'

const email = text('Email address', { maxLength: 254 })

export const invitation = named(
  'Invitation',
  object({ email, createdAt: time('When it was sent'), expiresAt: time('Until when it is valid') }),
)
export const invitationPage = page('InvitationPage', invitation, 'In the order of the addresses')
export const invitationRequest = named('InvitationRequest', object({ email }))
export const revokedInvitation = named('RevokedInvitation', object({ email }))
export const invitationQuery = object({}, pageQuery)
