import type { Accounts } from './queries/accounts.ts'
import type { Authorities } from './queries/authorities.ts'
import type { BlobNames } from './queries/blob-names.ts'
import type { Certificates } from './queries/certificates.ts'
import type { Counters } from './queries/counters.ts'
import type { Domains } from './queries/domains.ts'
import type { Encodings } from './queries/encodings.ts'
import type { Leases } from './queries/leases.ts'
import type { SignIns } from './queries/sign-ins.ts'
import type { Sites } from './queries/sites.ts'
import type { Versions } from './queries/versions.ts'
import type { Visits } from './queries/visits.ts'

/** Every question and change that the rules need, by what they are about. */
export interface Queries {
  accounts: Accounts
  signIns: SignIns
  sites: Sites
  versions: Versions
  blobNames: BlobNames
  encodings: Encodings
  domains: Domains
  certificates: Certificates
  authorities: Authorities
  counters: Counters
  leases: Leases
  visits: Visits
}

/** Within `Store.write`: the same, and a way to say what others have to forget. */
export interface Writing extends Queries {
  /** After the commit every process drops what it knows of this site (a slug) or domain (a name with a dot). */
  changed(name: string): Promise<void>
}

/**
 * How sure a write must be before it is answered. `durable` survives a power cut in the next millisecond;
 * `soft` survives the death of the process and is never lost before a durable write that came later.
 */
export type Durability = 'durable' | 'soft'

export type Forget = (names: readonly string[] | undefined, own: boolean) => void | Promise<void>

/**
 * The metadata of the service.
 *
 * - Atomic: all of a `write` or nothing. Writes follow one another, over all processes: what a write has read
 *   cannot change before it commits. Any error thrown in `work` undoes it and is thrown on.
 * - Reads outside a write see committed data only, and nothing older than this process's last write.
 * - Not found is `undefined`, never an error. A write that breaks a unique rule rejects.
 * - A write must not wait for the network or for another write; it may delete blobs.
 * - `UNAVAILABLE` when the engine is away or too busy, `INSUFFICIENT_STORAGE` when its disk is full.
 */
export interface Store extends AsyncDisposable {
  readonly read: Queries

  write<T>(durability: Durability, work: (tx: Writing) => Promise<T>): Promise<T>

  /**
   * Calls `forget` with the slugs and domains that changed: for changes of this process (`own`) before `write` answers, and
   * waits for what it returns; for those of others within a second. Undefined stands for everything, when the
   * engine cannot tell what was missed.
   */
  onChange(forget: Forget): void

  /** Looks for changes of other processes now. */
  catchUp(): Promise<void>

  /** Rejects with UNAVAILABLE when the store cannot do its work. */
  check(): Promise<void>
}
