/** Controls, and marks that change the direction of the text around them. */
const CONTROLS = /[\p{Cc}\u200E\u200F\u202A-\u202E\u2066-\u2069]+/gu

/** A text as one line of at most `maxLength` characters, with nothing in it that changes the text around it. */
export function toPlainLine(text: string, maxLength: number): string {
  const line = text.toWellFormed().replace(/\s+/g, ' ').replace(CONTROLS, '').trim()
  return [...line.slice(0, 2 * maxLength)].slice(0, maxLength).join('').trim()
}
