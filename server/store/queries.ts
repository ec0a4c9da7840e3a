import type { Kysely } from 'kysely'
import { SqlAccountQueries } from './queries/accounts.ts'
import { acmeQueries } from './queries/authorities.ts'
import { blobReferenceQueries } from './queries/blob-names.ts'
import { certificateQueries } from './queries/certificates.ts'
import { counterQueries } from './queries/counters.ts'
import { domainQueries } from './queries/domains.ts'
import { encodingQueries } from './queries/encodings.ts'
import { leaseQueries } from './queries/leases.ts'
import { SqlSignInQueries } from './queries/sign-ins.ts'
import { siteQueries } from './queries/sites.ts'
import { ticketKeysOver } from './queries/ticket-keys.ts'
import { versionQueries } from './queries/versions.ts'
import { visitQueries } from './queries/visits.ts'
import type { Schema } from './schema.ts'
import type { Queries } from './store.ts'

/** The queries for every SQL engine, over a connection or a transaction. */
export function createQueries(db: Kysely<Schema>): Queries {
  return {
    accounts: new SqlAccountQueries(db),
    signIns: new SqlSignInQueries(db),
    sites: siteQueries(db),
    versions: versionQueries(db),
    blobReferences: blobReferenceQueries(db),
    encodings: encodingQueries(db),
    domains: domainQueries(db),
    certificates: certificateQueries(db),
    acme: acmeQueries(db),
    counters: counterQueries(db),
    leases: leaseQueries(db),
    visits: visitQueries(db),
    ticketKeys: ticketKeysOver(db),
  }
}
