import { bool, map, named, nullable, object, type Static, text, time } from '../schema.ts'
import { page, pageQuery } from './page.schema.ts'

/** A change that an administrator made. */
const entry = named(
  'AuditEntry',
  {
    id: text('Identifier of the entry'),
    at: time('When'),
    actor: text('The email address of the account at that time, or `command line`'),
    network: nullable(
      text('The network of the request: a /24 of IPv4 or a /48 of IPv6; null for the command line'),
    ),
    action: text('What was changed, a dot, and the verb, such as `site.suspend`'),
    target: text('A slug, an email address, a domain or another name'),
  },
  { details: map({}, 'Further facts') },
)

export type AuditEntry = Static<typeof entry>

export const auditPage = page('AuditPage', entry, 'Newest first')
export type AuditPage = Static<typeof auditPage>

export const auditQuery = object(
  {},
  { ...pageQuery, target: text('Only the entries of this target', { minLength: 1, maxLength: 300 }) },
)

export const administratorChange = named('AdministratorChange', {
  administrator: bool('Whether the account administers the service'),
})
export type AdministratorChange = Static<typeof administratorChange>
