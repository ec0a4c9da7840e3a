import type { ProgramScope } from '../../../protocol/api/programs.ts'
import { type EntityOf, integer, key, nullable, oneOf, Table, text } from '../table.ts'

/** An emailed code. An address may have several that are valid; each belongs to the attempt that requested it. */
export const signInCodeTable = new Table({
  attemptHash: key(text),
  email: text,
  /** The network that requested it, as a keyed hash. */
  network: text,
  codeHash: text,
  /** Wrong tries with the attempt token: too many invalidate the code. */
  attemptTries: integer,
  /** Wrong tries of the same network without the attempt token: too many invalidate the code for callers without it. */
  openTries: integer,
  expiresAt: integer,
})

export type SignInCode = EntityOf<typeof signInCodeTable>

/** A network or browser that signs in to an address, as a keyed hash; `''` represents all others. */
export const signInSourceTable = new Table({
  email: key(text),
  source: key(text),
  signedInAt: nullable(integer),
  wrongTries: integer,
  lockedUntil: nullable(integer),
  changedAt: integer,
})

export type SignInSource = EntityOf<typeof signInSourceTable>

export const sessionTable = new Table({
  tokenHash: key(text),
  accountId: text,
  createdAt: integer,
  expiresAt: integer,
  /** Description of the client; null when its User-Agent is unknown. */
  browser: nullable(text),
})

export type Session = EntityOf<typeof sessionTable>

/** A sign-in of a program without a browser (RFC 8628). */
export const deviceSignInTable = new Table({
  deviceHash: key(text),
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
  /** The hash of the key or session that did so. */
  allowedBy: nullable(text),
})

export type DeviceSignIn = EntityOf<typeof deviceSignInTable>
