import type { Readable } from 'node:stream'
import type { Blobs } from '../../blobs/blobs.ts'
import { Failure } from '../../failure.ts'
import { type Budget, Kept } from '../../memory/kept.ts'
import type { Content } from '../answer.ts'
import { Pieces } from './pieces.ts'

/** Files up to this many bytes are kept in memory as a whole; larger ones in pieces, once they were asked for again. */
const SMALL = 256 * 1024

/** Small files that are read at once, each into memory; further ones are read in pieces as if they were large. */
const MOST_READS = 256

/** Files that are open at once: each holds some hundred KiB. One more is turned away. */
const MOST_STREAMS = 2000

/** Large files of which it is remembered that they were asked for. */
const MOST_ASKED = 1000

/** The bytes of files: from memory, else from the blobs. */
export class Bodies {
  readonly #blobs: Blobs
  readonly #budget: Budget
  readonly #kept: Kept<Buffer>
  readonly #reads = new Map<string, Promise<Buffer | undefined>>()
  /** A file that is downloaded once must not drive out what many ask for. */
  readonly #asked = new Set<string>()
  #streams = 0

  constructor({ blobs, budget }: { blobs: Blobs; budget: Budget }) {
    this.#blobs = blobs
    this.#budget = budget
    this.#kept = new Kept(budget)
  }

  /** The bytes that are wanted, when they are in memory as a whole. */
  warm(content: Content): Buffer | undefined {
    if (content.size > SMALL) return undefined
    const bytes = this.#kept.get(nameOf(content))
    return bytes && cut(bytes, content)
  }

  /**
   * The bytes that are wanted or pieces of them, which the caller has to close; undefined when they are not there.
   * UNAVAILABLE when too many files are open.
   */
  async open(content: Content): Promise<Buffer | Pieces | undefined> {
    const reading = this.#reads.get(nameOf(content))
    if (content.size > SMALL || (!reading && this.#reads.size >= MOST_READS)) return this.#pieces(content)
    const bytes = this.warm(content)
    if (bytes) return bytes
    const whole = await (reading ?? this.#read(content))
    return whole && cut(whole, content)
  }

  async #pieces(content: Content): Promise<Pieces | undefined> {
    const name = nameOf(content)
    const keeps = this.#wasAsked(name) && content.size <= this.#budget.limit / 4
    const pieces = new Pieces(content, {
      warm: (number) => this.#kept.get(`${name}:${number}`),
      keep: (number, bytes) => {
        if (keeps) this.#kept.set(`${name}:${number}`, bytes, bytes.length)
      },
      read: (start, end) => this.#stream(content, { start, end }),
    })
    return (await pieces.begin()) ? pieces : undefined
  }

  /** Whether a large file was asked for before, as far as that is remembered. */
  #wasAsked(name: string): boolean {
    if (this.#asked.has(name)) return true
    this.#asked.add(name)
    if (this.#asked.size > MOST_ASKED) this.#asked.delete(this.#asked.values().next().value!)
    return false
  }

  async #stream(
    { hash, encoding }: Content,
    range: { start: number; end: number },
  ): Promise<Readable | undefined> {
    if (this.#streams >= MOST_STREAMS) {
      throw new Failure('UNAVAILABLE', 'The service is busy; try again shortly', { retryAfterSeconds: 5 })
    }
    this.#streams++
    const stream = await this.#blobs.read(hash, { encoding, range }).catch((error: unknown) => {
      this.#streams--
      throw error
    })
    if (stream) stream.once('close', () => this.#streams--)
    else this.#streams--
    return stream
  }

  #read(content: Content): Promise<Buffer | undefined> {
    const name = nameOf(content)
    const reading = this.#load(content).finally(() => this.#reads.delete(name))
    this.#reads.set(name, reading)
    return reading
  }

  /** Bytes of another length are as good as missing: they would not be what was published. */
  async #load(content: Content): Promise<Buffer | undefined> {
    const bytes = await this.#blobs.bytes(content.hash, content.encoding)
    if (bytes?.length !== content.size) return undefined
    this.#kept.set(nameOf(content), bytes, content.size)
    return bytes
  }
}

function nameOf({ hash, encoding }: Content): string {
  return encoding === undefined ? hash : `${hash}.${encoding}`
}

function cut(bytes: Buffer, { range }: Content): Buffer {
  return range ? bytes.subarray(range.start, range.end + 1) : bytes
}
