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

/** Formats a time for a message. */
export function formatUtc(milliseconds: number): string {
  return `${toIso(milliseconds).slice(0, 19).replace('T', ' ')} UTC`
}
