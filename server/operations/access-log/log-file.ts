import { closeSync, fstatSync, openSync, readSync, statSync, write } from 'node:fs'
import { stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Component } from '../../lib/component.ts'
import type { Log } from '../../lib/log.ts'
import type { Counter } from '../../lib/metrics.ts'
import { settlesWithin } from '../../lib/settles-within.ts'
import { SECOND_MS } from '../../lib/time.ts'

const writeAsync = promisify(write)

interface LogFileOptions {
  target: string | { fd: number }
  log: Log
  written: Counter
  dropped: Counter
  maxWaitingCharacters?: number
}

/** Lines that wait for a disk or a reader that is too slow; further ones are dropped. */
const MAX_WAITING_CHARACTERS = 8 * 2 ** 20

/** Lines wait at most this long for others, so that one write has many. */
const FLUSH_INTERVAL_MS = SECOND_MS
const FLUSH_CHARACTERS = 64 * 1024

/** Interval of the attempts to write to a full pipe that does not block. */
const RETRY_INTERVAL_MS = 50

/** A pipe takes this much in one piece (PIPE_BUF), so that no other writer divides a line. */
const MAX_PIPE_BYTES = 4096

const CLOSE_TIMEOUT_MS = 2000

/** The file has addresses of visitors. */
const FILE_MODE = 0o600

/** Does not wait for the disk. A renamed or deleted file is created again within a second: rotation needs no signal. */
export class LogFile extends Component<LogFileOptions> implements AsyncDisposable {
  #file = openFile(this.parts.target)
  readonly #timer = setInterval(() => this.#flush(), FLUSH_INTERVAL_MS).unref()
  #waiting: string[] = []
  #waitingCharacters = 0
  #writing: Promise<void> | undefined

  /** Writes what waits, for a limited time. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await settlesWithin(CLOSE_TIMEOUT_MS, this.#drain())
    // A write that has not returned still uses the descriptor of a file that the process closes when it exits.
    if (this.#writing || typeof this.parts.target !== 'string') return
    closeSync(this.#file.fd)
  }

  /** `line` ends with a line break. */
  add(line: string): void {
    const { maxWaitingCharacters = MAX_WAITING_CHARACTERS } = this.parts
    if (this.#waitingCharacters + line.length > maxWaitingCharacters) return void this.#drop(1)
    this.#waiting.push(line)
    this.#waitingCharacters += line.length
    if (this.#waitingCharacters >= FLUSH_CHARACTERS) this.#flush()
  }

  #drop(lines: number, fields: Record<string, unknown> = {}): void {
    const { dropped, log } = this.parts
    dropped.add(lines)
    log.summarize('warn', 'access log: lines dropped', { dropped: dropped.value, ...fields })
  }

  #flush(): void {
    if (this.#writing || this.#waiting.length === 0) return
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined
      if (this.#waitingCharacters >= FLUSH_CHARACTERS) this.#flush()
    })
  }

  async #drain(): Promise<void> {
    while (this.#writing || this.#waiting.length > 0) {
      this.#flush()
      await this.#writing
    }
  }

  /** One write at a time, so that the lines keep their order. */
  async #write(): Promise<void> {
    const lines = this.#waiting
    this.#waiting = []
    this.#waitingCharacters = 0
    try {
      await this.#reopenIfMoved()
      if (this.#file.isCut) lines[0] = `\n${lines[0]}`
      for (const piece of this.#toPieces(lines)) await this.#writePiece(piece)
      this.parts.written.add(lines.length)
    } catch (error) {
      this.#drop(lines.length, { error })
    }
  }

  #toPieces(lines: readonly string[]): Buffer[] {
    if (typeof this.parts.target === 'string') return [Buffer.from(lines.join(''))]
    const pieces: string[] = ['']
    for (const line of lines) {
      const last = pieces.length - 1
      if (pieces[last]!.length + line.length > MAX_PIPE_BYTES) pieces.push(line)
      else pieces[last] += line
    }
    return pieces.map((piece) => Buffer.from(piece))
  }

  /** The threads of the process write, because a full pipe would block the event loop. */
  async #writePiece(piece: Buffer): Promise<void> {
    for (let offset = 0; offset < piece.length; ) {
      try {
        const { bytesWritten } = await writeAsync(this.#file.fd, piece, offset, piece.length - offset, null)
        offset += bytesWritten
        this.#file.isCut = offset < piece.length
      } catch (error) {
        // The reader of a pipe is slow; lines that arrive until then are dropped at the limit.
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') await pause(RETRY_INTERVAL_MS)
        else throw error
      }
    }
  }

  async #reopenIfMoved(): Promise<void> {
    const { target } = this.parts
    if (typeof target !== 'string') return
    const found = await stat(target, { bigint: true }).catch(() => undefined)
    if (found?.ino === this.#file.inode) return
    const opened = openFile(target)
    closeSync(this.#file.fd)
    this.#file = opened
  }
}

/** `isCut`: whether it ends within a line, because the disk was full. Throws when it cannot be opened. */
function openFile(target: LogFileOptions['target']) {
  if (typeof target !== 'string') return { fd: target.fd, inode: undefined, isCut: false }
  // What may throw comes first: each second opens the file again.
  const isCut = endsWithinLine(target)
  const fd = openSync(target, 'a', FILE_MODE)
  return { fd, inode: fstatSync(fd, { bigint: true }).ino, isCut }
}

function endsWithinLine(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats?.isFile() || stats.size === 0) return false
  const last = Buffer.alloc(1)
  const fd = openSync(path, 'r')
  readSync(fd, last, 0, 1, stats.size - 1)
  closeSync(fd)
  return last.toString() !== '\n'
}
