import type { Kysely } from 'kysely'
import { AccountQueries, InvitationQueries } from './queries/accounts.ts'
import { AuditQueries, OperatorSettingQueries } from './queries/administration.ts'
import { BlobQueries, ReferenceQueries } from './queries/blobs.ts'
import { AcmeQueries, CertificateQueries, TicketKeyQueries } from './queries/certificates.ts'
import { DomainQueries } from './queries/domains.ts'
import { ActivityQueries, FigureQueries } from './queries/figures.ts'
import { JobCursorQueries, SweepRunQueries } from './queries/jobs.ts'
import { KeyQueries, OAuthQueries, TrustQueries } from './queries/keys.ts'
import { BlockQueries, ReportQueries } from './queries/moderation.ts'
import { LeaseQueries, NodeQueries, SharedSettingQueries } from './queries/nodes.ts'
import { NoticeQueries } from './queries/notices.ts'
import { ReviewQueries } from './queries/reviews.ts'
import { ServingQueries } from './queries/serving.ts'
import { DeviceSignInQueries, SignInQueries } from './queries/sign-ins.ts'
import { CollaboratorQueries, SiteQueries } from './queries/sites.ts'
import { CounterQueries, UsageQueries } from './queries/usage.ts'
import { ScanQueries, VersionQueries } from './queries/versions.ts'
import { VisitQueries } from './queries/visits.ts'
import { RowQueries } from './rows.ts'
import type { Schema } from './schema.ts'

const GROUPS = {
  rows: RowQueries,
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
