import { integer, Table, text } from '../table.ts'
/** What an account, a network or all anonymous sites hold. `revision` grows with each change. */
export const usageTable = new Table({
  holder: text,
  bytes: integer,
  sites: integer,
  revision: integer,
})

/** Stored contents and sites. */
export interface Holding {
  /** Each content once, and the declared bytes of uploads that are not finalized. */
  bytes: number
  /** Sites that are not deleted, and those in the trash. */
  sites: number
}

/** All sites without an owner. */
export const ANONYMOUS = 'anonymous'

/** The holder of the sites of an account. */
export function accountHolder(accountId: string): string {
  return `account:${accountId}`
}

/** The holder of the sites without an owner that were published from a network; by its keyed hash. */
export function networkHolder(network: string): string {
  return `network:${network}`
}

/**
 * What accounts, networks and all anonymous sites hold. A write that changes what a holder has changes its row last,
 * with one `add`, which locks the row until the commit. So no two writes exceed a limit together, whatever their scopes.
 */
export interface UsageQueries {
  /** What a holder has; nothing at `revision` 0 without a row. */
  find(holder: string): Promise<Holding & { revision: number }>

  /**
   * Adds to what a holder has and returns the sum. Changes nothing and returns undefined when a part that grows would
   * exceed its limit.
   */
  add(holder: string, change: Holding, limits?: Holding): Promise<Holding | undefined>

  /** Replaces what was counted, unless it has changed since `revision`; returns whether it did. */
  replace(holder: string, counted: Holding, revision: number): Promise<boolean>

  remove(holder: string): Promise<void>

  /** Holders of networks after this one, in order. */
  listNetworks(after: string, limit: number): Promise<string[]>

  /** What all anonymous sites have beyond the sum of their networks, at one time. */
  anonymousDifference(): Promise<Holding>

  /** Removes the rows of networks that have nothing, of the holders after the first to the second. */
  removeEmptyNetworks(after: string, last: string): Promise<void>

  /** What an owner can delete: sites in the trash, and versions besides this one whose upload is not finalized. */
  countFreeable(
    ownerId: string,
    versionId: string,
  ): Promise<{ trashedSites: number; pendingVersions: number }>
}
