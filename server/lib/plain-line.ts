/** Controls, and marks that change the direction of the text around them. */
const CONTROLS = /[\p{Cc}\p{Bidi_Control}]+/gu

/** A character that shows: no space, no filler, no mark of format, and no half of a pair. */
const VISIBLE = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u

/** A text as one line of at most `maxLength` characters, with nothing in it that changes the text around it. */
export function toPlainLine(text: string, maxLength: number): string {
  const line = text.toWellFormed().replace(/\s+/g, ' ').replace(CONTROLS, '').trim()
  return [...line.slice(0, 2 * maxLength)].slice(0, maxLength).join('').trim()
}

/** Whether a reader sees anything of a text. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text)
}
