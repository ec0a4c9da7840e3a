import type { Pair, StopPoint } from './schedules.ts'

// The rows of `node test/interleaving/find-pairs-main.ts`.

/**
 * For each name that a write locks (`file function kind`) a pair of calls that ends in another state when the first one,
 * stopped within that write, does not hold the lock.
 */
export const LOCK_PAIRS: Record<string, { pair: Pair } & StopPoint> = {
  'server/publish/stage.ts newVersion site': { pair: ['stage a preview', 'stage a preview'], write: 0 },
  'server/sites/version.ts writeWithPending site': {
    pair: ['abort an update', 'abort an update'],
    write: 0,
  },
  'server/publish/upload-recorder.ts #recordWithin site': {
    pair: ['upload a file', 'stage an update of an anonymous site'],
    write: 0,
  },
  'server/publish/finalize.ts #finalize site': { pair: ['finalize', 'finalize'], write: 0 },
  'server/sites/version-history.ts restore site': {
    pair: ['promote a preview', 'promote a preview'],
    write: 0,
    after: 2,
  },
  'server/sites/reviews/reviews.ts createLink site': {
    pair: ['create a review link', 'create a review link'],
    write: 0,
  },
  'server/sites/reviews/reviews.ts #write site': {
    pair: ['reply to a thread', 'reply to a thread'],
    write: 0,
  },
  'server/sites/previews.ts remove site': { pair: ['delete a preview', 'delete a preview'], write: 0 },
  'server/sites/version-history.ts remove site': { pair: ['delete a version', 'delete a version'], write: 0 },
  'server/sites/site.ts updateMetadata site': { pair: ['change metadata', 'finalize'], write: 0, after: 3 },
  'server/sites/site.ts claim site': { pair: ['claim', 'claim by another account'], write: 0 },
  'server/domains/status.ts writeWithDomains site': {
    pair: ['sweep expired-sites', 'sweep expired-sites'],
    write: 0,
  },
  'server/certificates/issuance.ts #write host': { pair: ['issue a certificate', 'delete a site'], write: 6 },
  'server/certificates/maintenance.ts maintain host': {
    pair: ['maintain certificates', 'maintain certificates'],
    write: 0,
  },
  'server/accounts/account.ts #redeem address': {
    pair: ['sign in with the code', 'sign in with the code'],
    write: 0,
  },
  'server/accounts/named-keys.ts create address': {
    pair: ['create a key', 'sign in with a named key'],
    write: 0,
  },
  'server/accounts/administrators.ts set counter': {
    pair: ['remove an administrator', 'remove another administrator'],
    write: 0,
  },
  'server/accounts/session.ts end account': { pair: ['end a session', 'end a session'], write: 0 },
  'server/accounts/oauth/programs.ts revoke account': {
    pair: ['end the access of a program', 'end the access of a program'],
    write: 0,
  },
  'server/jobs/account-deletion.ts deleteAccount counter': {
    pair: ['delete the account', 'remove another administrator'],
    write: 0,
  },
  'server/sites/version-history.ts prune site': {
    pair: ['sweep old-versions', 'sweep old-versions'],
    write: 0,
  },
  'server/operations/notices/notices.ts #claim notice': { pair: ['sweep emails', 'sweep emails'], write: 1 },
  'server/edge/password/attempt-limiter.ts begin counter': {
    pair: ['try a password', 'try a password'],
    write: 0,
  },
  'server/operations/moderation/reports.ts decide site': {
    pair: ['dismiss reports', 'dismiss reports'],
    write: 0,
  },
  'server/operations/moderation/suspensions.ts changeSite site': {
    pair: ['suspend a site', 'suspend a site'],
    write: 0,
  },
  'server/operations/moderation/removals.ts releaseDomain host': {
    pair: ['release a domain', 'release a domain'],
    write: 0,
  },
  'server/domains/domain.ts add account': { pair: ['add a domain', 'add another domain'], write: 0 },
  'server/domains/domain.ts remove host': {
    pair: ['remove an active domain', 'delete a site as an operator'],
    write: 0,
  },
}

/**
 * Locks for which no such pair is known: another lock or a condition of the statement decides alike, or a call that is
 * not tried is needed. `npm run fleet -- interleavings` explores all pairs.
 */
export const WITHOUT_PAIR: readonly string[] = [
  'server/publish/stage.ts newSite site',
  'server/publish/stage.ts newSite account',
  'server/sites/thumbnails.ts store site',
  'server/publish/precompress/precompressor.ts nameDocument site',
  'server/publish/precompress/precompressor.ts #record site',
  'server/sites/site.ts duplicate site',
  'server/sites/site.ts duplicate account',
  'server/sites/site.ts claim account',
  'server/sites/names.ts rename site',
  'server/sites/names.ts rename account',
  'server/domains/status.ts writeWithDomains account',
  'server/domains/status.ts writeWithDomains host',
  'server/sites/trash.ts undelete site',
  'server/sites/trash.ts undelete account',
  'server/sites/reviews/reviews.ts reportPlacements site',
  'server/sites/reviews/reviews.ts revokeLink site',
  'server/sites/collaborators.ts add site',
  'server/sites/collaborators.ts add account',
  'server/sites/collaborators.ts remove site',
  'server/domains/domain.ts add host',
  'server/domains/domain.ts add site',
  'server/domains/domain.ts remove account',
  'server/operations/moderation/removals.ts releaseDomain account',
  'server/domains/verifier.ts conclude host',
  'server/domains/verifier.ts conclude account',
  'server/domains/verifier.ts conclude site',
  'server/certificates/issuance.ts #write authority',
  'server/certificates/certificates.ts retry host',
  'server/certificates/ari.ts refreshRenewalInfo host',
  'server/certificates/maintenance.ts requestSiteCertificates host',
  'server/certificates/maintenance.ts requestSiteCertificates authority',
  'server/certificates/stored-keys.ts reencryptCertificate host',
  'server/accounts/account.ts #mailCode address',
  'server/accounts/account.ts renewKey account',
  'server/accounts/named-keys.ts create account',
  'server/accounts/administrators.ts set account',
  'server/accounts/device-sign-in.ts #createKey account',
  'server/accounts/device-sign-in.ts #createKey address',
  'server/accounts/trusts/trusts.ts create account',
  'server/accounts/trusts/trusts.ts create address',
  'server/accounts/trusts/trusts.ts issueKey account',
  'server/accounts/trusts/trusts.ts issueKey address',
  'server/accounts/trusts/trusts.ts remove account',
  'server/accounts/trusts/trusts.ts remove address',
  'server/accounts/named-keys.ts revoke account',
  'server/accounts/named-keys.ts revoke address',
  'server/accounts/account.ts changeNotices account',
  'server/accounts/invitations.ts invite address',
  'server/accounts/invitations.ts revoke address',
  'server/accounts/account-plans.ts set account',
  'server/accounts/session.ts endOthers account',
  'server/jobs/account-deletion.ts deleteAccount account',
  'server/jobs/account-deletion.ts deleteAccount address',
  'server/operations/moderation/reports.ts add site',
  'server/operations/moderation/suspensions.ts changeAccount account',
  'server/operations/moderation/suspensions.ts #changeSitesOf site',
  'server/operations/moderation/blocks.ts add counter',
  'server/operations/moderation/blocks.ts #remove counter',
  'server/operations/moderation/reports.ts #recordEmail site',
]
