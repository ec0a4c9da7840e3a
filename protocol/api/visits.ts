/** Ranges of a report of visits. */
export const VISIT_RANGES = ['24h', '7d', '30d', '90d'] as const
export type VisitRange = (typeof VISIT_RANGES)[number]

/** The lists of names that are counted: found paths, missing paths and referring hosts. */
export const VISIT_NAME_KINDS = ['path', 'missing', 'referrer'] as const
export type VisitNameKind = (typeof VISIT_NAME_KINDS)[number]

/** Maximum number of characters of a counted name. */
export const MAX_VISIT_NAME_LENGTH = 512
