import type { PublishWarning } from '../../client/wire.ts'

/** Characters. */
export const MOST_LINE_CHARACTERS = 2000

/** Lines that say something: several times what rules there can be, and no more than some 100 ms of work. */
const MOST_LINES = 10_000

const MOST_WARNINGS = 100

/** One of the files of rules, line by line, and what is wrong with it. */
export class RuleFile {
  readonly #name: '_redirects' | '_headers'
  readonly #text: string
  readonly #warnings: PublishWarning[] = []
  #more = 0
  /** The first line that is not looked at any more. */
  #unread: number | undefined

  constructor(name: '_redirects' | '_headers', text: string) {
    this.#name = name
    this.#text = text
  }

  /**
   * Lines that say something, trimmed, with their number from 1, the first 10,000 of them. A line that is too long is
   * a warning instead.
   */
  *lines(): Generator<{ line: number; text: string }> {
    let line = 0
    let count = 0
    for (const raw of this.#text.split('\n')) {
      line++
      // Takes a byte order mark and the CR of CRLF away too.
      const text = raw.trim()
      if (text === '' || text.startsWith('#')) continue
      if (++count > MOST_LINES) {
        this.#unread = line
        return
      }
      if (text.length <= MOST_LINE_CHARACTERS) yield { line, text }
      else this.warn(line, `The line has ${text.length} characters; at most ${MOST_LINE_CHARACTERS} are read`)
    }
  }

  warn(line: number, message: string): void {
    if (this.#warnings.length < MOST_WARNINGS) this.#warnings.push({ file: this.#name, line, message })
    else this.#more++
  }

  /** At most 100, and then how many more there are and from where on nothing was read. */
  get warnings(): PublishWarning[] {
    const warnings = [...this.#warnings]
    const file = this.#name
    if (this.#more > 0) {
      const message = `${this.#more} more lines have something wrong; the first ${MOST_WARNINGS} are named`
      warnings.push({ file, message })
    }
    if (this.#unread !== undefined) {
      const message = `Only ${MOST_LINES} lines with rules are read; from here on they are left out`
      warnings.push({ file, line: this.#unread, message })
    }
    return warnings
  }
}
