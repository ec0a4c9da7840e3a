import type { PublishWarning } from '../client/wire.ts'

/** Characters. */
export const MOST_LINE_CHARACTERS = 2000

const MOST_WARNINGS = 100

/** One of the files of rules, line by line, and what is wrong with it. */
export class RuleFile {
  readonly #name: '_redirects' | '_headers'
  readonly #text: string
  readonly #warnings: PublishWarning[] = []
  #more = 0

  constructor(name: '_redirects' | '_headers', text: string) {
    this.#name = name
    this.#text = text
  }

  /** Lines that say something, trimmed, with their number from 1; a line that is too long is a warning instead. */
  *lines(): Generator<{ line: number; text: string }> {
    let line = 0
    for (const raw of this.#text.split('\n')) {
      line++
      // Takes a byte order mark and the CR of CRLF away too.
      const text = raw.trim()
      if (text === '' || text.startsWith('#')) continue
      if (text.length <= MOST_LINE_CHARACTERS) yield { line, text }
      else this.warn(line, `The line has ${text.length} characters; at most ${MOST_LINE_CHARACTERS} are read`)
    }
  }

  warn(line: number, message: string): void {
    if (this.#warnings.length < MOST_WARNINGS) this.#warnings.push({ file: this.#name, line, message })
    else this.#more++
  }

  /** At most 100, and then one that says how many more there are. */
  get warnings(): PublishWarning[] {
    if (this.#more === 0) return this.#warnings
    const message = `${this.#more} more lines have something wrong; the first ${MOST_WARNINGS} are named`
    return [...this.#warnings, { file: this.#name, message }]
  }
}
