import type { ProgramScope } from '../../../protocol/api/programs.ts'
import { type EntityOf, integer, nullable, oneOf, Table, text } from '../table.ts'

/** A sign-in of a program without a browser (RFC 8628). */
export const deviceSignInTable = new Table({
  deviceHash: text,
  userCodeHash: text,
  /** The program and the machine that ask, as they describe themselves. */
  program: text,
  machine: text,
  /** The block of addresses from which the program asked. */
  network: text,
  /** What the key permits. */
  scope: oneOf<ProgramScope>(),
  createdAt: integer,
  expiresAt: integer,
  /** Minimum interval between polls. */
  intervalMs: integer,
  polledAt: nullable(integer),
  state: oneOf<'pending' | 'approved' | 'denied'>(),
  /** The account that approved or denied it. */
  accountId: nullable(text),
})

export type DeviceSignIn = EntityOf<typeof deviceSignInTable>

/** Sign-ins of devices. Hashes are unique. Expired ones stay until they are deleted. */
export interface DeviceSignInQueries {
  add(signIn: DeviceSignIn): Promise<void>

  find(deviceHash: string): Promise<DeviceSignIn | undefined>

  /** The pending sign-in with one of these hashes of a user code that is valid at `now`. */
  findPending(userCodeHashes: readonly string[], now: number): Promise<DeviceSignIn | undefined>

  /** Decides a pending sign-in that is valid at `now`; returns whether there was one. */
  decide(
    userCodeHashes: readonly string[],
    decision: Pick<DeviceSignIn, 'state' | 'accountId'>,
    now: number,
  ): Promise<boolean>

  /** Records a poll, unless it is earlier than the interval permits; returns whether it was recorded. */
  recordPoll(deviceHash: string, now: number): Promise<boolean>

  setInterval(deviceHash: string, intervalMs: number): Promise<void>

  /** Returns whether it existed. */
  remove(deviceHash: string): Promise<boolean>

  /** Removes up to `limit` that have expired, and returns their number. */
  deleteExpired(now: number, limit: number): Promise<number>
}
