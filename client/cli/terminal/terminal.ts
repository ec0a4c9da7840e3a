import { createInterface, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import { stripControlChars } from '../../../protocol/format.ts'
import { CliError, InterruptedError } from '../cli-error.ts'

/** The three standard streams. */
export interface Streams {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  stdout: NodeJS.WritableStream & { isTTY?: boolean }
  stderr: NodeJS.WritableStream & { isTTY?: boolean; columns?: number }
}

/** Prints results to stdout and everything else to stderr. */
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

  constructor(streams: Streams, { color, signal }: { color: boolean; signal: AbortSignal }) {
    this.#streams = streams
    this.#signal = signal
    this.live = streams.stderr.isTTY === true
    this.interactive = this.live && streams.stdin.isTTY === true
    this.#color = color && this.live
  }

  get width(): number {
    return this.#streams.stderr.columns || 80
  }

  /** A result of one or more lines, on stdout. */
  print(result: string): void {
    this.#wipe()
    this.#streams.stdout.write(`${result.split('\n').map(stripControlChars).join('\n')}\n`)
  }

  /** Anything else, on stderr. */
  printNote(line: string): void {
    this.#wipe()
    this.#streams.stderr.write(`${line}\n`)
  }

  /** A line that the next one replaces. Only on a terminal. */
  draw(line: string): void {
    if (!this.live) return
    this.#streams.stderr.write(`\r\u001b[K${line}`)
    this.#drawn = true
  }

  bold(text: string): string {
    return this.#paint(text, 1, 22)
  }

  dim(text: string): string {
    return this.#paint(text, 2, 22)
  }

  green(text: string): string {
    return this.#paint(text, 32, 39)
  }

  red(text: string): string {
    return this.#paint(text, 31, 39)
  }

  /** Prompts for input and returns it trimmed. Rejects at the end of input. */
  async prompt(question: string): Promise<string> {
    this.#wipe()
    this.#streams.stderr.write(`${question} `)
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
    this.#wipe()
    this.#streams.stderr.write(`${question} `)
    const { stdin, stderr } = this.#streams
    const discard = new Writable({ write: (_chunk, _encoding, done) => done() })
    const reader = createInterface({ input: stdin, output: discard, terminal: stdin.isTTY === true })
    try {
      return await new Promise((resolve, reject) => {
        reader.once('line', resolve)
        reader.once('SIGINT', () => reject(new InterruptedError('Interrupted')))
        reader.once('close', () => reject(new CliError('No input')))
      })
    } finally {
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

  #wipe(): void {
    if (this.#drawn) this.#streams.stderr.write('\r\u001b[K')
    this.#drawn = false
  }

  #paint(text: string, on: number, off: number): string {
    return this.#color ? `\u001b[${on}m${text}\u001b[${off}m` : text
  }
}
