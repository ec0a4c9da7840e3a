import { planLimits } from '../account.schema.ts'
import { fileLimits } from '../publish.schema.ts'
import { bool, constant, either, integer, list, named, object, type Static, text } from '../schema.ts'

const quota = (description: string) =>
  object({ bytes: integer('Bytes'), sites: integer('Sites') }, {}, { description })
/** Who can create an account. Sign-in of existing accounts is never limited. */
const signUp = either(
  'SignUpPolicy',
  object({ kind: text('Everyone, with an invitation, or none', { enum: ['open', 'invitation', 'closed'] }) }),
  object({
    kind: constant('domains', 'Addresses of these domains'),
    domains: list(text('A domain'), 'The domains'),
  }),
)
export type SignUpPolicy = Static<typeof signUp>

export const policies = named('Policies', {
  signUp,
  anonymous: object({
    isPermitted: bool('Whether sites can be published without an account'),
    lifetimeSeconds: integer('Lifetime of a site without an account'),
    limits: fileLimits,
    total: quota('What all sites without an account may hold'),
    network: quota('What those that one network published may hold'),
  }),
  plans: list(
    object({ id: text('The plan'), name: text('Its name, for people'), limits: planLimits }),
    'The plans of the settings, `free` first',
  ),
})
export type Policies = Static<typeof policies>
