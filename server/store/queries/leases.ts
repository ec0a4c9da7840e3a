import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

export type LeaseQueries = ReturnType<typeof leaseQueries>

export function leaseQueries(db: Kysely<Schema>) {
  return {
    /**
     * Takes the lease until `until` when it is free, expired, or the holder's own. Returns the fencing token,
     * which grows with every new holder, or undefined when another process holds it.
     */
    async acquire(name: string, holder: string, now: number, until: number): Promise<number | undefined> {
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

    /** Releases a lease; another holder's stays. */
    async release(name: string, holder: string): Promise<void> {
      await db.deleteFrom('leases').where('name', '=', name).where('holder', '=', holder).execute()
    },

    /** Whether the holder of that fencing token still has the lease. */
    async isHeld(name: string, holder: string, fence: number): Promise<boolean> {
      const held = await db.selectFrom('leases').selectAll().where('name', '=', name).executeTakeFirst()
      return held?.holder === holder && held.fence === fence
    },
  }
}
