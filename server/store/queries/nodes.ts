import { QueryGroup } from '../rows.ts'
import { hasUpdated, statement } from '../statement.ts'
import {
  CLOCK_TOLERANCE_MS,
  type Lease,
  type NodeReport,
  nodeTable,
  type SharedSetting,
} from '../tables/nodes.ts'

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

const RELEASE = statement((db, name: string, holder: string) =>
  db.deleteFrom('leases').where('name', '=', name).where('holder', '=', holder),
)

/**
 * Leases with fencing tokens. At most one process holds a lease at a time, by the clock of the store. `latest` is the last
 * end that a lease of that name can have now: one that is later by more than `CLOCK_TOLERANCE_MS` was set while the clock
 * was ahead, and does not count, because nothing would run until then.
 */
export class LeaseQueries extends QueryGroup {
  /** Takes a lease that is free, expired or its holder's own. Returns the fencing token; undefined when it is taken. */
  async acquire(name: string, holder: string, now: number, until: number): Promise<number | undefined> {
    const lease = await this.acquireOrFind({ name, holder, until }, now, until)
    return lease.holder === holder ? lease.fence : undefined
  }

  /** As `acquire`, but returns the lease, also that of another holder. One statement. */
  acquireOrFind({ name, holder, until }: Omit<Lease, 'fence'>, now: number, latest: number): Promise<Lease> {
    return this.db
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

  /** False when the holder of that fencing token has lost it. Within a write, no other process can acquire it. */
  async extend({ name, holder, fence, until }: Lease): Promise<boolean> {
    return hasUpdated(
      this.db
        .updateTable('leases')
        .set({ until })
        .where('name', '=', name)
        .where('holder', '=', holder)
        .where('fence', '=', fence),
    )
  }

  /** Releases a lease. Idempotent; another holder's stays. */
  async release(name: string, holder: string): Promise<void> {
    await RELEASE(this.db, name, holder)
  }

  async isTaken(name: string, now: number, latest: number): Promise<boolean> {
    const held = await this.db
      .selectFrom('leases')
      .select('name')
      .where('name', '=', name)
      .where('until', '>', now)
      .where('until', '<=', latest + CLOCK_TOLERANCE_MS)
      .executeTakeFirst()
    return held !== undefined
  }

  async isHeld(name: string, holder: string, fence: number): Promise<boolean> {
    const held = await this.db.selectFrom('leases').selectAll().where('name', '=', name).executeTakeFirst()
    return held?.holder === holder && held.fence === fence
  }
}
