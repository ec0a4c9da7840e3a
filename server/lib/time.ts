export const SECOND_MS = 1000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

export const HOUR_SECONDS = 3600
export const DAY_SECONDS = 24 * HOUR_SECONDS

/** Formats a time in milliseconds for the API: ISO 8601 UTC with milliseconds (spec 2.1). */
export function toIso(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

export function toIsoOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : toIso(milliseconds)
}

/** Whether `now` is less than `milliseconds` after `start`; false when the clock was set back before `start`. */
export function isWithin(milliseconds: number, start: number, now: number): boolean {
  return now >= start && now - start < milliseconds
}

export function formatUtc(milliseconds: number): string {
  return `${toIso(milliseconds).slice(0, 19).replace('T', ' ')} UTC`
}
