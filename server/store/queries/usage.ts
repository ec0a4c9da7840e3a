import { type Kysely, sql } from '#kysely'
import { QueryGroup } from '../rows.ts'
import type { Schema } from '../schema.ts'
import { statement } from '../statement.ts'
import { BEING_DELETED } from '../tables/sites.ts'
import { ANONYMOUS, type CounterWindow, type Holding, networkHolder, usageTable } from '../tables/usage.ts'

/** Holders of networks are those from the first to before the last. */
const [FIRST_NETWORK, AFTER_NETWORKS] = [networkHolder(''), 'network;']

/** Of a part that does not grow. */
const UNLIMITED = Number.MAX_SAFE_INTEGER

const countedUsage = usageTable.omit('holder')

const ADD = statement(
  (db, holder: string, bytes: number, sites: number, maxBytes: number, maxSites: number) =>
    db
      .insertInto('usage')
      .values({ holder, bytes, sites, revision: 1 })
      .onConflict((c) =>
        c
          .column('holder')
          .doUpdateSet({
            bytes: sql`usage.bytes + excluded.bytes`,
            sites: sql`usage.sites + excluded.sites`,
            revision: sql`usage.revision + 1`,
          })
          .where(sql<boolean>`usage.bytes + excluded.bytes <= ${maxBytes}`)
          .where(sql<boolean>`usage.sites + excluded.sites <= ${maxSites}`),
      )
      .returning(['bytes', 'sites']),
)

/**
 * What accounts, networks and all anonymous sites hold. A write that takes more charges its holder last, with
 * one `add`, which locks the row until the commit. So no two writes exceed a limit together, whatever their scopes. What a
 * write releases, such as former files, it may subtract earlier: that needs no limit.
 */
export class UsageQueries extends QueryGroup {
  readonly #rows = this.rows('usage')

  /** What a holder has; nothing at `revision` 0 without a row. */
  async find(holder: string): Promise<Holding & { revision: number }> {
    return (await this.rows('usage', countedUsage).find({ holder })) ?? { bytes: 0, sites: 0, revision: 0 }
  }

  /** Returns the sum. Changes nothing and returns undefined when a part that grows would exceed its limit. */
  async add(holder: string, { bytes, sites }: Holding, limits?: Holding): Promise<Holding | undefined> {
    const exceeds = (limit: Holding) =>
      (bytes > 0 && bytes > limit.bytes) || (sites > 0 && sites > limit.sites)
    if (limits && exceeds(limits)) return undefined
    const [maxBytes, maxSites] = [
      bytes > 0 && limits ? limits.bytes : UNLIMITED,
      sites > 0 && limits ? limits.sites : UNLIMITED,
    ]
    return (await ADD(this.db, holder, bytes, sites, maxBytes, maxSites))[0]
  }

  /** Replaces what was counted, unless it has changed since `revision`; returns whether it did. */
  async replace(holder: string, { bytes, sites }: Holding, revision: number): Promise<boolean> {
    const next = { bytes, sites, revision: revision + 1 }
    return revision === 0
      ? (await this.#rows.insertMissing({ holder, ...next })) > 0
      : this.#rows.update({ holder, revision }, next)
  }

  listNetworks(after: string, limit: number): Promise<string[]> {
    const holder = { '>=': FIRST_NETWORK, '<': AFTER_NETWORKS, '>': after }
    return this.#rows.pluck('holder', { holder }, 'holder', { limit })
  }

  /** What all anonymous sites have beyond the sum of their networks, at one time. */
  async anonymousDifference(): Promise<Holding> {
    const { rows } = await sql<Holding>`
      with networks as (select coalesce(sum(bytes), 0) as bytes, coalesce(sum(sites), 0) as sites from usage
        where holder >= ${FIRST_NETWORK} and holder < ${AFTER_NETWORKS})
      select coalesce(anonymous.bytes, 0) - networks.bytes as bytes, coalesce(anonymous.sites, 0) - networks.sites as sites
      from networks left join usage as anonymous on anonymous.holder = ${ANONYMOUS}`.execute(this.db)
    return { ...rows[0]! }
  }

  async removeEmptyNetworks(after: string, last: string): Promise<void> {
    await this.#rows.remove({ holder: { '>': after, '<=': last }, bytes: 0, sites: 0 })
  }

  /** What an owner can delete: sites in the trash, and versions besides this one whose upload is not finalized. */
  async countFreeable(
    ownerId: string,
    versionId: string,
  ): Promise<{ trashedSites: number; pendingVersions: number }> {
    const own = this.db.selectFrom('sites').where('owner_id', '=', ownerId)
    return this.db
      .selectNoFrom((e) => [
        own
          .where('kept_until', '>', BEING_DELETED)
          .select(e.fn.countAll<number>().as('count'))
          .as('trashedSites'),
        own
          .innerJoin('versions', 'versions.slug', 'sites.slug')
          .where('versions.state', '=', 'pending')
          .where('versions.id', '<>', versionId)
          .select(e.fn.countAll<number>().as('count'))
          .as('pendingVersions'),
      ])
      .$castTo<{ trashedSites: number; pendingVersions: number }>()
      .executeTakeFirstOrThrow()
  }
}

/** Counters of callers by window; exact over all processes. */
export class CounterQueries extends QueryGroup {
  readonly #rows = this.rows('counters')

  async add(caller: string, windowStart: number): Promise<number> {
    return (await COUNT(this.db, caller, windowStart))[0]!.requests
  }

  /** Adds one to each of these windows, which differ. */
  async addEach(windows: readonly CounterWindow[]): Promise<void> {
    await add(this.db, windows).execute()
  }

  /** Reverts one `add`; without one it changes nothing. */
  async decrement(caller: string, windowStart: number): Promise<void> {
    await this.#rows.increase({ caller, windowStart }, 'requests', -1)
  }

  async value(caller: string, windowStart: number): Promise<number> {
    return (await this.#rows.find({ caller, windowStart }))?.requests ?? 0
  }

  async values(windows: readonly CounterWindow[]): Promise<number[]> {
    const counters = await this.#rows.list((all) =>
      all.where((e) =>
        e.or(windows.map(({ caller, windowStart }) => e.and({ caller, window_start: windowStart }))),
      ),
    )
    return windows.map(
      ({ caller, windowStart }) =>
        counters.find((one) => one.caller === caller && one.windowStart === windowStart)?.requests ?? 0,
    )
  }

  async delete(caller: string): Promise<void> {
    await this.#rows.remove({ caller })
  }
}

const COUNT = statement((db, caller: string, windowStart: number) =>
  add(db, [{ caller, windowStart }]).returning('requests'),
)

function add(db: Kysely<Schema>, windows: readonly CounterWindow[]) {
  return db
    .insertInto('counters')
    .values(windows.map(({ caller, windowStart }) => ({ caller, window_start: windowStart, requests: 1 })))
    .onConflict((c) =>
      c
        .columns(['caller', 'window_start'])
        .doUpdateSet((e) => ({ requests: e('counters.requests', '+', 1) })),
    )
}
