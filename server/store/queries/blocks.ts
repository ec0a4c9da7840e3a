import { type Block, type BlockKind, blockTable } from '../tables/blocks.ts'
import { hasDeleted, QueryGroup } from './query-group.ts'

export class BlockQueries extends QueryGroup {
  async list(kind?: BlockKind): Promise<Block[]> {
    let query = this.db.selectFrom('blocks').selectAll()
    if (kind !== undefined) query = query.where('kind', '=', kind)
    return blockTable.toEntities(await query.orderBy('created_at', 'desc').orderBy('value').execute())
  }

  async count(kind: BlockKind): Promise<number> {
    const row = await this.db
      .selectFrom('blocks')
      .select((e) => e.fn.countAll<number>().as('blocks'))
      .where('kind', '=', kind)
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
