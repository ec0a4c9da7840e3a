import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

export type Leases = ReturnType<typeof leasesOver>

export function leasesOver(db: Kysely<Schema>) {
  return {
    /**
     * Takes the lease of that name until `until` when it is free, over, or the holder's own. Answers the fencing
     * number, which grows with every new holder, or undefined when somebody else holds it.
     */
    async take(name: string, holder: string, now: number, until: number): Promise<number | undefined> {
      const held = await db.selectFrom('leases').selectAll().where('name', '=', name).executeTakeFirst()
      if (!held) {
        await db.insertInto('leases').values({ name, holder, fence: 1, until }).execute()
        return 1
      }
      if (held.holder !== holder && held.until > now) return undefined
      const fence = held.holder === holder ? held.fence : held.fence + 1
      await db.updateTable('leases').set({ holder, fence, until }).where('name', '=', name).execute()
      return fence
    },

    /** Gives a lease up for good; somebody else's stays. */
    async drop(name: string, holder: string): Promise<void> {
      await db.deleteFrom('leases').where('name', '=', name).where('holder', '=', holder).execute()
    },

    /** Gives up leases whose names begin so and that would last longer than until then: a clock that was ahead took them. */
    async dropBeyond(prefix: string, until: number): Promise<void> {
      await db.deleteFrom('leases').where('name', 'like', `${prefix}%`).where('until', '>', until).execute()
    },

    /** Whether the holder of that fencing number still has the lease. */
    async holds(name: string, holder: string, fence: number): Promise<boolean> {
      const held = await db.selectFrom('leases').selectAll().where('name', '=', name).executeTakeFirst()
      return held?.holder === holder && held.fence === fence
    },
  }
}
