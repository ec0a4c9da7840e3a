import { type Kysely, sql } from 'kysely'
import type { OwnerPage, Site, SiteQueries } from '../contract/sites.ts'
import { flag, RowMapper } from '../row-mapper.ts'
import type { Schema, SiteRow } from '../schema.ts'

const mapper = new RowMapper<Site, SiteRow>({
  slug: 'slug',
  ownerId: 'owner_id',
  claimTokenHash: 'claim_token_hash',
  liveVersionId: 'live_version_id',
  previousVersionId: 'previous_version_id',
  liveSince: 'live_since',
  title: 'title',
  description: 'description',
  ogImagePath: 'og_image_path',
  spaMode: flag('spa_mode'),
  passwordHash: 'password_hash',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  expiresAt: 'expires_at',
  deletedAt: 'gone_at',
  deletionReason: 'gone_reason',
})

const { toEntities, toEntityIfFound } = mapper

export class SqlSiteQueries implements SiteQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async bySlug(slug: string) {
    return toEntityIfFound(await this.#all().where('slug', '=', slug).executeTakeFirst())
  }

  async insert(site: Site) {
    await this.#db.insertInto('sites').values(mapper.toRow(site)).execute()
  }

  async update(slug: string, change: Partial<Site>) {
    await this.#db.updateTable('sites').set(mapper.toRow(change)).where('slug', '=', slug).execute()
  }

  async byOwner(ownerId: string, { limit, after, words = [] }: OwnerPage) {
    let query = this.#all()
      .where('owner_id', '=', ownerId)
      .where('gone_at', 'is', null)
      .orderBy('created_at', 'desc')
      .orderBy('slug', 'desc')
      .limit(limit)
    for (const word of words) {
      const pattern = `%${word.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
      const like = (column: 'slug' | 'title') =>
        sql<boolean>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`
      query = query.where((e) => e.or([like('slug'), like('title')]))
    }
    if (after) {
      query = query.where((e) =>
        e.or([
          e('created_at', '<', after.createdAt),
          e.and([e('created_at', '=', after.createdAt), e('slug', '<', after.slug)]),
        ]),
      )
    }
    return toEntities(await query.execute())
  }

  async usage(ownerId: string): Promise<{ sites: number; totalBytes: number }> {
    const row = await this.#db
      .selectFrom('sites')
      .leftJoin('versions', 'versions.id', 'sites.live_version_id')
      .where('owner_id', '=', ownerId)
      .where('gone_at', 'is', null)
      .select((e) => [
        e.fn.countAll<number>().as('sites'),
        e.fn.sum<number | null>('total_bytes').as('bytes'),
      ])
      .executeTakeFirstOrThrow()
    return { sites: Number(row.sites), totalBytes: Number(row.bytes ?? 0) }
  }

  async expired(now: number, limit: number) {
    return toEntities(
      await this.#all()
        .where('gone_at', 'is', null)
        .where('expires_at', '<=', now)
        .orderBy('expires_at')
        .limit(limit)
        .execute(),
    )
  }

  async abandoned(before: number, limit: number) {
    return toEntities(await this.#abandoned(before).orderBy('created_at').limit(limit).execute())
  }

  async isAbandoned(slug: string, before: number) {
    return (await this.#abandoned(before).where('slug', '=', slug).executeTakeFirst()) !== undefined
  }

  #all() {
    return this.#db.selectFrom('sites').selectAll()
  }

  #abandoned(before: number) {
    return this.#all()
      .where('gone_at', 'is', null)
      .where('live_version_id', 'is', null)
      .where('created_at', '<', before)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('versions')
              .select('versions.id')
              .whereRef('versions.slug', '=', 'sites.slug')
              .where((e) => e.or([e('state', '=', 'ready'), e('versions.created_at', '>=', before)])),
          ),
        ),
      )
  }
}
