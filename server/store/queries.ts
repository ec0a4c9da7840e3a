import type { Kysely } from 'kysely'
import { SqlAccountQueries } from './queries/accounts.ts'
import { SqlAcmeQueries } from './queries/acme.ts'
import { SqlActivityQueries } from './queries/activity.ts'
import { SqlAuditQueries } from './queries/audit.ts'
import { SqlBlobQueries } from './queries/blobs.ts'
import { SqlBlockQueries } from './queries/blocks.ts'
import { SqlCertificateQueries } from './queries/certificates.ts'
import { SqlCollaboratorQueries } from './queries/collaborators.ts'
import { SqlCounterQueries } from './queries/counters.ts'
import { SqlDeviceSignInQueries } from './queries/device-sign-ins.ts'
import { SqlDomainQueries } from './queries/domains.ts'
import { SqlFigureQueries } from './queries/figures.ts'
import { SqlInvitationQueries } from './queries/invitations.ts'
import { SqlJobCursorQueries } from './queries/job-cursors.ts'
import { SqlKeyQueries } from './queries/keys.ts'
import { SqlLeaseQueries } from './queries/leases.ts'
import { SqlNodeQueries } from './queries/nodes.ts'
import { SqlNoticeQueries } from './queries/notices.ts'
import { SqlOAuthQueries } from './queries/oauth.ts'
import { SqlOperatorSettingQueries } from './queries/operator-settings.ts'
import { SqlReferenceQueries } from './queries/references.ts'
import { SqlReportQueries } from './queries/reports.ts'
import { SqlScanQueries } from './queries/scans.ts'
import { SqlServingQueries } from './queries/serving.ts'
import { SqlSharedSettingQueries } from './queries/shared-settings.ts'
import { SqlSignInQueries } from './queries/sign-ins.ts'
import { SqlSiteQueries } from './queries/sites.ts'
import { SqlSweepRunQueries } from './queries/sweep-runs.ts'
import { SqlTicketKeyQueries } from './queries/ticket-keys.ts'
import { SqlTrustQueries } from './queries/trusts.ts'
import { SqlUsageQueries } from './queries/usage.ts'
import { SqlVersionQueries } from './queries/versions.ts'
import { SqlVisitQueries } from './queries/visits.ts'
import type { Schema } from './schema.ts'
import type { Queries } from './store.ts'

/** The queries for every SQL engine, over a connection or a transaction. */
export function createQueries(db: Kysely<Schema>): Queries {
  return {
    accounts: new SqlAccountQueries(db),
    keys: new SqlKeyQueries(db),
    deviceSignIns: new SqlDeviceSignInQueries(db),
    trusts: new SqlTrustQueries(db),
    signIns: new SqlSignInQueries(db),
    oauth: new SqlOAuthQueries(db),
    sites: new SqlSiteQueries(db),
    collaborators: new SqlCollaboratorQueries(db),
    versions: new SqlVersionQueries(db),
    serving: new SqlServingQueries(db),
    blobs: new SqlBlobQueries(db),
    domains: new SqlDomainQueries(db),
    certificates: new SqlCertificateQueries(db),
    acme: new SqlAcmeQueries(db),
    counters: new SqlCounterQueries(db),
    leases: new SqlLeaseQueries(db),
    jobCursors: new SqlJobCursorQueries(db),
    visits: new SqlVisitQueries(db),
    notices: new SqlNoticeQueries(db),
    blocks: new SqlBlockQueries(db),
    reports: new SqlReportQueries(db),
    scans: new SqlScanQueries(db),
    ticketKeys: new SqlTicketKeyQueries(db),
    sharedSettings: new SqlSharedSettingQueries(db),
    operatorSettings: new SqlOperatorSettingQueries(db),
    nodes: new SqlNodeQueries(db),
    references: new SqlReferenceQueries(db),
    usage: new SqlUsageQueries(db),
    invitations: new SqlInvitationQueries(db),
    audit: new SqlAuditQueries(db),
    figures: new SqlFigureQueries(db),
    activity: new SqlActivityQueries(db),
    sweepRuns: new SqlSweepRunQueries(db),
  }
}
