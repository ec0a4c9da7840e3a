import type { StopPoint } from './schedules.ts'

// The rows of `node test/interleaving/find-pairs-main.ts`.

/** A pair of calls, by default the same one twice. */
interface LockPair extends StopPoint {
  first: string
  second?: string
}

/**
 * For each name that a write locks (`file function kind`) a pair of calls that ends in another state when the first one,
 * stopped within that write, does not hold the lock.
 */
export const LOCK_PAIRS: Record<string, LockPair> = {
  'server/publish/stage.ts addTo site': { first: 'stage a preview' },
  'server/sites/version.ts writeOfVersion site': { first: 'abort an update' },
  'server/publish/upload-recorder.ts #recordWithin site': {
    first: 'upload a file',
    second: 'stage an update of an anonymous site',
  },
  'server/publish/finalize.ts commitTo site': { first: 'finalize' },
  'server/sites/version-history.ts restore site': { first: 'promote a preview', after: 2 },
  'server/sites/reviews/reviews.ts createLink site': { first: 'create a review link' },
  'server/sites/reviews/reviews.ts #write site': { first: 'reply to a thread' },
  'server/sites/previews.ts remove site': { first: 'delete a preview' },
  'server/sites/version-history.ts remove site': { first: 'delete a version' },
  'server/sites/site.ts updateMetadata site': { first: 'change metadata', second: 'finalize', after: 3 },
  'server/sites/site.ts claim site': { first: 'claim', second: 'claim by another account' },
  'server/domains/status.ts writeWithDomains site': { first: 'sweep expired-sites' },
  'server/certificates/issuance.ts #write host': {
    first: 'issue a certificate',
    second: 'delete a site',
    write: 6,
  },
  'server/certificates/maintenance.ts maintain host': { first: 'maintain certificates' },
  'server/accounts/account.ts #redeem address': { first: 'sign in with the code' },
  'server/accounts/named-keys.ts create address': {
    first: 'create a key',
    second: 'sign in with a named key',
  },
  'server/sites/collaborators.ts remove address': {
    first: 'remove a collaborator',
    second: 'create a key of a collaborator',
    after: 9,
  },
  'server/accounts/administrators.ts set counter': {
    first: 'remove an administrator',
    second: 'remove another administrator',
  },
  'server/accounts/session.ts end account': { first: 'end a session' },
  'server/accounts/oauth/programs.ts revoke account': { first: 'end the access of a program' },
  'server/jobs/account-deletion.ts deleteAccount counter': {
    first: 'delete the account',
    second: 'remove another administrator',
  },
  'server/sites/version-history.ts prune site': { first: 'sweep old-versions' },
  'server/operations/notices/notices.ts #claim notice': { first: 'sweep emails', write: 1 },
  'server/edge/password/attempt-limiter.ts begin counter': { first: 'try a password' },
  'server/operations/moderation/reports.ts decide site': { first: 'dismiss reports' },
  'server/operations/moderation/suspensions.ts changeSite site': { first: 'suspend a site' },
  'server/operations/moderation/removals.ts releaseDomain host': { first: 'release a domain' },
  'server/domains/domain.ts add account': { first: 'add a domain', second: 'add another domain' },
  'server/domains/domain.ts remove host': {
    first: 'remove an active domain',
    second: 'delete a site as an operator',
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
  'server/certificates/ticket-keys.ts refresh counter',
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
  'server/accounts/administrators.ts setPlan account',
  'server/accounts/session.ts endOthers account',
  'server/jobs/account-deletion.ts deleteAccount account',
  'server/jobs/account-deletion.ts deleteAccount address',
  'server/operations/moderation/reports.ts add site',
  'server/operations/moderation/suspensions.ts changeAccount account',
  'server/operations/moderation/suspensions.ts #changeSitesOf site',
  'server/operations/moderation/blocks.ts add counter',
  'server/operations/moderation/blocks.ts remove counter',
  'server/operations/moderation/reports.ts #recordEmail site',
]
