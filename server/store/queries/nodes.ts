import type { Kysely } from 'kysely'
import type { NodeQueries, NodeReport } from '../contract/nodes.ts'
import { json, RowMapper } from '../row-mapper.ts'
import type { NodeRow, Schema } from '../schema.ts'

const mapper = new RowMapper<NodeReport, NodeRow>({
  id: 'id',
  host: 'host',
  release: 'release',
  startedAt: 'started_at',
  seenAt: 'seen_at',
  numbers: json('numbers'),
})

export class SqlNodeQueries implements NodeQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async report(node: NodeReport) {
    const { id, ...row } = mapper.toRow(node)
    await this.#db
      .insertInto('nodes')
      .values({ id, ...row })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
      .execute()
  }

  async list() {
    const query = this.#db.selectFrom('nodes').selectAll().orderBy('started_at').orderBy('id')
    return mapper.toEntities(await query.execute())
  }

  async remove(id: string) {
    await this.#db.deleteFrom('nodes').where('id', '=', id).execute()
  }

  async removeUnseen(before: number) {
    await this.#db.deleteFrom('nodes').where('seen_at', '<', before).execute()
  }
}
