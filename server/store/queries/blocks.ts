import type { Kysely } from 'kysely'
import type { Block, BlockKind, BlockQueries } from '../contract/blocks.ts'
import type { BlockRow } from '../moderation-rows.ts'
import { RowMapper } from '../row-mapper.ts'
import type { Schema } from '../schema.ts'
import { toBatches } from './batches.ts'

const mapper = new RowMapper<Block, BlockRow>({
  kind: 'kind',
  value: 'value',
  reason: 'reason',
  createdAt: 'created_at',
  expiresAt: 'expires_at',
})

export class SqlBlockQueries implements BlockQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async list(kind: BlockKind) {
    const query = this.#db.selectFrom('blocks').selectAll().where('kind', '=', kind)
    return mapper.toEntities(await query.orderBy('created_at', 'desc').orderBy('value').execute())
  }

  async count(kind: BlockKind) {
    const row = await this.#db
      .selectFrom('blocks')
      .select((e) => e.fn.countAll<number>().as('blocks'))
      .where('kind', '=', kind)
      .executeTakeFirstOrThrow()
    return Number(row.blocks)
  }

  async put(block: Block) {
    const { kind, value, ...others } = mapper.toRow(block)
    await this.#db
      .insertInto('blocks')
      .values({ kind, value, ...others })
      .onConflict((conflict) => conflict.columns(['kind', 'value']).doUpdateSet(others))
      .execute()
  }

  async remove(kind: BlockKind, value: string) {
    const query = this.#db.deleteFrom('blocks').where('kind', '=', kind).where('value', '=', value)
    return (await query.executeTakeFirstOrThrow()).numDeletedRows > 0n
  }

  async expired(now: number, limit: number) {
    const query = this.#db.selectFrom('blocks').selectAll().where('expires_at', '<=', now)
    return mapper.toEntities(await query.orderBy('expires_at').limit(limit).execute())
  }

  async hashesAmong(hashes: readonly string[]) {
    const found = new Set<string>()
    for (const batch of toBatches(hashes)) {
      const query = this.#db.selectFrom('blocks').select('value').where('kind', '=', 'hash')
      for (const { value } of await query.where('value', 'in', batch).execute()) found.add(value)
    }
    return found
  }
}
