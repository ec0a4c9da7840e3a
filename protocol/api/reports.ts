/** Why a visitor reports a page. */
export const REPORT_REASONS = ['phishing', 'malware', 'illegal', 'copyright', 'other'] as const
export type ReportReason = (typeof REPORT_REASONS)[number]

export const MAX_REPORT_TEXT_LENGTH = 2000
