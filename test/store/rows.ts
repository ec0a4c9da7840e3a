import type { StoredBlob } from '../../server/blobs/blobs.ts'
import type { Account, Suspension } from '../../server/store/tables/accounts.ts'
import { type Certificate, emptyCertificate } from '../../server/store/tables/certificates.ts'
import type { Domain } from '../../server/store/tables/domains.ts'
import type { NamedKey, OAuthRecord, StoredTrust } from '../../server/store/tables/keys.ts'
import type { ReportedSite } from '../../server/store/tables/moderation.ts'
import type { Session, SignInCode } from '../../server/store/tables/sign-ins.ts'
import { emptySite, type Site } from '../../server/store/tables/sites.ts'
import { emptyVersion, type Version } from '../../server/store/tables/versions.ts'
import { sha256 } from '../api/content.ts'

// Rows with default values; tests override the columns that matter to them.

export function siteRow(slug: string, change: Partial<Site> = {}): Site {
  return { ...emptySite(slug, 1000), isFinalized: Boolean(change.liveVersionId), ...change }
}

export function versionRow(id: string, slug: string, change: Partial<Version> = {}): Version {
  return { ...emptyVersion(id, slug, 1000), state: 'ready', ...change }
}

export function accountRow(id: string, change: Partial<Account> = {}): Account {
  return {
    id,
    email: `${id}@example.test`,
    plan: 'free',
    keyHash: null,
    reminders: true,
    noticesOff: null,
    emailRefusedAt: null,
    emailRefusal: null,
    createdAt: 1000,
    deletionStartedAt: null,
    limits: null,
    suspension: null,
    administratorSince: null,
    ...change,
  }
}

export function suspension(reason: string, change: Partial<Suspension> = {}): Suspension {
  return { reason, publicReason: null, note: null, since: 1000, ...change }
}

export function reportedSite(site: string, change: Partial<ReportedSite> = {}): ReportedSite {
  return {
    ...{ site, state: 'open', count: 1, firstAt: 1000, lastAt: 1000, decidedAt: null },
    ...{ latest: [], mailedCount: 0, mailedAt: null },
    ...change,
  }
}

export function keyRow(keyHash: string, change: Partial<NamedKey> = {}): NamedKey {
  return {
    keyHash,
    accountId: 'ann',
    name: keyHash,
    createdAt: 1000,
    scope: 'manage',
    sites: null,
    expiresAt: null,
    lastUsedAt: null,
    issuedBy: null,
    ...change,
  }
}

export function trustRow(id: string, change: Partial<StoredTrust> = {}): StoredTrust {
  return {
    ...{ id, accountId: 'ann', createdAt: 1000, lastUsedAt: null, site: 'bakery', scope: 'publish' },
    ...{ forge: 'github', issuer: 'https://issuer.test', repository: 'ann/bakery', repositoryId: null },
    ...{ branch: 'main', tag: null, environment: null, workflow: null, pullRequests: false },
    ...change,
  }
}

export function oauthRow(idHash: string, change: Partial<OAuthRecord> = {}): OAuthRecord {
  return {
    ...{ idHash, kind: 'Grant', grantHash: idHash, accountId: 'ann', payload: {} },
    ...{ createdAt: 1, expiresAt: 100, consumedAt: null },
    ...change,
  }
}

export function codeRow(attemptHash: string, change: Partial<SignInCode> = {}): SignInCode {
  return {
    ...{ attemptHash, email: 'ann@example.test', network: 'a network', codeHash: 'hash' },
    ...{ attemptTries: 0, openTries: 0, expiresAt: 600 },
    ...change,
  }
}

export function sessionRow(tokenHash: string, change: Partial<Session> = {}): Session {
  return { tokenHash, accountId: 'ann', createdAt: 1, expiresAt: 100, browser: null, ...change }
}

export function domainRow(domain: string, change: Partial<Domain> = {}): Domain {
  return {
    domain,
    accountId: 'an-account',
    slug: 'a-site',
    status: 'pending',
    verificationToken: 'proof',
    reason: null,
    createdAt: 1000,
    verifiedAt: null,
    checkedAt: null,
    pendingSince: null,
    primaryDomain: null,
    findings: null,
    provenSince: null,
    failingSince: null,
    nextCheckAt: null,
    isSlow: false,
    ...change,
  }
}

export function certificateRow(name: string, change: Partial<Certificate> = {}): Certificate {
  return { ...emptyCertificate(name), ...change }
}

/** A blob hash, derived from the name. */
export function blob(name: string | number): string {
  return sha256(String(name))
}

/** A blob in an object of its own, derived from the names. */
export function storedBlob(name: string | number, object: string | number = name): StoredBlob {
  return { hash: blob(name), size: 7, object: `object-${object}`, piecesHash: null }
}

/** Copies rows without the prototype of the engine. */
export function plain<Rows>(rows: Rows): Rows {
  return structuredClone(rows)
}
