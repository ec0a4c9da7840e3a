import type { OperatorSettingName } from '../tables/operator-settings.ts'
import { hasDeleted, QueryGroup } from './query-group.ts'

export class OperatorSettingQueries extends QueryGroup {
  async find(name: OperatorSettingName): Promise<unknown> {
    const row = await this.db
      .selectFrom('operator_settings')
      .select('value')
      .where('name', '=', name)
      .executeTakeFirst()
    return row && JSON.parse(row.value)
  }

  async put(name: OperatorSettingName, given: object): Promise<void> {
    const value = JSON.stringify(given)
    await this.db
      .insertInto('operator_settings')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
      .execute()
  }

  async remove(name: OperatorSettingName): Promise<boolean> {
    return hasDeleted(this.db.deleteFrom('operator_settings').where('name', '=', name))
  }
}
