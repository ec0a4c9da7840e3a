import type { PaletteOption } from './page-commands.ts'

/** The worst rank, of an option that was found by something else than its name. */
const OTHER = 5

/**
 * The options in the order in which a user is likely to mean them: the exact name, names that begin with the text, those
 * whose words begin with its words, whole ones first, those that contain them, and what was found by its host. Equal ones keep their order.
 */
export function ranked(options: readonly PaletteOption[], text: string): PaletteOption[] {
  const wanted = fold(text.trim())
  const ranks = new Map(options.map((option) => [option, rank(option, wanted)]))
  return options.toSorted((a, b) => ranks.get(a)! - ranks.get(b)!)
}

/** Whether the name and the keywords have all of these words. */
export function hasWords({ name, keywords = '' }: PaletteOption, text: string): boolean {
  const given = fold(`${name} ${keywords}`)
  return wordsOf(fold(text)).every((word) => given.includes(word))
}

const NO_WORD = /[^\p{L}\p{N}]+/u

function rank({ name, detail = '' }: PaletteOption, wanted: string): number {
  const [title, host] = [fold(name), fold(detail)]
  const words = wordsOf(wanted)
  const titleWords = title.split(NO_WORD)
  const begins = (starts: string[]) => words.every((word) => starts.some((start) => start.startsWith(word)))
  if (title === wanted || host.split('.')[0] === wanted) return 0
  if (title.startsWith(wanted)) return 1
  if (begins(titleWords)) {
    const whole = words.filter((word) => titleWords.includes(word)).length / words.length
    return 2 - 0.6 * whole - (titleWords[0]!.startsWith(words[0]!) ? 0.25 : 0)
  }
  if (words.every((word) => title.includes(word))) return 3
  return begins(host.split(NO_WORD)) ? 4 : OTHER
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

/** In lower case, without accents. */
function fold(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
}
