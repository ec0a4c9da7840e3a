import type { Generated } from 'kysely'
import type { RowOf } from './table.ts'
import { accountTable, invitationTable } from './tables/accounts.ts'
import { auditTable, operatorSettingTable } from './tables/administration.ts'
import { blobNameTable, blobTable, discardedObjectTable, encodingTable } from './tables/blobs.ts'
import {
  acmeAccountTable,
  acmeChallengeTable,
  acmeRequestTable,
  certificateTable,
  ticketKeyTable,
} from './tables/certificates.ts'
import { domainTable, reservationTable } from './tables/domains.ts'
import { activityTable, figureTable } from './tables/figures.ts'
import { jobCursorTable, sweepRunTable } from './tables/jobs.ts'
import { namedKeyTable, oauthRecordTable, trustTable, usedTokenTable } from './tables/keys.ts'
import { blockTable, reportTable } from './tables/moderation.ts'
import { leaseTable, nodeTable, sharedSettingTable } from './tables/nodes.ts'
import { noticeTable } from './tables/notices.ts'
import { reviewDecisionTable, reviewLinkTable, reviewThreadTable } from './tables/reviews.ts'
import { deviceSignInTable, sessionTable, signInCodeTable, signInSourceTable } from './tables/sign-ins.ts'
import { collaboratorTable, siteTable } from './tables/sites.ts'
import { counterTable, usageTable } from './tables/usage.ts'
import { acceptedScanTable, arrivalTable, thumbnailTable, versionTable } from './tables/versions.ts'
import { visitHourTable, visitNameTable, visitorTable, visitSaltTable } from './tables/visits.ts'

export type EngineName = 'sqlite' | 'postgres'

export const TABLES = {
  accounts: accountTable,
  usage: usageTable,
  invitations: invitationTable,
  operator_settings: operatorSettingTable,
  named_keys: namedKeyTable,
  device_sign_ins: deviceSignInTable,
  trusts: trustTable,
  used_tokens: usedTokenTable,
  sign_in_codes: signInCodeTable,
  sign_in_sources: signInSourceTable,
  sessions: sessionTable,
  oauth_records: oauthRecordTable,
  sites: siteTable,
  collaborators: collaboratorTable,
  versions: versionTable,
  thumbnails: thumbnailTable,
  arrivals: arrivalTable,
  blobs: blobTable,
  blob_names: blobNameTable,
  encodings: encodingTable,
  discarded_objects: discardedObjectTable,
  job_cursors: jobCursorTable,
  domains: domainTable,
  held_domains: reservationTable,
  certificates: certificateTable,
  acme_accounts: acmeAccountTable,
  acme_challenges: acmeChallengeTable,
  acme_requests: acmeRequestTable,
  counters: counterTable,
  leases: leaseTable,
  visit_hours: visitHourTable,
  visit_names: visitNameTable,
  visitors: visitorTable,
  visit_salts: visitSaltTable,
  notices: noticeTable,
  blocks: blockTable,
  reports: reportTable,
  review_links: reviewLinkTable,
  review_threads: reviewThreadTable,
  review_decisions: reviewDecisionTable,
  accepted_scans: acceptedScanTable,
  ticket_keys: ticketKeyTable,
  shared_settings: sharedSettingTable,
  nodes: nodeTable,
  audit_log: auditTable,
  figures: figureTable,
  activity: activityTable,
  sweep_runs: sweepRunTable,
}

type Rows = { [Name in keyof typeof TABLES]: RowOf<(typeof TABLES)[Name]> }

/** Times are milliseconds since 1970, sizes bytes, hashes hexadecimal. Only types of all engines: text and integers. */
export interface Schema extends Rows {
  changes: ChangeRow
}

/** An invalidation for other processes: all about a site (its slug) or a domain (its name, which has a dot). */
export interface ChangeRow {
  seq: Generated<number>
  name: string
  effect: string
  at: number
}
