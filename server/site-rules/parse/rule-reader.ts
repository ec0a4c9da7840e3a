import type { PublishWarning } from '../../../protocol/api/publish.schema.ts'
import { formatNumber } from '../../../protocol/format.ts'
import { Component } from '../../lib/component.ts'

export const MAX_LINE_LENGTH = 2000

/** Lines of a file, empty ones and comments included: several times what rules there can be. */
const MAX_LINES = 10_000

const MAX_WARNINGS = 100

export class RuleReader extends Component<{ name: '_redirects' | '_headers'; text: string }> {
  readonly #warnings: PublishWarning[] = []
  #suppressed = 0
  #isCut = false

  warn(line: number, message: string): void {
    if (this.#warnings.length < MAX_WARNINGS) this.#warnings.push({ file: this.parts.name, line, message })
    else this.#suppressed++
  }

  /** The first 10,000 lines, trimmed, numbered from 1, without empty ones, comments and, with a warning, long ones. */
  *lines(): Generator<{ line: number; text: string }> {
    let line = 0
    for (const raw of this.parts.text.split('\n', MAX_LINES + 1)) {
      if (++line > MAX_LINES) {
        this.#isCut = true
        return
      }
      // Also removes a byte order mark and the CR of CRLF.
      const text = raw.trim()
      if (text === '' || text.startsWith('#')) continue
      if (text.length <= MAX_LINE_LENGTH) yield { line, text }
      else
        this.warn(
          line,
          `line ignored: ${formatNumber(text.length)} characters. The limit is ${formatNumber(MAX_LINE_LENGTH)}.`,
        )
    }
  }

  /** At most 100, then the number of further ones and where reading stopped. */
  get warnings(): PublishWarning[] {
    const warnings = [...this.#warnings]
    const file = this.parts.name
    if (this.#suppressed > 0) {
      const message = `${formatNumber(this.#suppressed)} more warnings; only the first ${MAX_WARNINGS} are listed`
      warnings.push({ file, message })
    }
    if (this.#isCut) {
      const message = `lines from here on are ignored. The limit is ${formatNumber(MAX_LINES)} lines.`
      warnings.push({ file, line: MAX_LINES + 1, message })
    }
    return warnings
  }
}
