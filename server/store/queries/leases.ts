import type { Kysely } from 'kysely'
import type { LeaseQueries } from '../contract/leases.ts'
import type { Schema } from '../schema.ts'

export class SqlLeaseQueries implements LeaseQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async acquire(name: string, holder: string, now: number, until: number) {
    const held = await this.#db.selectFrom('leases').selectAll().where('name', '=', name).executeTakeFirst()
    if (!held) {
      await this.#db.insertInto('leases').values({ name, holder, fence: 1, until }).execute()
      return 1
    }
    if (held.holder !== holder && held.until > now) return undefined
    const fence = held.holder === holder ? held.fence : held.fence + 1
    await this.#db.updateTable('leases').set({ holder, fence, until }).where('name', '=', name).execute()
    return fence
  }

  async release(name: string, holder: string) {
    await this.#db.deleteFrom('leases').where('name', '=', name).where('holder', '=', holder).execute()
  }

  async isHeld(name: string, holder: string, fence: number) {
    const held = await this.#db.selectFrom('leases').selectAll().where('name', '=', name).executeTakeFirst()
    return held?.holder === holder && held.fence === fence
  }
}
