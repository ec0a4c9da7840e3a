import type { ChangeEffect } from '../lib/loading-cache.ts'
import { repeatUntilEmpty } from '../lib/repeat-until-empty.ts'
import type { Queries } from './queries.ts'
import type { DELETED_BY } from './rows.ts'

export interface WriteTransaction extends Queries {
  /**
   * After the commit every process invalidates its cache of this site (a slug) or domain (a name with a dot), or of a
   * block (`BLOCK_CHANGED`) or settings (`OPERATOR_SETTINGS_CHANGED`). `effect` says what may still be used of it, by
   * default nothing; of several changes of a name the strongest counts.
   */
  notifyChanged(name: string, effect?: ChangeEffect): Promise<void>
}

/**
 * Required durability of a write before it returns. `durable` survives a power cut in the next millisecond;
 * `available` is the same, but not replicated while the standby of PostgreSQL does not confirm commits: for sign-in, which
 * an outage of the standby does not end. `relaxed` survives a crash of the process and is never lost before a later
 * durable write; in SQLite it is durable. `unread` is the least of both for what notifies no change and returns what its
 * caller needs: it does not wait for the disk, and later reads may not see it yet. The exception: a crash of PostgreSQL
 * loses all recorded uploads of pending versions, also those of durable writes.
 */
export type Durability = 'durable' | 'available' | 'relaxed' | 'unread'

/** Whether a write is replicated, and flushed by PostgreSQL, before it returns. */
export function isDurable(durability: Durability): boolean {
  return durability === 'durable' || durability === 'available'
}

export type ChangeListener = (
  names: readonly string[] | undefined,
  own: boolean,
  effects: ChangeEffects,
) => void | Promise<void>

/**
 * What a write is about: all that it reads and then relies on, or changes depending on what it has read. Writes with a
 * common name follow one another. Statements that are correct independently of concurrent writes, such as adding to a
 * counter, need no name.
 */
export interface WriteScope {
  /** Slugs. */
  site?: string | readonly string[]
  /** Ids. */
  account?: string | readonly string[]
  /** Email addresses. */
  address?: string
  /** Domains, and names of certificates. */
  host?: string | readonly string[]
  /** Keys of counters with a limit. */
  counter?: string | readonly string[]
  /** Ids of notices. */
  notice?: string
  /** Directories of certificate authorities: their accounts, and the budget of orders. */
  authority?: string
}

export const INDEPENDENT: WriteScope = Object.freeze({})

/** Deletes some rows in a transaction, which is repeated until none is left; returns the number of rows. */
export function deleteInSteps(
  store: Pick<Store, 'write'>,
  deleteSome: (tx: WriteTransaction) => Promise<number>,
): Promise<number> {
  return repeatUntilEmpty(() => store.write('relaxed', INDEPENDENT, deleteSome))
}

/** Of one write, so that none holds the store for long. */
const ROWS_PER_WRITE = 500

/** Deletes the rows of a table whose time in `DELETED_BY` is before this one; returns their number. */
export function deleteBefore(
  store: Pick<Store, 'write'>,
  table: keyof typeof DELETED_BY,
  time: number,
): Promise<number> {
  return deleteInSteps(store, ({ rows }) => rows.removeBefore(table, time, ROWS_PER_WRITE))
}

/**
 * The metadata of the service.
 *
 * - Atomic: all of a `write` or nothing. The outcome is as if the writes with a common name in their scopes had run one
 *   after another, over all nodes. An error thrown in `work` rolls it back and is rethrown.
 * - `work` may run more than once, when the engine rolled it back. Nothing outside the store happens in it. It awaits all of
 *   its statements: what follows them may belong to another write.
 * - Reads outside a write see committed data only, and nothing older than this process's last write. With SQLite they see
 *   what is flushed, and a write returns what is flushed.
 * - Absence is `undefined`, never an error. A text with a NUL or half a surrogate pair is absent: features store none. A write that violates a unique constraint rejects.
 * - A write must not wait for the network or for another write.
 * - `UNAVAILABLE` when the engine is unreachable or overloaded, `INSUFFICIENT_STORAGE` when its disk is full.
 */
export interface Store extends AsyncDisposable {
  readonly read: Queries

  /** As `read`, but waits for others as long as a write does: for what changes something, such as a publish. */
  readonly patient: Queries

  /** As `patient`, and reads what is committed, whether it is flushed or not: for what a later write depends on. */
  readonly newest: Queries

  /** Milliseconds since 1970 by the one clock of all nodes, which decides about expiry, windows and leases. */
  readonly clock: () => number

  write<T>(durability: Durability, scope: WriteScope, work: (tx: WriteTransaction) => Promise<T>): Promise<T>

  /**
   * Executes one statement that writes and is correct independently of concurrent writes, such as adding to a counter:
   * the same as a `write` without a scope, in one message when it is relaxed. It then waits as a read, or as `patient`.
   */
  execute<T>(
    durability: Durability,
    statement: (queries: Queries) => Promise<T>,
    isPatient?: boolean,
  ): Promise<T>

  /**
   * Calls `listener` with the changed slugs and domains: for changes of this process (`own`) before `write`
   * returns, and waits for its result; for those of other processes within a second. Undefined means
   * everything, when changes may have been missed.
   */
  onChange(forget: ChangeListener): void

  /** Afterwards, reads see what other processes have acknowledged, and listeners have been notified of it. */
  pollChanges(): Promise<void>

  /**
   * For how many milliseconds changes of other processes may have been missed: since the beginning of the last poll that
   * succeeded. Those changes follow when polls succeed again. 0 while an engine notices a missed poll only by its failure.
   */
  silenceMs(): number

  /** How long the first of the reads that wait for others has waited. */
  readWaitMs(): number

  /** Throws UNAVAILABLE while the engine has answered nothing for longer than a read may take. */
  assertAnswering(): void

  /** Rejects with UNAVAILABLE when the store cannot work. */
  check(): Promise<void>
}

/** The effects of changes by name; a name that is absent is withdrawn. */
export type ChangeEffects = ReadonlyMap<string, ChangeEffect>

export const NO_EFFECTS: ChangeEffects = new Map()

/** From the one that leaves most of what is cached to the one that leaves nothing. */
const EFFECTS: readonly ChangeEffect[] = ['improvable', 'outdated', 'withdrawn']

/** The names that a write, or a poll, has found changed: each with the strongest of its effects. */
export class ChangeSet {
  readonly #effects = new Map<string, ChangeEffect>()

  get size(): number {
    return this.#effects.size
  }

  get names(): string[] {
    return [...this.#effects.keys()]
  }

  get effects(): ChangeEffects {
    return this.#effects
  }

  /** An effect that is not known, of a later release, is the strongest. */
  add(name: string, effect: string = 'withdrawn'): void {
    const known = EFFECTS.find((one) => one === effect) ?? 'withdrawn'
    const before = this.#effects.get(name)
    if (before === undefined || EFFECTS.indexOf(known) > EFFECTS.indexOf(before))
      this.#effects.set(name, known)
  }
}
