/** Why a visitor reports a page. */
export const REPORT_REASONS = ['phishing', 'malware', 'illegal', 'copyright', 'other'] as const
export type ReportReason = (typeof REPORT_REASONS)[number]

export const MAX_REPORT_TEXT_LENGTH = 2000

/** `POST /api/reports`. */
export interface ReportRequest {
  /** The address of a page of a site. */
  url: string
  reason: ReportReason
  text?: string
  /** Where the operator can ask the reporter; optional. */
  email?: string
}

export interface ReportReceived {
  received: true
}
