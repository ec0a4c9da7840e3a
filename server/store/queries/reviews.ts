import { sql } from 'kysely'
import { QueryGroup } from '../rows.ts'
import { countDeleted, hasDeleted } from '../statement.ts'
import {
  type ReviewSubject,
  reviewDecisionTable,
  reviewLinkTable,
  reviewThreadTable,
  type StoredDecision,
  type StoredReviewLink,
  type StoredThread,
} from '../tables/reviews.ts'

const REVIEW_TABLES = ['review_links', 'review_threads', 'review_decisions'] as const

/** Reviews of previews and of live versions. Ids begin with their time. */
export class ReviewQueries extends QueryGroup {
  async linkByToken(tokenHash: string): Promise<StoredReviewLink | undefined> {
    const row = this.db.selectFrom('review_links').selectAll().where('token_hash', '=', tokenHash)
    return reviewLinkTable.toEntityIfFound(await row.executeTakeFirst())
  }

  /** Without those whose key has ended. */
  async links(subject: ReviewSubject): Promise<StoredReviewLink[]> {
    const rows = this.db
      .selectFrom('review_links')
      .selectAll()
      .where(isOf(subject))
      .where(({ or, eb, exists, selectFrom }) =>
        or([
          eb('key_hash', 'is', null),
          exists(
            selectFrom('named_keys')
              .select('id')
              .whereRef('named_keys.key_hash', '=', 'review_links.key_hash'),
          ),
        ]),
      )
      .orderBy('id')
    return reviewLinkTable.toEntities(await rows.execute())
  }

  async addLink(link: StoredReviewLink): Promise<void> {
    await this.db.insertInto('review_links').values(reviewLinkTable.toRow(link)).execute()
  }

  /** Returns whether the subject had the link. */
  async removeLink(subject: ReviewSubject, id: string): Promise<boolean> {
    const row = this.db.deleteFrom('review_links').where('id', '=', id).where(isOf(subject))
    return hasDeleted(row)
  }

  /** Those to all subjects of the site. */
  async removeLinksBy(accountId: string, slug: string): Promise<void> {
    const rows = this.db.deleteFrom('review_links').where('slug', '=', slug)
    await rows.where('created_by', '=', accountId).execute()
  }

  /** Of this subject, or of all; returns the number. */
  async removeExpiredLinks(now: number, limit: number, subject?: ReviewSubject): Promise<number> {
    let expired = this.db.selectFrom('review_links').select('id').where('expires_at', '<=', now)
    if (subject) expired = expired.where(isOf(subject))
    return countDeleted(this.db.deleteFrom('review_links').where('id', 'in', expired.limit(limit)))
  }

  /** The newest first. */
  async threads(subject: ReviewSubject): Promise<StoredThread[]> {
    const rows = this.db.selectFrom('review_threads').selectAll().where(isOf(subject)).orderBy('id', 'desc')
    return reviewThreadTable.toEntities(await rows.execute())
  }

  async thread(subject: ReviewSubject, id: string): Promise<StoredThread | undefined> {
    const row = this.db.selectFrom('review_threads').selectAll().where('id', '=', id).where(isOf(subject))
    return reviewThreadTable.toEntityIfFound(await row.executeTakeFirst())
  }

  async addThread(thread: StoredThread): Promise<void> {
    await this.db.insertInto('review_threads').values(reviewThreadTable.toRow(thread)).execute()
  }

  async updateThread(id: string, change: Partial<StoredThread>): Promise<void> {
    const row = this.db.updateTable('review_threads').set(reviewThreadTable.toRow(change))
    await row.where('id', '=', id).execute()
  }

  async removeThread(id: string): Promise<void> {
    await this.db.deleteFrom('review_threads').where('id', '=', id).execute()
  }

  /** Threads of a subject, and their characters. */
  async size(subject: ReviewSubject): Promise<{ threads: number; characters: number }> {
    const { threads, characters } = await this.db
      .selectFrom('review_threads')
      .select((e) => [e.fn.countAll<number>().as('threads'), e.fn.sum<number>('characters').as('characters')])
      .where(isOf(subject))
      .executeTakeFirstOrThrow()
    return { threads: Number(threads), characters: Number(characters ?? 0) }
  }

  async oldestResolved(subject: ReviewSubject): Promise<string | undefined> {
    const rows = this.db.selectFrom('review_threads').select('id').where(isOf(subject))
    const oldest = rows.where('status', '=', 'resolved').orderBy('id').limit(1)
    return (await oldest.executeTakeFirst())?.id
  }

  /** Open threads of all subjects of each of these sites; sites without any are absent. */
  async openThreads(slugs: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (slugs.length === 0) return new Map()
    const rows = await this.db
      .selectFrom('review_threads')
      .select((e) => ['slug', e.fn.countAll<number>().as('threads')])
      .where('slug', 'in', slugs)
      .where('status', '=', 'open')
      .groupBy('slug')
      .execute()
    return new Map(rows.map(({ slug, threads }) => [slug, Number(threads)]))
  }

  /** Another text after each change of a thread, and after each decision. */
  async revision(subject: ReviewSubject): Promise<string> {
    const { rows } = await sql<
      Record<'changed' | 'threads' | 'characters' | 'decision', number | string | null>
    >`
      select sum(changed_at) as changed, count(*) as threads, sum(characters) as characters,
        (select max(id) from review_decisions where ${isOf(subject)}) as decision
      from review_threads where ${isOf(subject)}`.execute(this.db)
    const { changed, threads, characters, decision } = rows[0]!
    return [changed ?? 0, threads, characters ?? 0, decision ?? ''].join('.')
  }

  async addDecision(decision: StoredDecision): Promise<void> {
    await this.db.insertInto('review_decisions').values(reviewDecisionTable.toRow(decision)).execute()
  }

  /** The newest first. */
  async decisions(subject: ReviewSubject, limit: number): Promise<StoredDecision[]> {
    const rows = this.db.selectFrom('review_decisions').selectAll().where(isOf(subject))
    return reviewDecisionTable.toEntities(await rows.orderBy('id', 'desc').limit(limit).execute())
  }

  /** About this content, in every review of the site; the newest first. */
  async decisionsAbout(slug: string, contentHash: string, limit: number): Promise<StoredDecision[]> {
    const rows = this.db.selectFrom('review_decisions').selectAll().where('slug', '=', slug)
    const newest = rows.where('content_hash', '=', contentHash).orderBy('id', 'desc').limit(limit)
    return reviewDecisionTable.toEntities(await newest.execute())
  }

  async remove(subject: ReviewSubject): Promise<void> {
    for (const table of REVIEW_TABLES) await this.db.deleteFrom(table).where(isOf(subject)).execute()
  }

  async removeOfSite(slug: string): Promise<void> {
    for (const table of REVIEW_TABLES) await this.db.deleteFrom(table).where('slug', '=', slug).execute()
  }
}

function isOf({ slug, previewName }: ReviewSubject) {
  return sql<boolean>`slug = ${slug} and preview_name = ${previewName}`
}
