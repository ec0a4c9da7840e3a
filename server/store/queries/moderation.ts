import { sql } from '#kysely'
import { keyedQueries, QueryGroup } from '../rows.ts'
import type { Block, BlockKind, ReportedSite, ReportState } from '../tables/moderation.ts'

export class BlockQueries extends QueryGroup {
  readonly #rows = this.rows('blocks')

  page({ kind, value }: Pick<Block, 'kind' | 'value'>, limit: number): Promise<Block[]> {
    const isAfter = sql<boolean>`(kind, value) > (${kind}, ${value})`
    return this.#rows.list((all) => all.where(isAfter).orderBy('kind').orderBy('value').limit(limit))
  }

  among(value: readonly string[]): Promise<Block[]> {
    return this.#rows.list({ kind: ['hash', 'network'], value })
  }

  /** Without that of `value`. */
  countOthers(kind: BlockKind, value: string): Promise<number> {
    return this.#rows.count({ kind, value: { '!=': value } })
  }

  /** Returns whether it existed, and had ended by `endedBy`, where that is given. */
  async remove(kind: BlockKind, value: string, endedBy?: number): Promise<boolean> {
    const hasEnded = endedBy === undefined ? {} : { expiresAt: { '<=': endedBy } }
    return (await this.#rows.remove({ kind, value, ...hasEnded })) > 0
  }

  expired(now: number, limit: number): Promise<Block[]> {
    return this.#rows.list({ expiresAt: { '<=': now } }, 'expiresAt', { limit })
  }
}

export class ReportQueries extends keyedQueries('reports', 'site') {
  /** Open ones of these sites, with an action on them or with their deletion. */
  async markActed(sites: readonly string[], now: number): Promise<void> {
    await this.table.update({ site: sites, state: 'open' }, { state: 'acted', decidedAt: now })
  }

  /** Those in a state, the last reported site first. `before` is the last one of the page before. */
  list(
    state: ReportState,
    { limit, before }: { limit: number; before?: Pick<ReportedSite, 'lastAt' | 'site'> | undefined },
  ): Promise<ReportedSite[]> {
    return this.table.list((all) => {
      const page = all
        .where('state', '=', state)
        .orderBy('last_at', 'desc')
        .orderBy('site', 'desc')
        .limit(limit)
      if (!before) return page
      return page.where((e) => e(e.refTuple('last_at', 'site'), '<', e.tuple(before.lastAt, before.site)))
    })
  }

  /**
   * Open ones with reports that the operator was not notified of, and no notification since `mailedBefore`, the last
   * reported site first: a flood of reports does not delay the notification of later ones.
   */
  unmailed(mailedBefore: number, limit: number): Promise<ReportedSite[]> {
    return this.table.list((all) =>
      all
        // Written literally, because it must match a partial index.
        .where(sql<boolean>`state = 'open' and count > mailed_count`)
        .where((e) => e.or([e('mailed_at', 'is', null), e('mailed_at', '<=', mailedBefore)]))
        .orderBy('last_at', 'desc')
        .limit(limit),
    )
  }
}
