import type { Kysely } from 'kysely'
import { accountsOver } from './queries/accounts.ts'
import { authoritiesOver } from './queries/authorities.ts'
import { blobNamesOver } from './queries/blob-names.ts'
import { certificatesOver } from './queries/certificates.ts'
import { countersOver } from './queries/counters.ts'
import { domainsOver } from './queries/domains.ts'
import { encodingsOver } from './queries/encodings.ts'
import { leasesOver } from './queries/leases.ts'
import { signInsOver } from './queries/sign-ins.ts'
import { sitesOver } from './queries/sites.ts'
import { versionsOver } from './queries/versions.ts'
import { visitsOver } from './queries/visits.ts'
import type { Schema } from './schema.ts'
import type { Queries } from './store.ts'

/** The queries, written once for every SQL engine, over a connection or a transaction. */
export function queriesOver(db: Kysely<Schema>): Queries {
  return {
    accounts: accountsOver(db),
    signIns: signInsOver(db),
    sites: sitesOver(db),
    versions: versionsOver(db),
    blobNames: blobNamesOver(db),
    encodings: encodingsOver(db),
    domains: domainsOver(db),
    certificates: certificatesOver(db),
    authorities: authoritiesOver(db),
    counters: countersOver(db),
    leases: leasesOver(db),
    visits: visitsOver(db),
  }
}
