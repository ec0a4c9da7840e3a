/** The API's form of a time in milliseconds: ISO 8601 UTC with milliseconds (spec 2.1). */
export function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

export function isoOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : iso(milliseconds)
}

/** The same for a sentence that people read. */
export function inWords(milliseconds: number): string {
  return `${iso(milliseconds).slice(0, 19).replace('T', ' ')} UTC`
}
