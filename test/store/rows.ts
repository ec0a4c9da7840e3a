import { hash } from 'node:crypto'
import type { Account } from '../../server/store/contract/accounts.ts'
import type { CertificateRow, DomainRow, SiteRow, VersionRow } from '../../server/store/schema.ts'

// Rows as the service writes them; a test names only the columns that it is about.

export function siteRow(slug: string, change: Partial<SiteRow> = {}): SiteRow {
  return {
    slug,
    owner_id: null,
    claim_token_hash: null,
    live_version_id: null,
    previous_version_id: null,
    live_since: null,
    title: null,
    description: null,
    og_image_path: null,
    spa_mode: 0,
    password_hash: null,
    created_at: 1000,
    updated_at: 1000,
    expires_at: null,
    gone_at: null,
    gone_reason: null,
    ...change,
  }
}

export function versionRow(id: string, slug: string, change: Partial<VersionRow> = {}): VersionRow {
  return {
    id,
    slug,
    state: 'ready',
    files: '[]',
    file_count: 0,
    total_bytes: 0,
    viewer: '{}',
    base_version_id: null,
    created_at: 1000,
    published_at: null,
    rules: null,
    warnings: null,
    front: null,
    encoded: 0,
    published_by: null,
    published_with: null,
    look: null,
    ...change,
  }
}

export function accountRow(id: string, change: Partial<Account> = {}): Account {
  return {
    id,
    email: `${id}@example.test`,
    plan: 'free',
    keyHash: null,
    createdAt: 1000,
    deletionStartedAt: null,
    ...change,
  }
}

export function domainRow(domain: string, change: Partial<DomainRow> = {}): DomainRow {
  return {
    domain,
    account_id: 'an-account',
    slug: 'a-site',
    status: 'pending',
    proof: 'proof',
    reason: null,
    created_at: 1000,
    verified_at: null,
    checked_at: null,
    pending_since: null,
    primary_domain: null,
    found: null,
    proven_since: null,
    failing_since: null,
    next_check_at: null,
    slow: 0,
    ...change,
  }
}

/** Of a name that was never looked after. */
export function certificateRow(name: string, change: Partial<CertificateRow> = {}): CertificateRow {
  return {
    name,
    chain: null,
    key: null,
    not_before: null,
    not_after: null,
    issued_at: null,
    certificate_id: null,
    informed: 0,
    renew_at: null,
    information_at: null,
    order_url: null,
    order_key: null,
    proof_type: null,
    failures: 0,
    problem: null,
    due_at: null,
    unused_since: null,
    ...change,
  }
}

/** The hash of a blob; the same for the same name. */
export function blob(name: string | number): string {
  return hash('sha256', String(name))
}

/** Rows without the prototype that an engine gave them. */
export function plain<Rows>(rows: Rows): Rows {
  return structuredClone(rows)
}
