/** Marks on one letter that no writing has; UAX #15, "Stream-Safe Text Format", draws the line there too. */
const HEAP_OF_MARKS = /(?<!\p{M})\p{M}{31}/u

/**
 * Text in Unicode NFC, so that both forms of a name are one. Text with more than 30 marks in a row stays as it is: to put
 * them in order takes time with the square of their number, some 20 ms for an address of 16 KiB.
 */
export function inNfc(text: string): string {
  return HEAP_OF_MARKS.test(text) ? text : text.normalize('NFC')
}
