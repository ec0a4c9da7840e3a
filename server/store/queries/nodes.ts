import { QueryGroup } from '../rows.ts'
import { CLOCK_TOLERANCE_MS, type Lease, type NodeReport, type SharedSetting } from '../tables/nodes.ts'

export class NodeQueries extends QueryGroup {
  readonly #rows = this.rows('nodes')

  list(): Promise<NodeReport[]> {
    return this.#rows.list({}, 'startedAt', 'id')
  }
}

export class SharedSettingQueries extends QueryGroup {
  readonly #rows = this.rows('shared_settings')

  list(): Promise<SharedSetting[]> {
    return this.#rows.list()
  }

  async addMissing(settings: readonly SharedSetting[]): Promise<void> {
    await this.#rows.insertMissing(settings)
  }
}

/**
 * Leases with fencing tokens. At most one process holds a lease at a time, by the clock of the store. `latest` is the last
 * end that a lease of that name can have now: one that is later by more than `CLOCK_TOLERANCE_MS` was set while the clock
 * was ahead, and does not count, because nothing would run until then.
 */
export class LeaseQueries extends QueryGroup {
  readonly #rows = this.rows('leases')

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
  extend({ name, holder, fence, until }: Lease): Promise<boolean> {
    return this.#rows.update({ name, holder, fence }, { until })
  }

  /** Releases a lease. Idempotent; another holder's stays. */
  async release(name: string, holder: string): Promise<void> {
    await this.#rows.remove({ name, holder })
  }

  isTaken(name: string, now: number, latest: number): Promise<boolean> {
    return this.#rows.has({ name, until: { '>': now, '<=': latest + CLOCK_TOLERANCE_MS } })
  }

  isHeld(name: string, holder: string, fence: number): Promise<boolean> {
    return this.#rows.has({ name, holder, fence })
  }
}
