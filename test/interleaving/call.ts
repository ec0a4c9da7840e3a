import { type Caller, FULL_GRANT } from '../../server/accounts/authorization.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import type { Account } from '../../server/store/tables/accounts.ts'
import type { Node } from './world.ts'

/** What calls are about. */
type Subject =
  | 'bakery'
  | 'cafe'
  | 'anon'
  | 'trashed'
  | 'expired'
  | 'unfinished'
  | 'leaving'
  | 'suspended'
  | 'the name'
  | 'ann'
  | 'administrators'
  | 'figures'
  | 'keys'
  | 'devices'
  | 'programs'
  | 'trusts'
  | 'sessions'
  | 'codes'
  | 'domains of ann'
  | 'renames'
  | 'invitations'
  | 'new.test'
  | 'shop.test'
  | 'orders'
  | 'blobs'
  | 'notices'
  | 'visits'
  | 'counters'
  | 'ticket keys'
  | 'usage'
  | 'invited'
  | 'banner'
  | 'reports'
  | 'blocks'
  | 'scans'

/**
 * A call of the service that writes. Two calls of which one changes what the other is about must be as if one had
 * followed the other.
 */
export interface CallSpec {
  changes: readonly Subject[]
  reads?: readonly Subject[]
  /** It has several writes, and other calls may come between them. */
  isDivisible?: true
  run: (node: Node) => Promise<unknown>
}

export function by(account: Account): Caller {
  return { account, address: '192.0.2.7', signedInWith: 'key', grant: FULL_GRANT }
}

/** Calls of the sweeps of these names. */
export function sweepCalls(subjects: Record<string, readonly Subject[]>): Record<string, CallSpec> {
  return Object.fromEntries(
    Object.entries(subjects).map(([name, changes]) => [
      `sweep ${name}`,
      { changes, isDivisible: true, run: (node) => sweep(node, name) },
    ]),
  )
}

function sweep(node: Node, name: string): Promise<number> {
  return runOnce(sweeps.find((one) => one.name === name)!, node)
}
