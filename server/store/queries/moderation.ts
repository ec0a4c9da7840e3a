import { sql } from 'kysely'
import { countDeleted, hasDeleted, QueryGroup } from '../statement.ts'
import {
  type Block,
  type BlockKind,
  blockTable,
  type ReportedSite,
  type ReportState,
  reportTable,
} from '../tables/moderation.ts'

export class BlockQueries extends QueryGroup {
  async list(kind?: BlockKind): Promise<Block[]> {
    let query = this.db.selectFrom('blocks').selectAll()
    if (kind !== undefined) query = query.where('kind', '=', kind)
    return blockTable.toEntities(await query.orderBy('created_at', 'desc').orderBy('value').execute())
  }

  /** Without that of `value`. */
  async countOthers(kind: BlockKind, value: string): Promise<number> {
    const row = await this.db
      .selectFrom('blocks')
      .select((e) => e.fn.countAll<number>().as('blocks'))
      .where('kind', '=', kind)
      .where('value', '!=', value)
      .executeTakeFirstOrThrow()
    return Number(row.blocks)
  }

  async put(block: Block): Promise<void> {
    const { kind, value, ...others } = blockTable.toRow(block)
    await this.db
      .insertInto('blocks')
      .values({ kind, value, ...others })
      .onConflict((conflict) => conflict.columns(['kind', 'value']).doUpdateSet(others))
      .execute()
  }

  /** Returns whether it existed, and had ended by `endedBy`, where that is given. */
  async remove(kind: BlockKind, value: string, endedBy?: number): Promise<boolean> {
    let query = this.db.deleteFrom('blocks').where('kind', '=', kind).where('value', '=', value)
    if (endedBy !== undefined) query = query.where('expires_at', '<=', endedBy)
    return hasDeleted(query)
  }

  async expired(now: number, limit: number): Promise<Block[]> {
    const query = this.db.selectFrom('blocks').selectAll().where('expires_at', '<=', now)
    return blockTable.toEntities(await query.orderBy('expires_at').limit(limit).execute())
  }
}

export class ReportQueries extends QueryGroup {
  async find(site: string): Promise<ReportedSite | undefined> {
    return reportTable.toEntityIfFound(await this.#all().where('site', '=', site).executeTakeFirst())
  }

  async put(reports: ReportedSite): Promise<void> {
    const { site, ...others } = reportTable.toRow(reports)
    await this.db
      .insertInto('reports')
      .values({ site, ...others })
      .onConflict((conflict) => conflict.column('site').doUpdateSet(others))
      .execute()
  }

  /** Open ones of these sites, with an action on them or with their deletion. */
  async markActed(sites: readonly string[], now: number): Promise<void> {
    if (sites.length === 0) return
    await this.db
      .updateTable('reports')
      .set({ state: 'acted', decided_at: now })
      .where('site', 'in', sites)
      .where('state', '=', 'open')
      .execute()
  }

  /** Those in a state, the last reported site first. `before` is the last one of the page before. */
  async list(
    state: ReportState,
    { limit, before }: { limit: number; before?: Pick<ReportedSite, 'lastAt' | 'site'> | undefined },
  ): Promise<ReportedSite[]> {
    let query = this.#all().where('state', '=', state)
    if (before)
      query = query.where((e) => e(e.refTuple('last_at', 'site'), '<', e.tuple(before.lastAt, before.site)))
    return reportTable.toEntities(
      await query.orderBy('last_at', 'desc').orderBy('site', 'desc').limit(limit).execute(),
    )
  }

  /**
   * Open ones with reports that the operator was not notified of, and no notification since `mailedBefore`, the last
   * reported site first: a flood of reports does not delay the notification of later ones.
   */
  async unmailed(mailedBefore: number, limit: number): Promise<ReportedSite[]> {
    const query = this.#all()
      // Written literally, because it must match a partial index.
      .where(sql<boolean>`state = 'open' and count > mailed_count`)
      .where((e) => e.or([e('mailed_at', 'is', null), e('mailed_at', '<=', mailedBefore)]))
    return reportTable.toEntities(await query.orderBy('last_at', 'desc').limit(limit).execute())
  }

  async deleteBefore(lastAt: number, limit: number): Promise<number> {
    const old = this.db.selectFrom('reports').select('site').where('last_at', '<', lastAt).limit(limit)
    return countDeleted(this.db.deleteFrom('reports').where('site', 'in', old))
  }

  #all() {
    return this.db.selectFrom('reports').selectAll()
  }
}
