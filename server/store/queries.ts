import type { Kysely } from 'kysely'
import { AccountQueries } from './queries/accounts.ts'
import { AcmeQueries } from './queries/acme.ts'
import { ActivityQueries } from './queries/activity.ts'
import { AuditQueries } from './queries/audit.ts'
import { BlobQueries } from './queries/blobs.ts'
import { BlockQueries } from './queries/blocks.ts'
import { CertificateQueries } from './queries/certificates.ts'
import { CollaboratorQueries } from './queries/collaborators.ts'
import { CounterQueries } from './queries/counters.ts'
import { DeviceSignInQueries } from './queries/device-sign-ins.ts'
import { DomainQueries } from './queries/domains.ts'
import { FigureQueries } from './queries/figures.ts'
import { InvitationQueries } from './queries/invitations.ts'
import { JobCursorQueries } from './queries/job-cursors.ts'
import { KeyQueries } from './queries/keys.ts'
import { LeaseQueries } from './queries/leases.ts'
import { NodeQueries } from './queries/nodes.ts'
import { NoticeQueries } from './queries/notices.ts'
import { OAuthQueries } from './queries/oauth.ts'
import { OperatorSettingQueries } from './queries/operator-settings.ts'
import { ReferenceQueries } from './queries/references.ts'
import { ReportQueries } from './queries/reports.ts'
import { ReviewQueries } from './queries/reviews.ts'
import { ScanQueries } from './queries/scans.ts'
import { ServingQueries } from './queries/serving.ts'
import { SharedSettingQueries } from './queries/shared-settings.ts'
import { SignInQueries } from './queries/sign-ins.ts'
import { SiteQueries } from './queries/sites.ts'
import { SweepRunQueries } from './queries/sweep-runs.ts'
import { TicketKeyQueries } from './queries/ticket-keys.ts'
import { TrustQueries } from './queries/trusts.ts'
import { UsageQueries } from './queries/usage.ts'
import { VersionQueries } from './queries/versions.ts'
import { VisitQueries } from './queries/visits.ts'
import type { Schema } from './schema.ts'

const GROUPS = {
  accounts: AccountQueries,
  keys: KeyQueries,
  deviceSignIns: DeviceSignInQueries,
  trusts: TrustQueries,
  signIns: SignInQueries,
  oauth: OAuthQueries,
  sites: SiteQueries,
  collaborators: CollaboratorQueries,
  versions: VersionQueries,
  serving: ServingQueries,
  blobs: BlobQueries,
  domains: DomainQueries,
  certificates: CertificateQueries,
  acme: AcmeQueries,
  counters: CounterQueries,
  leases: LeaseQueries,
  jobCursors: JobCursorQueries,
  visits: VisitQueries,
  notices: NoticeQueries,
  blocks: BlockQueries,
  reports: ReportQueries,
  reviews: ReviewQueries,
  scans: ScanQueries,
  ticketKeys: TicketKeyQueries,
  sharedSettings: SharedSettingQueries,
  operatorSettings: OperatorSettingQueries,
  nodes: NodeQueries,
  references: ReferenceQueries,
  usage: UsageQueries,
  invitations: InvitationQueries,
  audit: AuditQueries,
  figures: FigureQueries,
  activity: ActivityQueries,
  sweepRuns: SweepRunQueries,
}

export type Queries = { readonly [Name in keyof typeof GROUPS]: InstanceType<(typeof GROUPS)[Name]> }

export const QUERY_GROUPS = Object.keys(GROUPS) as readonly (keyof Queries)[]

/** A group is created by its first use. */
export function createQueries(db: Kysely<Schema>): Queries {
  return new LazyQueries(db) as object as Queries
}

class LazyQueries {
  readonly db: Kysely<Schema>
  readonly created: Record<string, object> = {}

  constructor(db: Kysely<Schema>) {
    this.db = db
  }
}

for (const [name, Group] of Object.entries(GROUPS))
  Object.defineProperty(LazyQueries.prototype, name, {
    get(this: LazyQueries) {
      this.created[name] ??= new Group(this.db)
      return this.created[name]
    },
  })
