import { type EntityOf, integer, nullable, Table, text } from '../table.ts'
/** An address that may create an account until it expires. Signing in proves the address, so that it needs no secret. */
export const invitationTable = new Table({
  email: text,
  /** The account that invited it; null for the command of the operator. */
  invitedBy: nullable(text),
  createdAt: integer,
  expiresAt: integer,
})

export type Invitation = EntityOf<typeof invitationTable>

/** Invitations, at most one of an address. */
export interface InvitationQueries {
  /** The invitation of an address, unless it has expired. */
  find(email: string, now: number): Promise<Invitation | undefined>

  /** In place of an earlier one of the address. */
  put(invitation: Invitation): Promise<void>

  /** Returns whether there was one. */
  remove(email: string): Promise<boolean>

  /** Those that have not expired after this address, in the order of the addresses. */
  list(now: number, page: { after: string; limit: number }): Promise<Invitation[]>

  /** Returns their number. */
  deleteExpired(now: number, limit: number): Promise<number>
}
