import type pg from 'pg'

const SITES = 5_000

/** Rows of the tables that grow with sites, accounts and visits. */
const ROWS: Record<string, number> = {
  accounts: 2_500,
  usage: 2_500,
  invitations: 2_500,
  named_keys: 2_500,
  device_sign_ins: 2_500,
  trusts: 2_500,
  used_tokens: 2_500,
  sign_in_codes: 2_500,
  sign_in_sources: 2_500,
  sessions: 2_500,
  oauth_records: 2_500,
  sites: SITES,
  collaborators: 2_500,
  versions: 3 * SITES,
  thumbnails: 2_500,
  arrivals: 5_000,
  blobs: 25_000,
  blob_names: 25_000,
  encodings: 5_000,
  discarded_objects: 2_500,
  domains: 2_500,
  held_domains: 2_500,
  certificates: 2_500,
  acme_challenges: 2_500,
  acme_requests: 2_500,
  counters: 5_000,
  leases: 15_000,
  visit_hours: 15_000,
  visit_names: 15_000,
  visitors: 15_000,
  notices: 2_500,
  reports: 5_000,
  accepted_scans: 25_000,
  audit_log: 25_000,
  figures: 15_000,
  activity: 15_000,
}

export const GROWING_TABLES: readonly string[] = Object.keys(ROWS)

/** Values of row `i` as SQL; other columns have distinct values, or NULL where they may. */
const VALUES: Record<string, Record<string, string>> = {
  accounts: {
    plan: `'free'`,
    key_hash: `'key ' || i`,
    reminders: '1',
    deletion_started_at: 'case when i % 1000 = 0 then i end',
    administrator_since: 'case when i % 1000 = 1 then i end',
  },
  invitations: { email: `'email ' || i`, expires_at: 'i' },
  named_keys: {
    account_id: `'id ' || i % 1250`,
    expires_at: 'case when i % 100 = 0 then i end',
    issued_by: `case when i % 10 = 0 then 'issued_by ' || i end`,
  },
  trusts: { account_id: `'id ' || i % 1250`, pull_requests: '0' },
  sessions: { account_id: `'id ' || i % 1250` },
  oauth_records: {
    kind: `'Grant'`,
    account_id: `'id ' || i % 1250`,
    grant_hash: `'grant_hash ' || i`,
    payload: `'{}'`,
  },
  figures: { kind: `case when i % 3 = 0 then 'account' else 'site' end` },
  sign_in_codes: { email: `'email ' || i % 1250` },
  sign_in_sources: { email: `'email ' || i % 1250` },
  sites: {
    slug: `'slug ' || i`,
    owner_id: `'id ' || i % 1250`,
    live_version_id: `case when i % 50 > 0 then 'id ' || i end`,
    expires_at: 'case when i % 20 = 0 then i end',
    deleted_at: 'case when i % 10 = 0 then i end',
    renamed_to: `case when i % 50 = 0 then 'slug ' || (i + 1) end`,
    kept_until: 'case when i % 100 = 0 then i end',
    visits_key: `'slug ' || i`,
    spa_mode: '0',
  },
  collaborators: { slug: `'slug ' || i`, email: `'email ' || i % 1250` },
  versions: {
    slug: `'slug ' || i % ${SITES}`,
    state: `case when i % 100 = 0 then 'pending' else 'ready' end`,
    is_encoded: 'case when i % 200 = 1 then 0 else 1 end',
    published_at: 'case when i % 10 > 0 then i end',
    preview_name: `case when i % 10 = 7 then 'preview_name ' || i end`,
    preview_until: 'case when i % 10 = 7 then i end',
    files: `'{"hash":["hash ' || i || '"],"path":["index.html"],"size":[1],"contentType":["text/html"]}'`,
    metadata: `'{}'`,
    live_reload: '0',
  },
  arrivals: { version_id: `'id ' || (i % 150) * 100` },
  blobs: {
    object: `'object ' || i`,
    site: `'slug ' || i % ${SITES}`,
    unreferenced_since: 'case when i % 500 = 0 then i end',
  },
  blob_names: { site: `'slug ' || i % ${SITES}` },
  encodings: { object: `'object ' || (i + 25000)` },
  discarded_objects: { due_at: 'i' },
  domains: {
    account_id: `'id ' || i % 1250`,
    slug: `'slug ' || i`,
    status: `case when i % 4 = 0 then 'pending' else 'active' end`,
    next_check_at: 'case when i % 8 > 0 then i end',
    failing_since: 'case when i % 500 = 0 then i end',
    primary_domain: `case when i % 5 = 0 then 'domain ' || (i + 1) end`,
    is_slow: '0',
  },
  held_domains: { account_id: `'id ' || i % 1250` },
  certificates: {
    name: `'domain ' || i`,
    not_after: 'i',
    due_at: 'case when i % 2 = 0 then i end',
    unused_since: 'case when i % 100 = 0 then i end',
    failures: 'case when i % 500 = 0 then 3 else 0 end',
    problem: `case when i % 500 = 0 then 'a problem' end`,
    has_renewal_info: '0',
  },
  acme_challenges: { type: `'http-01'` },
  acme_requests: {
    directory: `'d'`,
    kind: `(array['order','renewal','certificate','failure'])[1 + i % 4]`,
    account_id: `'id ' || i % 1250`,
    root: `'root ' || i`,
  },
  visit_hours: { slug: `'slug ' || i % ${SITES}`, hour: '(i / 5000) * 3600000' },
  visit_names: { slug: `'slug ' || i % ${SITES}`, day: '(i / 5000) * 86400000', kind: `'path'` },
  visitors: { slug: `'slug ' || i % ${SITES}`, day: '(i / 5000) * 86400000' },
  reports: {
    state: `case when i % 100 = 0 then 'open' else 'acted' end`,
    count: '2',
    latest: `'[]'`,
    mailed_count: 'case when i % 500 = 0 then 1 else 2 end',
  },
  notices: {
    account_id: `'id ' || i % 1250`,
    event: `'{"kind":"site-shared","slug":"s","ownerEmail":"o","to":"t"}'`,
    due_at: 'case when i % 200 = 0 then i end',
  },
}

interface Column {
  name: string
  type: string
  nullable: boolean
}

/**
 * Fills the tables that grow, with statistics for the planner, which then plans for tables of four times their size: a
 * scan costs this connection as much as one of those.
 */
export async function fillTables(client: pg.Client): Promise<void> {
  for (const [table, count] of Object.entries(ROWS)) {
    const { rows } = await client.query<Column>(
      `select column_name as name, data_type as type, is_nullable = 'YES' as nullable
        from information_schema.columns where table_name = $1`,
      [table],
    )
    const columns = rows.filter(({ name, nullable }) => !nullable || VALUES[table]?.[name] !== undefined)
    const values = columns.map((column) => VALUES[table]?.[column.name] ?? defaultValue(column))
    const names = columns.map(({ name }) => name)
    await client.query(
      `insert into ${table} (${names}) select ${values} from generate_series(1, ${count}) as i on conflict do nothing`,
    )
  }
  await client.query(`vacuum analyze ${GROWING_TABLES}`)
  await client.query('set seq_page_cost = 4; set cpu_tuple_cost = 0.04; set cpu_index_tuple_cost = 0.02')
}

function defaultValue({ name, type }: Column): string {
  if (type === 'text') return `'${name} ' || i`
  return type === 'bytea' ? `'\\x00'` : 'i'
}
