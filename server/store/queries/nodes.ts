import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'
import type { NodeQueries, NodeReport } from '../tables/nodes.ts'
import { nodeTable } from '../tables/nodes.ts'

export class SqlNodeQueries implements NodeQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async report(node: NodeReport) {
    const { id, ...row } = nodeTable.toRow(node)
    await this.#db
      .insertInto('nodes')
      .values({ id, ...row })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
      .execute()
  }

  async list() {
    const query = this.#db.selectFrom('nodes').selectAll().orderBy('started_at').orderBy('id')
    return nodeTable.toEntities(await query.execute())
  }

  async remove(id: string) {
    await this.#db.deleteFrom('nodes').where('id', '=', id).execute()
  }

  async removeUnseen(before: number) {
    await this.#db.deleteFrom('nodes').where('seen_at', '<', before).execute()
  }
}
