import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'
import { CLOCK_TOLERANCE_MS, type Lease, type LeaseQueries } from '../tables/leases.ts'

export class SqlLeaseQueries implements LeaseQueries {
  readonly #db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.#db = db
  }

  async acquire(name: string, holder: string, now: number, until: number) {
    const lease = await this.acquireOrFind({ name, holder, until }, now, until)
    return lease.holder === holder ? lease.fence : undefined
  }

  acquireOrFind({ name, holder, until }: Omit<Lease, 'fence'>, now: number, latest: number) {
    return this.#db
      .insertInto('leases')
      .values({ name, holder, fence: 1, until })
      .onConflict((c) =>
        c.column('name').doUpdateSet((e) => {
          const isOwn = e('leases.holder', '=', holder)
          const isFree = e.or([
            isOwn,
            e('leases.until', '<=', now),
            e('leases.until', '>', latest + CLOCK_TOLERANCE_MS),
          ])
          return {
            holder: e.case().when(isFree).then(holder).else(e.ref('leases.holder')).end(),
            until: e.case().when(isFree).then(until).else(e.ref('leases.until')).end(),
            fence: e
              .case()
              .when(e.and([isFree, e.not(isOwn)]))
              .then(e('leases.fence', '+', 1))
              .else(e.ref('leases.fence'))
              .end(),
          }
        }),
      )
      .returningAll()
      .executeTakeFirstOrThrow()
  }

  async extend({ name, holder, fence, until }: Lease) {
    const { numUpdatedRows } = await this.#db
      .updateTable('leases')
      .set({ until })
      .where('name', '=', name)
      .where('holder', '=', holder)
      .where('fence', '=', fence)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  async release(name: string, holder: string) {
    await this.#db.deleteFrom('leases').where('name', '=', name).where('holder', '=', holder).execute()
  }

  async isTaken(name: string, now: number, latest: number) {
    const held = await this.#db
      .selectFrom('leases')
      .select('name')
      .where('name', '=', name)
      .where('until', '>', now)
      .where('until', '<=', latest + CLOCK_TOLERANCE_MS)
      .executeTakeFirst()
    return held !== undefined
  }

  async isHeld(name: string, holder: string, fence: number) {
    const held = await this.#db.selectFrom('leases').selectAll().where('name', '=', name).executeTakeFirst()
    return held?.holder === holder && held.fence === fence
  }
}
