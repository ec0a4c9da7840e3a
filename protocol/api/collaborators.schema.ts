import { email, slug } from './fields.schema.ts'
import { constant, list, named, type Static, text, time } from './schema.ts'

export const collaboratorRequest = named('CollaboratorRequest', { email })

/** The account of this address may publish to a site. */
export const collaborator = named('Collaborator', { email, addedAt: time('When it was added') })
export type Collaborator = Static<typeof collaborator>

export const collaboratorList = named('CollaboratorList', {
  slug,
  ownerEmail: text('The address of the owner'),
  collaborators: list(collaborator, 'In the order in which they were added'),
})
export type CollaboratorList = Static<typeof collaboratorList>

export const removeCollaboratorResponse = named('RemovedCollaborator', {
  slug,
  email,
  removed: constant(true, 'Always true'),
})
export type RemoveCollaboratorResponse = Static<typeof removeCollaboratorResponse>
