import type { BlockKind } from './contract/blocks.ts'
import type { ReportState } from './contract/reports.ts'

/** See `Block`. */
export interface BlockRow {
  kind: BlockKind
  value: string
  reason: string
  created_at: number
  expires_at: number | null
}

/** See `ReportedSite`. */
export interface ReportRow {
  site: string
  state: ReportState
  count: number
  first_at: number
  last_at: number
  decided_at: number | null
  /** JSON of `Report[]`. */
  latest: string
  mailed_count: number
  mailed_at: number | null
}

/** A content that a scanner has accepted. */
export interface AcceptedScanRow {
  hash: string
  scanner: string
  accepted_at: number
}
