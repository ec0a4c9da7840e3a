import { integer, Table, text } from '../table.ts'

/** A content that a scanner has accepted. */
export const acceptedScanTable = new Table({
  hash: text,
  scanner: text,
  acceptedAt: integer,
})
