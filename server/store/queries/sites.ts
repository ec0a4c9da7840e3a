import type { Kysely, Updateable } from 'kysely'
import type { Schema, SiteRow } from '../schema.ts'

export type SiteQueries = ReturnType<typeof siteQueries>

/** The end of a page of a listing. */
export interface SiteCursor {
  createdAt: number
  slug: string
}

export function siteQueries(db: Kysely<Schema>) {
  const all = () => db.selectFrom('sites').selectAll()
  /** Sites created before `before` without a finalized version and without a newer pending one. */
  const abandoned = (before: number) =>
    all()
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

  return {
    /** Also finds deleted sites: their slugs are retired forever. */
    bySlug: (slug: string) => all().where('slug', '=', slug).executeTakeFirst(),

    async insert(row: SiteRow): Promise<void> {
      await db.insertInto('sites').values(row).execute()
    },

    async update(slug: string, change: Updateable<SiteRow>): Promise<void> {
      await db.updateTable('sites').set(change).where('slug', '=', slug).execute()
    },

    /** An account's sites after the cursor, newest first. */
    byOwner(ownerId: string, limit: number, after?: SiteCursor) {
      let query = all()
        .where('owner_id', '=', ownerId)
        .where('gone_at', 'is', null)
        .orderBy('created_at', 'desc')
        .orderBy('slug', 'desc')
        .limit(limit)
      if (after) {
        query = query.where((e) =>
          e.or([
            e('created_at', '<', after.createdAt),
            e.and([e('created_at', '=', after.createdAt), e('slug', '<', after.slug)]),
          ]),
        )
      }
      return query.execute()
    },

    /** Number of sites of an account and bytes of their live versions. */
    async usage(ownerId: string): Promise<{ sites: number; totalBytes: number }> {
      const row = await db
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
    },

    /** Sites that have expired but are not deleted yet. */
    expired: (now: number, limit: number) =>
      all()
        .where('gone_at', 'is', null)
        .where('expires_at', '<=', now)
        .orderBy('expires_at')
        .limit(limit)
        .execute(),

    abandoned: (before: number, limit: number) =>
      abandoned(before).orderBy('created_at').limit(limit).execute(),

    isAbandoned: async (slug: string, before: number) =>
      (await abandoned(before).where('slug', '=', slug).executeTakeFirst()) !== undefined,
  }
}
