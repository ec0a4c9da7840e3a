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
