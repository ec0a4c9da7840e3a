import { integer, Table, text } from '../table.ts'
/** A content that a scanner has accepted. */
export const acceptedScanTable = new Table({
  hash: text,
  scanner: text,
  acceptedAt: integer,
})

/** Files that a scanner has accepted, by what it identifies them with: the hash of the content, or also of its path and type. */
export interface ScanQueries {
  /** Those among these hashes that the scanner has accepted since that time. */
  acceptedAmong(scanner: string, hashes: readonly string[], since: number): Promise<Set<string>>

  /** Idempotent; a later time replaces an earlier one. */
  accept(scanner: string, hashes: readonly string[], now: number): Promise<void>

  /** Deletes at most `limit` that were accepted before that time; returns their number. */
  deleteBefore(acceptedAt: number, limit: number): Promise<number>
}
