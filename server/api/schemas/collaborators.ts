import { bool, list, named, object, text, time } from './schema.ts'
import { slug } from './site.ts'

const email = text('Email address', { maxLength: 254 })

export const collaboratorRequest = named('CollaboratorRequest', object({ email }))
export const collaborator = named('Collaborator', object({ email, addedAt: time('When it was added') }))
export const collaboratorList = named(
  'CollaboratorList',
  object({
    slug,
    ownerEmail: text('The address of the owner'),
    collaborators: list(collaborator, 'In the order in which they were added'),
  }),
)
export const removeCollaboratorResponse = named(
  'RemovedCollaborator',
  object({ slug, email, removed: bool('Always true') }),
)
