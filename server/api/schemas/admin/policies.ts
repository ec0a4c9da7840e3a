import { planLimits } from '../account.ts'
import { bool, integer, list, named, object, type Schema, text } from '../schema.ts'

const quota = (description: string) =>
  object({ bytes: integer('Bytes'), sites: integer('Sites') }, {}, { description })
const signUp: Schema = object(
  {
    kind: text('Who can create an account', { enum: ['open', 'invitation', 'domains', 'closed'] }),
  },
  { domains: list(text('A domain'), 'Of `domains`') },
)

export const policies = named(
  'Policies',
  object({
    signUp,
    anonymous: object({
      isPermitted: bool('Whether sites can be published without an account'),
      lifetimeSeconds: integer('Lifetime of a site without an account'),
      limits: object(
        { files: integer('Files'), fileBytes: integer('Largest file'), siteBytes: integer('Largest site') },
        {},
        { description: 'Of one site' },
      ),
      total: quota('What all sites without an account may hold'),
      network: quota('What those that one network published may hold'),
    }),
    plans: list(
      object({ id: text('The plan'), name: text('Its name, for people'), limits: planLimits }),
      'The plans of the settings, `free` first',
    ),
  }),
)
