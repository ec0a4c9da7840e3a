import type { TicketKey } from '../tables/ticket-keys.ts'
import { QueryGroup } from './query-group.ts'

export class TicketKeyQueries extends QueryGroup {
  find(period: number): Promise<TicketKey | undefined> {
    return this.db.selectFrom('ticket_keys').selectAll().where('period', '=', period).executeTakeFirst()
  }

  async put(row: TicketKey): Promise<void> {
    await this.db
      .insertInto('ticket_keys')
      .values(row)
      .onConflict((conflict) => conflict.column('period').doUpdateSet({ key: row.key }))
      .execute()
  }

  async dropBefore(period: number): Promise<void> {
    await this.db.deleteFrom('ticket_keys').where('period', '<', period).execute()
  }
}
