import { sql } from '#kysely'
import { QueryGroup } from '../rows.ts'
import type { ReviewSubject, StoredDecision, StoredReviewLink, StoredThread } from '../tables/reviews.ts'

const REVIEW_TABLES = ['review_links', 'review_threads', 'review_decisions'] as const

/** Without a name of a preview, all subjects of the site. */
type SubjectOrSite = Pick<ReviewSubject, 'slug'> & Partial<ReviewSubject>

/** Reviews of previews and of live versions. Ids begin with their time. */
export class ReviewQueries extends QueryGroup {
  readonly #links = this.rows('review_links')
  readonly #threads = this.rows('review_threads')
  readonly #decisions = this.rows('review_decisions')

  linkByToken(tokenHash: string): Promise<StoredReviewLink | undefined> {
    return this.#links.find({ tokenHash })
  }

  links({ slug, previewName }: ReviewSubject): Promise<StoredReviewLink[]> {
    return this.#links.list({ slug, previewName }, 'id')
  }

  /** Returns whether the subject had the link. */
  async removeLink({ slug, previewName }: ReviewSubject, id: string): Promise<boolean> {
    return (await this.#links.remove({ id, slug, previewName })) > 0
  }

  /** Those to all subjects of the site. */
  async removeLinksBy(accountId: string, slug: string): Promise<void> {
    await this.#links.remove({ slug, createdBy: accountId })
  }

  /** Those that have expired. */
  async removeEndedLinks({ slug, previewName }: ReviewSubject, now: number): Promise<void> {
    await this.#links.remove({ slug, previewName, expiresAt: { '<=': now } })
  }

  /** Those of an account whose key, or access of a program, has ended; returns the slugs of their sites. */
  async removeLinksOfEndedKeys(accountId: string): Promise<Set<string>> {
    const slugs = await this.#links.pluck('slug', (all) => all.where(isOfEndedKey(accountId)), 'slug')
    if (slugs.length > 0) await this.#links.remove((all) => all.where(isOfEndedKey(accountId)))
    return new Set(slugs)
  }

  /** The slugs of sites to which the account created links. */
  async linkedSites(createdBy: string): Promise<Set<string>> {
    return new Set(await this.#links.pluck('slug', { createdBy }, 'slug'))
  }

  /** The newest first. */
  threads({ slug, previewName }: ReviewSubject): Promise<StoredThread[]> {
    return this.#threads.list({ slug, previewName }, 'id desc')
  }

  thread({ slug, previewName }: ReviewSubject, id: string): Promise<StoredThread | undefined> {
    return this.#threads.find({ id, slug, previewName })
  }

  async updateThread(id: string, change: Partial<StoredThread>): Promise<void> {
    await this.#threads.update({ id }, change)
  }

  /** The number of threads, and their characters. */
  async size(subject: SubjectOrSite): Promise<{ threads: number; characters: number }> {
    return this.db
      .selectFrom('review_threads')
      .select((e) => e.fn.countAll<number>().as('threads'))
      .select(sql<number>`coalesce(sum(characters), 0)`.as('characters'))
      .where(isOf(subject))
      .executeTakeFirstOrThrow()
  }

  oldestResolved({ slug, previewName }: ReviewSubject, except = ''): Promise<StoredThread | undefined> {
    const which = { slug, previewName, status: 'resolved', id: { '!=': except } } as const
    return this.#threads.find(which, 'id', { limit: 1 })
  }

  /** Unresolved threads of all subjects of each of these sites, and the first of these subjects; sites without any are absent. */
  async openThreads(
    slugs: readonly string[],
  ): Promise<ReadonlyMap<string, { threads: number; previewName: string }>> {
    if (slugs.length === 0) return new Map()
    const rows = await this.db
      .selectFrom('review_threads')
      .select((e) => ['slug', e.fn.countAll<number>().as('threads')])
      .select((e) => e.fn.min('preview_name').as('previewName'))
      .where('slug', 'in', slugs)
      .where('status', '=', 'open')
      .groupBy('slug')
      .execute()
    return new Map(rows.map(({ slug, ...found }) => [slug, found]))
  }

  /** Another text after each change of a thread, after each decision, and when others are outdated in the shown version. */
  async revision(subject: ReviewSubject, shownId: string): Promise<string> {
    const { rows } = await sql<
      Record<'changed' | 'threads' | 'characters' | 'outdated' | 'decision', number | string | null>
    >`
      select sum(changed_at) as changed, count(*) as threads, sum(characters) as characters,
        sum(case when outdated_in = ${shownId} then changed_at end) as outdated,
        (select max(id) from review_decisions where ${isOf(subject)}) as decision
      from review_threads where ${isOf(subject)}`.execute(this.db)
    const { changed, threads, characters, outdated, decision } = rows[0]!
    return [shownId, changed ?? 0, threads, characters ?? 0, outdated ?? 0, decision ?? ''].join('.')
  }

  /** The newest first. */
  decisions({ slug, previewName }: ReviewSubject, limit: number): Promise<StoredDecision[]> {
    return this.#decisions.list({ slug, previewName }, 'id desc', { limit })
  }

  /** Those beyond the newest, each with all earlier ones about its content, so that none of these counts again. */
  async removeOldDecisions({ slug, previewName }: ReviewSubject, kept: number): Promise<void> {
    const beyond = await this.#decisions.find({ slug, previewName }, 'id desc', { limit: 1, offset: kept })
    if (!beyond) return
    const { contentHash, id } = beyond
    await this.#decisions.remove({ slug, contentHash, id: { '<=': id } })
  }

  /** About this content, in every review of the site; the newest first. */
  decisionsAbout(slug: string, contentHash: string, limit: number): Promise<StoredDecision[]> {
    return this.#decisions.list({ slug, contentHash }, 'id desc', { limit })
  }

  /** Returns the characters of the threads. Earlier approvals of what it requested changes to end, in other reviews too. */
  async remove(subject: SubjectOrSite): Promise<number> {
    const { characters } = await this.size(subject)
    await sql`delete from review_decisions as earlier where slug = ${subject.slug}
      and decision = 'approved' and exists (
      select 1 from review_decisions where ${isOf(subject)} and decision = 'changes-requested'
        and content_hash = earlier.content_hash and id > earlier.id)`.execute(this.db)
    for (const table of REVIEW_TABLES) await this.db.deleteFrom(table).where(isOf(subject)).execute()
    return characters
  }
}

function isOf({ slug, previewName }: SubjectOrSite) {
  const isOfSite = sql<boolean>`slug = ${slug}`
  return previewName === undefined ? isOfSite : sql<boolean>`${isOfSite} and preview_name = ${previewName}`
}

function isOfEndedKey(accountId: string) {
  return sql<boolean>`created_by = ${accountId} and key_hash is not null
    and not exists (select 1 from named_keys where named_keys.key_hash = review_links.key_hash)
    and not exists (select 1 from oauth_records where id_hash = review_links.key_hash)`
}
