import { createInterface, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import { escapeControlChars, stripControlChars } from '../../../protocol/format.ts'
import { DEFAULT_WIDTH, wrapLine } from '../../../protocol/wrap.ts'
import { CliError, InterruptedError } from '../cli-error.ts'

/** Foreground colors (ECMA-48, 8.3.117). */
const [RED, GREEN] = [31, 32]

/** The three standard streams. */
export interface Streams {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number }
  stderr: NodeJS.WritableStream & { isTTY?: boolean; columns?: number }
}

/**
 * Prints results to stdout and everything else to stderr. Everything that it prints may contain text of a server or of the
 * author of a folder: control characters are removed here, from each line as a whole, and colors are added afterwards.
 */
export class Terminal {
  /** Whether input can be prompted for. */
  readonly interactive: boolean
  /** Whether lines can be redrawn. */
  readonly live: boolean
  readonly #streams: Streams
  readonly #color: boolean
  readonly #signal: AbortSignal
  #lines: { reader: Interface; next: () => Promise<IteratorResult<string>> } | undefined
  #drawn = false

  constructor(
    streams: Streams,
    { color, redraws = true, signal }: { color: boolean; redraws?: boolean; signal: AbortSignal },
  ) {
    this.#streams = streams
    this.#signal = signal
    const isTerminal = streams.stderr.isTTY === true
    this.live = isTerminal && redraws
    this.interactive = isTerminal && streams.stdin.isTTY === true
    this.#color = color && isTerminal
  }

  get width(): number {
    return this.#streams.stderr.columns || DEFAULT_WIDTH
  }

  /** A line of a result, on stdout. */
  print(line: string): void {
    this.#wipe()
    this.#streams.stdout.write(`${stripControlChars(line)}\n`)
  }

  /** Rows of tables, on stdout: within the width of a terminal, and each as one line to a program. */
  printRows(format: (width: number) => string[]): void {
    const { isTTY, columns } = this.#streams.stdout
    const width = (isTTY && columns) || Number.POSITIVE_INFINITY
    for (const line of format(width).flatMap((row) => wrapLine(row, width))) this.print(line)
  }

  /** A result for a program, on stdout: JSON, in which control characters are escaped. */
  printJson(value: unknown): void {
    this.#wipe()
    this.#streams.stdout.write(`${escapeControlChars(JSON.stringify(value, undefined, 2))}\n`)
  }

  /** Any other line, on stderr. */
  printNote(line: string): void {
    this.#writeLine('', line)
  }

  /** A line about a success. */
  printDone(line: string): void {
    this.#writeLine(`${this.#paint('✓', GREEN)} `, line)
  }

  /** A line about a part that is not as it should be, where others are. */
  printProblem(line: string): void {
    this.#writeLine(`${this.#paint('✗', RED)} `, line)
  }

  printError(line: string): void {
    this.#writeLine(`${this.#paint('Error:', RED)} `, line)
  }

  /** A line that the next one replaces. Only on a terminal. */
  draw(line: string): void {
    if (!this.live) return
    this.#streams.stderr.write(`\r\u001b[K${stripControlChars(line)}`)
    this.#drawn = true
  }

  /** Prompts for input and returns it trimmed. Rejects at the end of input. */
  async prompt(question: string): Promise<string> {
    this.#ask(question)
    const { done, value } = await this.#reader().next()
    if (done || this.#signal.aborted) {
      this.#streams.stderr.write('\n')
      this.#signal.throwIfAborted()
      throw new CliError('No input')
    }
    return value.trim()
  }

  /** Prompts without echo. */
  async promptSecret(question: string): Promise<string> {
    this.#ask(question)
    // It would answer the next question by the secret.
    this.#lines?.reader.close()
    this.#lines = undefined
    const { stdin, stderr } = this.#streams
    const discard = new Writable({ write: (_chunk, _encoding, done) => done() })
    const reader = createInterface({ input: stdin, output: discard, terminal: stdin.isTTY === true })
    const abort = () => reader.close()
    this.#signal.addEventListener('abort', abort)
    try {
      return await new Promise((resolve, reject) => {
        reader.once('line', resolve)
        reader.once('SIGINT', () => reject(new InterruptedError('Interrupted')))
        reader.once('close', () => reject(this.#signal.reason ?? new CliError('No input')))
      })
    } finally {
      this.#signal.removeEventListener('abort', abort)
      reader.close()
      stderr.write('\n')
    }
  }

  /** Releases stdin, so that the program can exit. */
  close(): void {
    this.#wipe()
    this.#lines?.reader.close()
  }

  #reader() {
    if (!this.#lines) {
      const reader = createInterface({ input: this.#streams.stdin, terminal: false })
      const iterator = reader[Symbol.asyncIterator]()
      this.#signal.addEventListener('abort', () => reader.close())
      this.#lines = { reader, next: () => iterator.next() }
    }
    return this.#lines
  }

  /** `mark` is of this program. */
  #writeLine(mark: string, line: string): void {
    this.#wipe()
    this.#streams.stderr.write(`${mark}${stripControlChars(line)}\n`)
  }

  #ask(question: string): void {
    this.#signal.throwIfAborted()
    this.#wipe()
    this.#streams.stderr.write(`${stripControlChars(question)} `)
  }

  #wipe(): void {
    if (this.#drawn) this.#streams.stderr.write('\r\u001b[K')
    this.#drawn = false
  }

  #paint(text: string, color: number): string {
    return this.#color ? `\u001b[${color}m${text}\u001b[39m` : text
  }
}
