import { type NodeReport, nodeTable } from '../tables/nodes.ts'
import { QueryGroup } from './query-group.ts'

export class NodeQueries extends QueryGroup {
  async report(node: NodeReport): Promise<void> {
    const { id, ...row } = nodeTable.toRow(node)
    await this.db
      .insertInto('nodes')
      .values({ id, ...row })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
      .execute()
  }

  async list(): Promise<NodeReport[]> {
    const query = this.db.selectFrom('nodes').selectAll().orderBy('started_at').orderBy('id')
    return nodeTable.toEntities(await query.execute())
  }

  async remove(id: string): Promise<void> {
    await this.db.deleteFrom('nodes').where('id', '=', id).execute()
  }

  /** Of all hosts, or of one. */
  async removeUnseen(before: number, host?: string): Promise<void> {
    const unseen = this.db.deleteFrom('nodes').where('seen_at', '<', before)
    await (host === undefined ? unseen : unseen.where('host', '=', host)).execute()
  }
}
