import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'
import type { SharedSetting } from '../tables/shared-settings.ts'

export class SharedSettingQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  list(): Promise<SharedSetting[]> {
    return this.#db.selectFrom('shared_settings').selectAll().execute()
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
    return this.#db.insertInto('shared_settings').values([...settings])
  }
}
