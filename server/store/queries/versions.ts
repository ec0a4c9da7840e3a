import { type Kysely, type RawBuilder, sql } from '#kysely'
import { isPostgres, keyedQueries, QueryGroup } from '../rows.ts'
import type { Schema } from '../schema.ts'
import { rowsStatement, statement, toBatches } from '../statement.ts'
import {
  type Arrival,
  arrivalTable,
  encodingsLease,
  type FormerFiles,
  type ManifestFile,
  parseHashes,
  sumUploads,
  type Version,
  type VersionHeader,
  versionHeader,
  versionTable,
} from '../tables/versions.ts'
import { BlobQueries, containsHash } from './blobs.ts'

const versionFiles = versionTable.pick('files')
const formerFiles = versionTable.pick('id', 'previewName', 'files')

const RECORD_BYTES =
  sql<number>`case when state = 'former' then 0 else octet_length(files) + coalesce(octet_length(rules), 0) end`.as(
    'record_bytes',
  )

/** Whether a content is known and referenced by the site of the version, for which a row of `arrivals` was received. */
const IS_REFERENCED = sql<boolean | number>`exists (
  select 1 from versions join sites on sites.slug = versions.slug join blobs on blobs.hash = arrivals.hash
  where versions.id = arrivals.version_id and blobs.object is not null and (blobs.site = visits_key or exists (
    select 1 from blob_names where blob_names.hash = blobs.hash and blob_names.site = visits_key)))`.as(
  'referenced',
)

const BYTES = statement((db, id: string) =>
  db.selectFrom('versions').select(RECORD_BYTES).where('id', '=', id),
)
const TAKE = statement(deleteArrivals)
const PENDING = rowsStatement(['id'], (db, rows: readonly { id: string }[]) =>
  db
    .selectFrom('versions')
    .select(['id', 'slug'])
    .where(
      'id',
      'in',
      rows.map(({ id }) => id),
    )
    .where('state', '=', 'pending'),
)
const INSERT_ARRIVALS = rowsStatement(arrivalTable.columns, (db, rows: readonly Schema['arrivals'][]) =>
  db
    .insertInto('arrivals')
    .values(rows)
    .onConflict((c) => c.doNothing())
    .returning('file_number'),
)

function deleteArrivals(db: Kysely<Schema>, id: string) {
  return db.deleteFrom('arrivals').where('version_id', '=', id).returningAll().returning(IS_REFERENCED)
}

/** Reading manifests costs as much as searching them for this many hashes. */
const MAX_SEARCHED_HASHES = 10

/** Of SQLite one, because a statement holds the event loop: 6 ms for a manifest of 1 MB. */
const MANIFESTS_PER_QUERY = 10

interface RemovedVersion {
  hashes: string[]
  injectedDocumentHash: string | null
  uploadBytes: number
  recordBytes: number
}

export interface KeptVersions {
  versions: number
  drafts: number
  /** Of the owners: only these, or all except these, with the sites without an owner. */
  plans: { only: readonly string[] } | { except: readonly string[] }
}

/** Ids grow with time. A change of an absent version changes nothing. */
export class VersionQueries extends keyedQueries('versions', 'id') {
  readonly #headers = this.rows('versions', versionHeader)
  readonly #arrivals = this.rows('arrivals')

  header(id: string): Promise<VersionHeader | undefined> {
    return this.#headers.find({ id })
  }

  headers(ids: readonly string[]): Promise<VersionHeader[]> {
    return this.#headers.list({ id: ids })
  }

  /** Also removes its thumbnail and its received files, whose objects are discarded. Idempotent. */
  async remove(id: string): Promise<RemovedVersion> {
    await this.#discard(await this.takeArrivals(id))
    await this.rows('thumbnails').remove({ versionId: id })
    const row = await this.db
      .deleteFrom('versions')
      .where('id', '=', id)
      .returning(['state', 'files', 'injected_document_hash', RECORD_BYTES])
      .executeTakeFirst()
    if (!row) return { hashes: [], injectedDocumentHash: null, uploadBytes: 0, recordBytes: 0 }
    return {
      hashes: parseHashes(row.files),
      injectedDocumentHash: row.injected_document_hash,
      uploadBytes: row.state === 'pending' ? sumUploads(row.state, versionFiles.toEntity(row).files) : 0,
      recordBytes: row.record_bytes,
    }
  }

  async setThumbnail(id: string, hash: string, bytes: Buffer): Promise<void> {
    if (await this.table.update({ id }, { thumbnailHash: hash }))
      await this.rows('thumbnails').put({ versionId: id, picture: bytes.toString('base64') })
  }

  async findThumbnail(id: string): Promise<Buffer | undefined> {
    const found = await this.rows('thumbnails').find({ versionId: id })
    return found && Buffer.from(found.picture, 'base64')
  }

  /** Live versions without a thumbnail, of sites that changed since that time, the last one first. */
  async withoutThumbnail(since: number, limit: number): Promise<Pick<Version, 'id' | 'slug'>[]> {
    return this.db
      .selectFrom('sites')
      .innerJoin('versions', 'versions.id', 'sites.live_version_id')
      .select(['versions.id', 'versions.slug'])
      .where('sites.updated_at', '>=', since)
      .where('deleted_at', 'is', null)
      .where('thumbnail_hash', 'is', null)
      .orderBy('sites.updated_at', 'desc')
      .limit(limit)
      .execute()
  }

  bySlug(slug: string): Promise<VersionHeader[]> {
    return this.#headers.list({ slug }, 'id desc')
  }

  async findFiles(id: string | null): Promise<readonly ManifestFile[] | undefined> {
    return id === null ? undefined : (await this.rows('versions', versionFiles).find({ id }))?.files
  }

  /** One of the site, and one of each preview. */
  async listFormer(slug: string): Promise<FormerFiles[]> {
    return (await this.rows('versions', formerFiles).list({ slug, state: 'former' })) as FormerFiles[]
  }

  /** The bytes of the manifest and the rules of a version, as they are stored; 0 of a record of former files. */
  async recordBytes(id: string): Promise<number> {
    return (await BYTES(this.db, id))[0]?.record_bytes ?? 0
  }

  /** The finalized version that a preview of the site shows, the newest one of this name. */
  findPreview(slug: string, name: string): Promise<VersionHeader | undefined> {
    return this.#headers.find({ slug, previewName: name, state: 'ready' }, 'id desc')
  }

  async countPreviews(slug: string, now: number): Promise<number> {
    const row = await this.db
      .selectFrom('versions')
      .select((e) => e.fn.count<number>('preview_name').distinct().as('previews'))
      .where('slug', '=', slug)
      .where('preview_name', 'is not', null)
      .where('preview_until', '>', now)
      .where('state', '=', 'ready')
      .executeTakeFirstOrThrow()
    return row.previews
  }

  /** Also other hashes of the versions. In pages, because a site may have many long manifests. */
  async neededAmong(slug: string, hashes: readonly string[]): Promise<Set<string>> {
    const ofSite = this.db.selectFrom('versions').where('slug', '=', slug).orderBy('id', 'desc')
    const columns = ['files', 'injected_document_hash'] as const
    // Versions of a site have most of their files in common.
    const newest = await ofSite.select(columns).where('state', '=', 'ready').limit(1).execute()
    const needed = new Set(newest.flatMap(listHashes))
    let others = hashes.filter((hash) => !needed.has(hash))
    const rows = others.length === 0 ? [] : await ofSite.select('id').execute()
    for (const page of toBatches(rows, isPostgres(this.db) ? MANIFESTS_PER_QUERY : 1)) {
      if (others.length === 0) break
      const ids = page.map(({ id }) => id)
      const found =
        others.length > MAX_SEARCHED_HASHES
          ? (await ofSite.select(columns).where('id', 'in', ids).execute()).flatMap(listHashes)
          : await this.#searchManifests(ids, others)
      for (const hash of found) needed.add(hash)
      others = others.filter((hash) => !needed.has(hash))
    }
    return needed
  }

  async #searchManifests(ids: readonly string[], hashes: readonly string[]) {
    const searches = hashes.map(
      (hash) => sql`select ${hash} as hash where exists (select 1 from versions where id in (${sql.join(ids)})
        and (${containsHash(this.db, hash)} or injected_document_hash = ${hash}))`,
    )
    const { rows } = await sql<{ hash: string }>`${sql.join(searches, sql` union all `)}`.execute(this.db)
    return rows.map(({ hash }) => hash)
  }

  newestPending(slug: string): Promise<Version | undefined> {
    return this.table.find({ slug, state: 'pending' }, 'id desc')
  }

  async listNewestPending(slugs: readonly string[]): Promise<VersionHeader[]> {
    if (slugs.length === 0) return []
    const newest = this.db
      .selectFrom('versions')
      .select((e) => e.fn.max('id').as('id'))
      .where('slug', 'in', slugs)
      .where('state', '=', 'pending')
      .groupBy('slug')
    return this.#headers.list((all) => all.where('id', 'in', newest))
  }

  abandoned(before: number, limit: number): Promise<VersionHeader[]> {
    return this.#headers.list({ state: 'pending', createdAt: { '<': before } }, 'createdAt', { limit })
  }

  /** Finalized versions with incomplete encodings whose `encodingsLease` no node holds at `now`, newest first. */
  notPrecompressed(now: number, limit: number): Promise<VersionHeader[]> {
    const isLeased = sql`exists (select 1 from leases
      where name = ${encodingsLease('')} || versions.id and until > ${now})`
    return this.#headers.list((all) =>
      all
        // Written literally, because it must match a partial index.
        .where(sql<boolean>`state = 'ready' and is_encoded = 0 and not ${isLeased}`)
        .orderBy('created_at', 'desc')
        .limit(limit),
    )
  }

  /** Those of these sites with more versions that were live, or more drafts, than are kept. Of previews, only a live one counts. */
  async overVersionLimit(kept: KeptVersions, slugs: readonly string[]): Promise<string[]> {
    const rows = await this.#ofPlans(kept.plans)
      .innerJoin('versions', 'versions.slug', 'sites.slug')
      .select('sites.slug')
      .where('sites.slug', 'in', slugs)
      .where('deleted_at', 'is', null)
      .where('versions.state', '=', 'ready')
      .where((e) => e.or([e('preview_name', 'is', null), e('versions.id', '=', e.ref('live_version_id'))]))
      .groupBy('sites.slug')
      .having(({ eb, fn, or }) => {
        const live = fn.count('versions.published_at')
        return or([eb(live, '>', kept.versions), eb(eb(fn.countAll(), '-', live), '>', kept.drafts)])
      })
      .execute()
    return rows.map((row) => row.slug)
  }

  withOldDrafts(before: number, limit: number): Promise<string[]> {
    // The first half is written literally, because it must match a partial index.
    return this.#sitesWith(
      sql`state = 'ready' and published_at is null and preview_name is null and versions.created_at < ${before}`,
      limit,
    )
  }

  withEndedPreviews(now: number, limit: number): Promise<string[]> {
    return this.#sitesWith(sql`preview_until <= ${now} and versions.state in ('ready', 'former')`, limit)
  }

  /** Slugs of sites that are not deleted, and have such a version. */
  async #sitesWith(versions: RawBuilder<unknown>, limit: number): Promise<string[]> {
    const { rows } = await sql<{ slug: string }>`
      select distinct versions.slug from versions join sites on sites.slug = versions.slug
      where ${versions} and deleted_at is null limit ${limit}`.execute(this.db)
    return rows.map(({ slug }) => slug)
  }

  async pendingAmong(ids: readonly string[]): Promise<Map<string, string>> {
    const wanted = ids.map((id) => ({ id }))
    const rows = await PENDING(this.db, wanted)
    return new Map(rows.map((row) => [row.id, row.slug]))
  }

  /** Replaces earlier uploads of the files, unless they have the same bytes. Discards and returns unneeded objects. */
  async recordArrivals(arrivals: readonly Arrival[]): Promise<string[]> {
    const latest = new Map(arrivals.map((one) => [fileKey(one), one]))
    const unneeded = arrivals.filter((one) => latest.get(fileKey(one)) !== one)
    for (const [id, files] of Map.groupBy(latest.values(), (one) => one.versionId)) {
      for (const batch of toBatches(files)) {
        const { replaced, repeated } = await this.#replaceArrivals(id, batch)
        unneeded.push(...replaced, ...repeated)
      }
    }
    return this.#discard(unneeded)
  }

  listArrivals(id: string): Promise<Arrival[]> {
    return this.#arrivals.list({ versionId: id })
  }

  async takeArrivals(
    id: string,
    objects?: readonly string[],
  ): Promise<(Arrival & { isReferenced: boolean })[]> {
    const rows: Awaited<ReturnType<typeof TAKE>> = []
    if (objects === undefined) rows.push(...(await TAKE(this.db, id)))
    else
      for (const batch of toBatches(objects))
        rows.push(...(await deleteArrivals(this.db, id).where('object', 'in', batch).execute()))
    return rows.map(({ referenced, ...row }) => {
      return { ...arrivalTable.toEntity(row), isReferenced: Boolean(referenced) }
    })
  }

  /** Of versions with ids before `id` that are not pending; discards their objects. Returns their number. */
  async discardStrayArrivals(id: string): Promise<number> {
    const rows = await this.db
      .deleteFrom('arrivals')
      .where('version_id', '<', id)
      .where(sql<boolean>`not exists (select 1 from versions where id = version_id and state = 'pending')`)
      .returningAll()
      .execute()
    await this.#discard(arrivalTable.toEntities(rows))
    return rows.length
  }

  /** Records files of one version. `repeated` have the bytes of an earlier upload, which stays. */
  async #replaceArrivals(id: string, files: readonly Arrival[]) {
    const inserted = await this.#insertArrivals(files)
    const again = files.filter(({ fileNumber }) => !inserted.has(fileNumber))
    if (again.length === 0) return { replaced: [], repeated: [] }
    const earlier = await this.#arrivals.list({ versionId: id, fileNumber: listNumbers(again) })
    const byNumber = new Map(earlier.map((one) => [one.fileNumber, one]))
    const { repeated = [], changed = [] } = Object.groupBy(again, ({ fileNumber, hash, size }) => {
      const before = byNumber.get(fileNumber)
      return before?.hash === hash && before.size === size ? 'repeated' : 'changed'
    })
    if (changed.length === 0) return { replaced: [], repeated }
    const replaced = await this.#arrivals.take({ versionId: id, fileNumber: listNumbers(changed) })
    await this.#insertArrivals(changed)
    return { replaced, repeated }
  }

  /** Returns the numbers of the files of which there was no upload. */
  async #insertArrivals(arrivals: readonly Arrival[]): Promise<Set<number>> {
    const added = arrivals.map((one) => arrivalTable.toRow(one))
    const rows = await INSERT_ARRIVALS(this.db, added)
    return new Set(rows.map((row) => row.file_number))
  }

  async #discard(arrivals: readonly Arrival[]): Promise<string[]> {
    const objects = arrivals.map(({ object }) => object)
    await new BlobQueries(this.db).discard(objects)
    return objects
  }

  /** Sites whose owners have these plans; each owner is looked up, because few sites are asked for. */
  #ofPlans(plans: KeptVersions['plans']) {
    const sites = this.db.selectFrom('sites')
    const plan = sql<string>`coalesce((select plan from accounts where accounts.id = sites.owner_id), '')`
    if ('only' in plans) return sites.where(plan, 'in', plans.only)
    return plans.except.length === 0 ? sites : sites.where(plan, 'not in', plans.except)
  }
}

function listHashes(row: Pick<Schema['versions'], 'files' | 'injected_document_hash'>): string[] {
  const { files, injected_document_hash: injected } = row
  return [...parseHashes(files), ...(injected === null ? [] : [injected])]
}

function listNumbers(arrivals: readonly Arrival[]): number[] {
  return arrivals.map(({ fileNumber }) => fileNumber)
}

function fileKey({ versionId, fileNumber }: Arrival): string {
  return `${versionId} ${fileNumber}`
}

/** A hash is that of the content of an accepted file, or also of its path and type. */
export class ScanQueries extends QueryGroup {
  readonly #rows = this.rows('accepted_scans')

  async acceptedAmong(scanner: string, hashes: readonly string[], since: number): Promise<Set<string>> {
    const accepted = new Set<string>()
    for (const batch of toBatches(hashes)) {
      const found = await this.#rows.pluck('hash', { hash: batch, scanner, acceptedAt: { '>=': since } })
      for (const hash of found) accepted.add(hash)
    }
    return accepted
  }

  /** Idempotent; a later time replaces an earlier one. */
  accept(scanner: string, hashes: readonly string[], now: number): Promise<void> {
    return this.#rows.put(hashes.map((hash) => ({ hash, scanner, acceptedAt: now })))
  }
}
