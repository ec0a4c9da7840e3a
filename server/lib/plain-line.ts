const CONTROLS = /[\p{Cc}\p{Bidi_Control}]+/gu

/** More marks on a character than languages have: they would cover the lines around it. */
const STACKED_MARKS = /(\p{M}{4})\p{M}+/gu

/** A character that shows: no space, no filler, no mark of format, and no half of a pair. */
const VISIBLE = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u

/** A text as one line of at most `maxLength` characters, with nothing in it that changes the text around it; empty if nothing shows. */
export function toPlainLine(text: string, maxLength: number): string {
  const plain = text.toWellFormed().replace(/\s+/g, ' ').replace(CONTROLS, '')
  const line = plain.replace(STACKED_MARKS, '$1').trim()
  const short = [...line.slice(0, 2 * maxLength)].slice(0, maxLength).join('').trim()
  return isVisible(short) ? short : ''
}

export function isVisible(text: string): boolean {
  return VISIBLE.test(text)
}
