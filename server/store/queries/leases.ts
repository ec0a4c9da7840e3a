import type { Kysely } from 'kysely'
import type { LeaseQueries } from '../contract/leases.ts'
import type { Schema } from '../schema.ts'

export class SqlLeaseQueries implements LeaseQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async acquire(name: string, holder: string, now: number, until: number) {
    const row = await this.#db
      .insertInto('leases')
      .values({ name, holder, fence: 1, until })
      .onConflict((c) =>
        c
          .column('name')
          .doUpdateSet((e) => ({
            holder,
            until,
            fence: e
              .case()
              .when('leases.holder', '=', holder)
              .then(e.ref('leases.fence'))
              .else(e('leases.fence', '+', 1))
              .end(),
          }))
          .where((e) => e.or([e('leases.holder', '=', holder), e('leases.until', '<=', now)])),
      )
      .returning('fence')
      .executeTakeFirst()
    return row?.fence
  }

  async release(name: string, holder: string) {
    await this.#db.deleteFrom('leases').where('name', '=', name).where('holder', '=', holder).execute()
  }

  async isHeld(name: string, holder: string, fence: number) {
    const held = await this.#db.selectFrom('leases').selectAll().where('name', '=', name).executeTakeFirst()
    return held?.holder === holder && held.fence === fence
  }
}
