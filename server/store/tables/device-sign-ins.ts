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
  scope: oneOf<ProgramScope>(),
  createdAt: integer,
  expiresAt: integer,
  intervalMs: integer,
  polledAt: nullable(integer),
  state: oneOf<'pending' | 'approved' | 'denied'>(),
  /** The account that approved or denied it. */
  accountId: nullable(text),
})

export type DeviceSignIn = EntityOf<typeof deviceSignInTable>
