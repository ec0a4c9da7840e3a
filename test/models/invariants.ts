import { sql } from 'kysely'
import { parseFiles } from '../../server/store/tables/versions.ts'
import { listObjects } from '../blobs/bytes.ts'
import type { World } from './world.ts'

interface VersionRow {
  id: string
  /** The `visitsKey` of its site, by which contents are referenced. */
  site: string
  state: 'pending' | 'ready' | 'former'
  files: string
  document: string | null
}

/** Of each row that this selects, the first column says what is wrong. */
const FORBIDDEN: readonly string[] = [
  `select 'version ' || id || ' of ' || slug || ', which was deleted' from versions where slug not in (select slug from held)`,
  `select 'site ' || slug || ' without its live version' from held where live_version_id is not null
    and live_version_id not in (select id from versions where state = 'ready')`,
  `select 'site ' || slug || ' without its previous version' from held where previous_version_id is not null
    and previous_version_id not in (select id from versions where state = 'ready')`,
  `select 'object ' || object || ' is discarded and used' from discarded_objects
    where object in (select object from blobs where object is not null)`,
  `select 'object ' || object || ' has arrived and is used' from arrivals
    where object in (select object from blobs where object is not null)`,
  `select 'thumbnail of ' || version_id from thumbnails where version_id not in (select id from versions)`,
  ...['collaborators', 'domains', 'review_links', 'review_threads', 'review_decisions'].map(
    (table) =>
      `select '${table} of ' || slug || ', which was deleted' from ${table} where slug not in (select slug from held)`,
  ),
  ...['review_links', 'review_threads', 'review_decisions'].map(
    (
      table,
    ) => `select '${table} of ' || preview_name || ' of ' || slug || ', which was deleted' from ${table} as r
      where preview_name <> '' and not exists (select 1 from versions as v where v.slug = r.slug
        and v.preview_name = r.preview_name and v.state = 'ready')`,
  ),
  ...['domains', 'trusts', 'named_keys', 'sessions'].map(
    (table) =>
      `select '${table} of a deleted account' from ${table} where account_id not in (select id from accounts)`,
  ),
  `select 'domain ' || domain || ' is active at a site of another account' from domains as d
    where not exists (select 1 from held where held.slug = d.slug and held.owner_id = d.account_id and deleted_at is null)`,
  `select 'domain ' || domain || ' is active twice' from domains where status = 'active' group by domain having count(*) > 1`,
  `select 'domain ' || domain || ' redirects to none' from domains as d where primary_domain is not null and not exists
    (select 1 from domains as p where p.domain = d.primary_domain and p.slug = d.slug and p.account_id = d.account_id)`,
]

const HELD = `with held as (select * from sites where deleted_at is null or kept_until is not null) `

/** What the rows of the database contradict. */
export async function findContradictions(world: World): Promise<string[]> {
  await using tables = await world.openTables()
  const rows = async <Row>(text: string) => (await sql.raw<Row>(text).execute(tables.db)).rows
  const found: string[] = []
  for (const text of FORBIDDEN)
    for (const row of await rows<object>(HELD + text)) found.push(Object.values(row).join())
  const blobs = await rows<{ hash: string; site: string | null; object: string | null }>(
    'select hash, site, object from blobs',
  )
  const names = await rows<{ hash: string; site: string }>('select hash, site from blob_names')
  const versions = await rows<VersionRow>(
    `select id, visits_key as site, state, files, injected_document_hash as document
      from versions join sites on sites.slug = versions.slug`,
  )
  const stored = new Set(blobs.map(({ hash }) => hash))
  const references = new Set([...blobs, ...names].map(({ site, hash }) => `${site} ${hash}`))
  const needed = new Set<string>()
  for (const { id, site, state, files, document } of versions) {
    if (document !== null) needed.add(`${site} ${document}`)
    for (const { hash, size, path } of parseFiles<{
      hash?: string
      size: number
      path: string
      contentType: string
    }>(files)) {
      needed.add(`${site} ${hash}`)
      if (state === 'pending' || size === 0) continue
      if (!references.has(`${site} ${hash}`)) found.push(`${path} of ${id} of ${site} has no reference`)
      if (!stored.has(hash!)) found.push(`${path} of ${id} of ${site} is not stored`)
    }
  }
  for (const reference of references)
    if (!reference.startsWith('null ') && !needed.has(reference))
      found.push(`the reference ${reference} is not needed`)
  return found
}

interface DomainRow {
  domain: string
  slug: string
  status: 'pending' | 'active'
  /** The domain to which it redirects. */
  main: string | null
}

export async function listDomains(world: World): Promise<DomainRow[]> {
  await using tables = await world.openTables()
  const text = 'select domain, slug, status, primary_domain as main from domains order by domain, account_id'
  return (await sql.raw<DomainRow>(text).execute(tables.db)).rows
}

/** What is stored too much or too little, when nothing has changed for a while. */
export async function findStrays(world: World): Promise<string[]> {
  await using tables = await world.openTables()
  const used = `select object from blobs where object is not null union select object from encodings where object is not null`
  const { rows } = await sql.raw<{ object: string }>(used).execute(tables.db)
  const [rowed, stored] = [
    new Set(rows.map(({ object }) => object)),
    new Set(await listObjects(world.operator.blobs)),
  ]
  return [
    ...[...stored].filter((one) => !rowed.has(one)).map((one) => `object ${one} has no row`),
    ...[...rowed].filter((one) => !stored.has(one)).map((one) => `object ${one} is lost`),
  ]
}
