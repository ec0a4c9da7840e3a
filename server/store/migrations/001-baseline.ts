import { type Kysely, sql } from '#kysely'
import type { EngineName } from '../schema.ts'

export async function up(db: Kysely<unknown>, engine: EngineName): Promise<void> {
  const changes = engine === 'postgres' ? SNAPSHOT_CHANGES : NUMBERED_CHANGES
  const groups = [ACCOUNTS, SITES, arrivals(engine), BLOBS, DOMAINS, VISITS, OPERATION, changes]
  for (const statement of groups.flatMap((group) => group.split(';')))
    await sql
      .raw(engine === 'sqlite' && hasShortRows(statement) ? `${statement} without rowid` : statement)
      .execute(db)
}

/** With these names, SQLite has a row in the tree of its key, and not in a second one. */
const SHORT_ROWS = ['arrivals', 'blobs', 'blob_names', 'counters', 'discarded_objects']

function hasShortRows(statement: string): boolean {
  return SHORT_ROWS.includes(/^\s*create table (\w+)/.exec(statement)?.[1] ?? '')
}

const ACCOUNTS = `
  create table accounts (
    id text primary key,
    email text not null unique,
    plan text not null,
    key_hash text unique,
    created_at bigint not null,
    deletion_started_at bigint,
    reminders integer not null default 1,
    administrator_since bigint,
    suspension text,
    limits text,
    notices_off text,
    email_refusal text,
    email_refused_at bigint
  );
  create index accounts_leaving on accounts (deletion_started_at) where deletion_started_at is not null;
  create index accounts_administrators on accounts (administrator_since) where administrator_since is not null;
  create index accounts_by_age on accounts (created_at, id);

  create table usage (
    holder text primary key,
    bytes bigint not null,
    sites bigint not null,
    revision bigint not null
  );

  create table invitations (
    email text primary key,
    invited_by text,
    created_at bigint not null,
    expires_at bigint not null
  );
  create index invitations_by_expiry on invitations (expires_at);

  create table operator_settings (
    name text primary key,
    value text not null
  );

  create table named_keys (
    key_hash text primary key,
    account_id text not null,
    name text not null,
    created_at bigint not null,
    scope text not null,
    sites text,
    issued_by text,
    expires_at bigint,
    last_used_at bigint,
    constraint named_keys_by_name unique (account_id, name)
  );
  create index named_keys_expiring on named_keys (expires_at) where expires_at is not null;

  create table device_sign_ins (
    device_hash text primary key,
    user_code_hash text not null unique,
    program text not null,
    machine text not null,
    created_at bigint not null,
    expires_at bigint not null,
    interval_ms bigint not null,
    polled_at bigint,
    state text not null,
    account_id text,
    allowed_by text,
    network text not null,
    scope text not null
  );
  create index device_sign_ins_by_expiry on device_sign_ins (expires_at);

  create table trusts (
    id text primary key,
    account_id text not null,
    created_at bigint not null,
    forge text not null,
    issuer text not null,
    repository text not null,
    repository_id text,
    site text not null,
    scope text not null,
    branch text,
    tag text,
    environment text,
    pull_requests integer not null,
    last_used_at bigint,
    workflow text
  );
  create index trusts_by_account on trusts (account_id, id);
  create index trusts_by_site on trusts (site);
  create index trusts_by_repository on trusts (repository, issuer, site, id);
  create index trusts_by_repository_id on trusts (repository_id, issuer, site, id);

  create table used_tokens (
    token_hash text primary key,
    expires_at bigint not null
  );
  create index used_tokens_by_expiry on used_tokens (expires_at);

  create table sign_in_codes (
    attempt_hash text primary key,
    email text not null,
    network text not null,
    code_hash text not null,
    attempt_tries integer not null,
    open_tries integer not null,
    expires_at bigint not null
  );
  create index sign_in_codes_by_email on sign_in_codes (email);
  create index sign_in_codes_by_expires_at on sign_in_codes (expires_at);

  create table sign_in_sources (
    email text not null,
    source text not null,
    signed_in_at bigint,
    wrong_tries integer not null,
    locked_until bigint,
    changed_at bigint not null,
    constraint sign_in_sources_primary primary key (email, source)
  );
  create index sign_in_sources_by_time on sign_in_sources (changed_at);

  create table sessions (
    token_hash text primary key,
    account_id text not null,
    created_at bigint not null,
    expires_at bigint not null,
    browser text
  );
  create index sessions_by_account on sessions (account_id);
  create index sessions_by_expires_at on sessions (expires_at);

  create table oauth_records (
    id_hash text primary key,
    kind text not null,
    grant_hash text,
    account_id text,
    payload text not null,
    created_at bigint not null,
    expires_at bigint not null,
    consumed_at bigint
  );
  create index oauth_records_by_grant on oauth_records (grant_hash);
  create index oauth_records_by_account on oauth_records (account_id, kind, created_at);
  create index oauth_records_by_expiry on oauth_records (expires_at)`

/** Columns of JSON come last: SQLite reads all pages of a long value to reach the columns behind it. */
const SITES = `
  create table sites (
    slug text primary key,
    owner_id text,
    claim_token_hash text,
    is_finalized integer not null default 0,
    live_version_id text,
    previous_version_id text,
    live_since bigint,
    title text,
    description text,
    og_image_path text,
    spa_mode integer not null default 0,
    password_hash text,
    created_at bigint not null,
    updated_at bigint not null,
    expires_at bigint,
    deleted_at bigint,
    deletion_reason text,
    renamed_to text,
    visits_key text not null,
    kept_until bigint,
    kept_domains text,
    suspension text,
    network text,
    allowed_secrets text,
    require_approval text not null default 'off',
    review_key text
  );
  create index sites_by_owner on sites (owner_id, created_at, slug) where owner_id is not null;
  create index sites_by_expiry on sites (expires_at) where deleted_at is null and expires_at is not null;
  create index sites_never_finalized on sites (created_at) where deleted_at is null and is_finalized = 0;
  create index sites_by_change on sites (updated_at, slug);
  create index sites_by_visits_key on sites (visits_key) where visits_key <> slug;
  create index sites_renamed on sites (renamed_to) where renamed_to is not null;
  create index sites_kept on sites (kept_until) where kept_until is not null;
  create index sites_listed on sites (owner_id, created_at, slug) where owner_id is not null and deleted_at is null;
  create index sites_in_trash on sites (owner_id, deleted_at, slug) where kept_until is not null;
  create index sites_with_owner on sites (created_at) where deleted_at is null and owner_id is not null and live_version_id is not null;
  create index sites_present on sites (slug) where deleted_at is null;
  create index sites_by_age on sites (created_at, slug) where deleted_at is null;
  create index sites_suspended on sites (created_at, slug) where suspension is not null;
  create index sites_by_network on sites (network, created_at, slug) where network is not null;

  create table collaborators (
    slug text not null,
    email text not null,
    added_at bigint not null,
    constraint collaborators_primary primary key (slug, email)
  );
  create index collaborators_by_email on collaborators (email);

  create table versions (
    id text primary key,
    slug text not null,
    state text not null,
    file_count integer not null,
    total_bytes bigint not null,
    base_version_id text,
    created_at bigint not null,
    published_at bigint,
    last_live_at bigint,
    metadata text not null,
    injected_document_hash text,
    is_encoded integer not null default 0,
    published_by text,
    published_with text,
    preview text,
    title text,
    message text,
    thumbnail_hash text,
    content_hash text,
    changes text,
    preview_name text,
    preview_until bigint,
    live_reload integer not null,
    published_client text,
    warnings text,
    rules text,
    files text not null
  );
  create index versions_by_slug on versions (slug, id);
  create index versions_pending on versions (created_at) where state = 'pending';
  create index versions_unencoded on versions (created_at) where state = 'ready' and is_encoded = 0;
  create index versions_drafts on versions (created_at) where state = 'ready' and published_at is null;
  create index versions_previews on versions (slug, preview_name, id) where preview_name is not null;
  create index versions_preview_until on versions (preview_until) where preview_until is not null;

  create table review_links (
    id text primary key,
    slug text not null,
    preview_name text not null,
    token_hash text not null unique,
    audience text not null,
    created_by text not null,
    key_hash text,
    created_at bigint not null,
    expires_at bigint
  );
  create index review_links_by_slug on review_links (slug, preview_name);
  create index review_links_by_creator on review_links (created_by);
  create index review_links_by_expiry on review_links (expires_at) where expires_at is not null;

  create table review_threads (
    id text primary key,
    slug text not null,
    preview_name text not null,
    version_id text not null,
    place text not null,
    status text not null,
    outdated_in text,
    comments text not null,
    characters integer not null,
    created_at bigint not null,
    changed_at bigint not null
  );
  create index review_threads_by_slug on review_threads (slug, preview_name, id);

  create table review_decisions (
    id text primary key,
    slug text not null,
    preview_name text not null,
    version_id text not null,
    content_hash text not null,
    decision text not null,
    note text,
    author text not null,
    account_id text,
    created_at bigint not null
  );
  create index review_decisions_by_slug on review_decisions (slug, preview_name, id);
  create index review_decisions_by_content on review_decisions (slug, content_hash, id);

  create table thumbnails (
    version_id text primary key,
    picture text not null
  )`

const BLOBS = `
  create table blobs (
    hash text primary key,
    object text,
    size bigint not null,
    pieces_hash text,
    site text,
    unreferenced_since bigint,
    damaged_object text
  );
  create index blobs_by_object on blobs (object) where substr(object, 27, 1) <> 'h';
  create index blobs_unreferenced on blobs (unreferenced_since) where unreferenced_since is not null;
  create index blobs_by_site on blobs (site) where site is not null;
  create index blobs_damaged on blobs (hash) where damaged_object = object;

  create table blob_names (
    site text not null,
    hash text not null,
    owner_id text,
    constraint blob_names_primary primary key (site, hash)
  );
  create index blob_names_by_hash on blob_names (hash);
  create index blob_names_by_owner on blob_names (hash, owner_id) where owner_id is not null;

  create table encodings (
    hash text primary key,
    br integer,
    zstd integer,
    gzip integer,
    object text,
    locations text
  );
  create index encodings_by_object on encodings (object);

  create table discarded_objects (
    object text primary key,
    due_at bigint not null
  );
  create index discarded_objects_due on discarded_objects (due_at)`

const DOMAINS = `
  create table domains (
    domain text not null,
    account_id text not null,
    slug text not null,
    status text not null,
    verification_token text not null,
    reason text,
    created_at bigint not null,
    verified_at bigint,
    checked_at bigint,
    primary_domain text,
    findings text,
    pending_since bigint,
    proven_since bigint,
    failing_since bigint,
    next_check_at bigint,
    is_slow integer not null default 0,
    checking_until bigint,
    constraint domains_primary primary key (domain, account_id)
  );
  create index domains_by_account on domains (account_id, created_at);
  create index domains_by_slug on domains (slug);
  create unique index domains_active_once on domains (domain) where status = 'active';
  create index domains_by_check on domains (is_slow, next_check_at) where next_check_at is not null;
  create index domains_failing on domains (failing_since) where failing_since is not null;
  create index domains_by_age on domains (created_at, domain, account_id);

  create table held_domains (
    domain text primary key,
    account_id text not null,
    verification_token text not null,
    until bigint not null
  );
  create index held_domains_by_account on held_domains (account_id);
  create index held_domains_by_until on held_domains (until);

  create table certificates (
    name text primary key,
    chain text,
    key text,
    not_before bigint,
    not_after bigint,
    issued_at bigint,
    certificate_id text,
    has_renewal_info integer not null default 0,
    renew_at bigint,
    information_at bigint,
    order_url text,
    order_key text,
    challenge_type text,
    failures integer not null default 0,
    problem text,
    due_at bigint,
    unused_since bigint
  );
  create index certificates_due on certificates (due_at) where due_at is not null;
  create index certificates_unused on certificates (unused_since) where unused_since is not null;
  create index certificates_failing on certificates (name) where problem is not null and unused_since is null;
  create index certificates_by_expiry on certificates (coalesce(not_after, 0), name) where unused_since is null;

  create table acme_accounts (
    directory text primary key,
    key text not null,
    url text,
    created_at bigint not null
  );

  create table acme_challenges (
    type text not null,
    name text not null,
    token text not null,
    key_authorization text not null,
    expires_at bigint not null,
    constraint acme_challenges_primary primary key (type, name, token)
  );
  create index acme_challenges_by_expires_at on acme_challenges (expires_at);
  create index acme_challenges_by_name on acme_challenges (name);

  create table acme_requests (
    id text primary key,
    directory text not null,
    kind text not null,
    names text not null,
    at bigint not null,
    account_id text,
    root text
  );
  create index acme_requests_by_names on acme_requests (kind, names, at);
  create index acme_requests_by_time on acme_requests (kind, at);
  create index acme_requests_by_account_id on acme_requests (kind, account_id, at) where account_id is not null;
  create index acme_requests_by_root on acme_requests (kind, root, at) where root is not null;

  create table ticket_keys (
    period bigint primary key,
    key text not null
  )`

const VISITS = `
  create table visit_hours (
    slug text not null,
    hour bigint not null,
    requests bigint not null,
    bytes bigint not null,
    visitors bigint not null,
    constraint visit_hours_primary primary key (slug, hour)
  );
  create index visit_hours_by_time on visit_hours (hour);

  create table visit_names (
    slug text not null,
    day bigint not null,
    kind text not null,
    name text not null,
    requests bigint not null,
    constraint visit_names_primary primary key (slug, day, kind, name)
  );
  create index visit_names_by_time on visit_names (day, slug);

  create table visitors (
    slug text not null,
    day bigint not null,
    visitor text not null,
    constraint visitors_primary primary key (slug, day, visitor)
  );
  create index visitors_by_time on visitors (day);

  create table visit_salts (
    day bigint primary key,
    salt text not null,
    written bigint not null default 0
  )`

const OPERATION = `
  create table job_cursors (
    job text primary key,
    position text not null
  );

  create table counters (
    caller text not null,
    window_start bigint not null,
    requests integer not null,
    constraint counters_primary primary key (caller, window_start)
  );
  create index counters_by_window_start on counters (window_start);

  create table leases (
    name text primary key,
    holder text not null,
    fence bigint not null,
    until bigint not null
  );

  create table notices (
    id text primary key,
    account_id text not null,
    event text not null,
    created_at bigint not null,
    attempts integer not null,
    due_at bigint
  );
  create index notices_due on notices (due_at) where due_at is not null;
  create index notices_by_account on notices (account_id);
  create index notices_by_time on notices (created_at);

  create table blocks (
    kind text not null,
    value text not null,
    reason text not null,
    created_at bigint not null,
    expires_at bigint,
    constraint blocks_primary primary key (kind, value)
  );
  create index blocks_by_expiry on blocks (expires_at);

  create table reports (
    site text primary key,
    state text not null,
    count integer not null,
    first_at bigint not null,
    last_at bigint not null,
    decided_at bigint,
    latest text not null,
    mailed_count integer not null,
    mailed_at bigint
  );
  create index reports_by_state on reports (state, last_at, site);
  create index reports_by_time on reports (last_at);
  create index reports_unmailed on reports (last_at) where state = 'open' and count > mailed_count;

  create table accepted_scans (
    hash text not null,
    scanner text not null,
    accepted_at bigint not null,
    constraint accepted_scans_primary primary key (hash, scanner)
  );
  create index accepted_scans_by_time on accepted_scans (accepted_at);

  create table shared_settings (
    name text primary key,
    fingerprint text not null
  );

  create table nodes (
    id text primary key,
    host text not null,
    release text not null,
    started_at bigint not null,
    seen_at bigint not null,
    numbers text not null
  );

  create table audit_log (
    id text primary key,
    at bigint not null,
    actor_id text,
    actor text not null,
    network text,
    action text not null,
    target text not null,
    details text
  );
  create index audit_log_by_time on audit_log (at, id);
  create index audit_log_by_target on audit_log (target, at, id);

  create table figures (
    kind text not null,
    id text not null,
    bytes bigint not null,
    visits bigint not null,
    sites bigint not null,
    title text,
    constraint figures_key primary key (kind, id)
  );
  create index figures_by_bytes on figures (kind, bytes, id);
  create index figures_by_visits on figures (kind, visits, id);
  create index figures_by_title on figures (title) where title is not null;

  create table activity (
    width bigint not null,
    at bigint not null,
    name text not null,
    value bigint not null,
    constraint activity_key primary key (width, at, name)
  );

  create table sweep_runs (
    name text primary key,
    started_at bigint not null,
    duration_ms bigint not null,
    items bigint not null,
    error text,
    failures bigint not null,
    failed_at bigint
  )`

/** Received files of pending versions. A crash of PostgreSQL empties an unlogged table: these uploads are repeated. */
function arrivals(engine: EngineName): string {
  return `
  create ${engine === 'postgres' ? 'unlogged ' : ''}table arrivals (
    version_id text not null,
    file_number integer not null,
    hash text not null,
    size bigint not null,
    object text not null,
    pieces_hash text,
    constraint arrivals_primary primary key (version_id, file_number)
  );
  create index arrivals_by_object on arrivals (object)`
}

const NUMBERED_CHANGES = `
  create table changes (
    seq integer primary key,
    name text not null,
    at bigint not null,
    effect text not null default 'withdrawn'
  )`

/**
 * See `postgres/change-feed.ts`. Crash recovery and promotion empty the unlogged table `feed_epoch`; after both, ids of
 * transactions may be given out again.
 */
const SNAPSHOT_CHANGES = `
  create table changes (
    xid xid8 not null default pg_current_xact_id(),
    name text not null,
    at timestamptz not null default clock_timestamp(),
    effect text not null default 'withdrawn'
  );
  create index changes_by_xid on changes (xid);
  create index changes_by_time on changes (at);

  create unlogged table feed_epoch (
    only_row boolean primary key default true check (only_row),
    id uuid not null
  )`
