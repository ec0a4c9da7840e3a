import type { SharedSetting } from '../tables/shared-settings.ts'
import { QueryGroup } from './query-group.ts'

export class SharedSettingQueries extends QueryGroup {
  list(): Promise<SharedSetting[]> {
    return this.db.selectFrom('shared_settings').selectAll().execute()
  }

  async addMissing(settings: readonly SharedSetting[]): Promise<void> {
    await this.#insert(settings)
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute()
  }

  async replace(settings: readonly SharedSetting[]): Promise<void> {
    await this.#insert(settings)
      .onConflict((conflict) =>
        conflict.column('name').doUpdateSet((e) => ({ fingerprint: e.ref('excluded.fingerprint') })),
      )
      .execute()
  }

  #insert(settings: readonly SharedSetting[]) {
    return this.db.insertInto('shared_settings').values([...settings])
  }
}
