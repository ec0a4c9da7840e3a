/**
 * More combining marks on one letter than any script uses; the limit of UAX #15, "Stream-Safe Text Format".
 */
const TOO_MANY_COMBINING_MARKS = /(?<!\p{M})\p{M}{31}/u

const IS_ASCII = /^[\0-\x7F]*$/

/**
 * Text in Unicode NFC, so that both forms of a name are equal. Text with more than 30 marks in a row is
 * returned unchanged: ordering them takes quadratic time, 20 ms for a URL of 16 KiB.
 */
export function normalizeNfc(text: string): string {
  // Most names are ASCII.
  if (IS_ASCII.test(text)) return text
  return TOO_MANY_COMBINING_MARKS.test(text) ? text : text.normalize('NFC')
}

/** The same, which normalizes a text that is given again only once: long names with marks take milliseconds. */
export function rememberingNfc(): (text: string) => string {
  const known = new Map<string, string>()
  return (text) => {
    if (IS_ASCII.test(text)) return text
    const normalized = known.get(text) ?? normalizeNfc(text)
    known.set(text, normalized)
    return normalized
  }
}
