import type { Policies } from '../../protocol/api/admin/policies.schema.ts'
import type { Accounts } from '../accounts/account.ts'
import type { AccountPlans } from '../accounts/account-plans.ts'
import type { Administrators } from '../accounts/administrators.ts'
import type { Blocklist } from '../accounts/blocklist.ts'
import type { DeviceSignIns } from '../accounts/device-sign-in.ts'
import type { Invitations } from '../accounts/invitations.ts'
import type { NamedKeys } from '../accounts/named-keys.ts'
import type { Programs } from '../accounts/oauth/programs.ts'
import type { Plans } from '../accounts/plans.ts'
import type { RateLimits } from '../accounts/rate-limits.ts'
import type { Sessions } from '../accounts/session.ts'
import type { Trusts } from '../accounts/trusts/trusts.ts'
import type { UnsubscribeLinks } from '../accounts/unsubscribe.ts'
import type { VisitReports } from '../analytics/report.ts'
import type { DomainService } from '../domains/domain.ts'
import type { AccountDeletion } from '../jobs/account-deletion.ts'
import type { SweepList } from '../jobs/sweep-list.ts'
import type { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts'
import type { AuditLog } from '../operations/administration/audit-log.ts'
import type { Banners } from '../operations/administration/banners.ts'
import type { Lists } from '../operations/administration/lists.ts'
import type { Overviews } from '../operations/administration/overview.ts'
import type { Blocks } from '../operations/moderation/blocks.ts'
import type { ModeratedSites } from '../operations/moderation/moderated-sites.ts'
import type { Removals } from '../operations/moderation/removals.ts'
import type { Reports } from '../operations/moderation/reports.ts'
import type { Suspensions } from '../operations/moderation/suspensions.ts'
import type { ArchivePublisher } from '../publish/archive-upload.ts'
import type { Finalizer } from '../publish/finalize.ts'
import type { PublishService } from '../publish/publish.ts'
import type { PendingVersionStore } from '../publish/stage.ts'
import type { Collaborators } from '../sites/collaborators.ts'
import type { SiteNames } from '../sites/names.ts'
import type { PreviewLinks } from '../sites/preview-links.ts'
import type { Previews } from '../sites/previews.ts'
import type { Sites } from '../sites/site.ts'
import type { Thumbnails } from '../sites/thumbnails.ts'
import type { Trash } from '../sites/trash.ts'
import type { Versions } from '../sites/version-history.ts'

/** Services that the route table passes to handlers; a handler takes the one or two it uses. */
export interface ApiServices {
  baseUrl: string
  accounts: Accounts
  unsubscribeLinks: UnsubscribeLinks
  administrators: Administrators
  auditLog: AuditLog
  blocklist: Blocklist
  suspensions: Suspensions
  removals: Removals
  blocks: Blocks
  moderatedSites: ModeratedSites
  reports: Reports
  banners: Banners
  lists: Lists
  overviews: Overviews
  policies: Policies
  sweepList: SweepList
  accountPlans: AccountPlans
  invitations: Invitations
  namedKeys: NamedKeys
  trusts: Trusts
  deviceSignIns: DeviceSignIns
  sessions: Sessions
  programs: Programs
  accountDeletion: AccountDeletion
  pendingVersions: PendingVersionStore
  publishService: PublishService
  finalizer: Finalizer
  archivePublisher: ArchivePublisher
  sites: Sites
  trash: Trash
  collaborators: Collaborators
  versions: Versions
  thumbnails: Thumbnails
  names: SiteNames
  previewLinks: PreviewLinks
  previews: Previews
  domains: DomainService
  visits: VisitReports
  limits: RateLimits
  plans: Plans
  /** Limits concurrent uploads and archives. */
  uploadLimiter: ConcurrencyLimiter
}
