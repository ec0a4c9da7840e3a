/** The last 24 hours in intervals of half an hour, or the last 30 days in intervals of six hours. */
export const ACTIVITY_RANGES = ['24h', '30d'] as const

export type ActivityRange = (typeof ACTIVITY_RANGES)[number]
