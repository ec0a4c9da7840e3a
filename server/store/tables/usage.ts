import { integer, Table, text } from '../table.ts'

/** What an account, a network or all anonymous sites hold. `revision` grows with each change. */
export const usageTable = new Table({ holder: text, bytes: integer, sites: integer, revision: integer })

export interface Holding {
  /** Each content once, and the declared bytes of uploads that are not finalized. */
  bytes: number
  /** Sites that are not deleted, and those in the trash. */
  sites: number
}

export const ANONYMOUS = 'anonymous'

export function accountHolder(accountId: string): string {
  return `account:${accountId}`
}

/** The holder of the sites without an owner that were published from a network; by its keyed hash. */
export function networkHolder(network: string): string {
  return `network:${network}`
}
