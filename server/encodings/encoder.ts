import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Failure } from '../failure.ts'
import { ENCODINGS, type Encoding } from './encoding.ts'

const PROGRAM = fileURLToPath(new URL('./encoder-process.ts', import.meta.url))

/** Everybody else who wants to compute goes first. */
const LOWEST_PRIORITY = 19

interface EncoderOptions {
  /** Milliseconds without work after which the process ends. */
  patience: number
}

/**
 * Encodes at the best levels in a process of its own, which has the lowest scheduling priority, begins with the first
 * work and ends soon after the last. See docs/decisions/004-encodings.md.
 */
export class Encoder implements Disposable {
  readonly #patience: number
  #running: Running | undefined
  #ending: NodeJS.Timeout | undefined
  #disposed = false

  constructor({ patience }: EncoderOptions) {
    this.#patience = patience
  }

  /** The process, while there is one. */
  get pid(): number | undefined {
    return this.#running?.child.pid
  }

  /**
   * Those encodings that make these bytes smaller; one call at a time. Rejects when the process ends over it, and the
   * next call begins another one; UNAVAILABLE when none can be begun.
   */
  async encode(bytes: Buffer): Promise<Map<Encoding, Buffer>> {
    clearTimeout(this.#ending)
    this.#running ??= this.#start()
    const running = this.#running
    try {
      return await answered(running, bytes)
    } catch (error) {
      this.#kill(running)
      throw error
    } finally {
      if (this.#running) this.#ending = setTimeout(() => this.#end(), this.#patience)
    }
  }

  /** Ends the process at once, whatever it is at. */
  [Symbol.dispose](): void {
    this.#disposed = true
    clearTimeout(this.#ending)
    if (this.#running) this.#kill(this.#running)
  }

  #start(): Running {
    if (this.#disposed) throw cannotBegin('it was ended')
    // It gets nothing of the service's environment, where the secrets are.
    const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'ignore'], env: {} })
    child.on('error', () => undefined)
    if (child.pid === undefined) throw cannotBegin('the system has no room for it')
    const running = { child, answers: new Answers(child.stdout) }
    child.on('exit', () => this.#forget(running))
    // That it takes no more shows in its answers.
    child.stdin.on('error', () => undefined)
    yieldToOthers(child.pid)
    return running
  }

  /** Without input it ends by itself. */
  #end(): void {
    const running = this.#running
    if (!running) return
    this.#forget(running)
    running.child.stdin.end()
  }

  /** Nobody waits until a process of the lowest priority gets round to its end. */
  #kill(running: Running): void {
    this.#forget(running)
    const { child } = running
    child.kill('SIGKILL')
    child.unref()
    for (const pipe of [child.stdin, child.stdout]) pipe.destroy()
  }

  #forget(running: Running): void {
    if (this.#running === running) this.#running = undefined
  }
}

interface Running {
  child: ChildProcessByStdio<Writable, Readable, null>
  answers: Answers
}

async function answered({ child, answers }: Running, bytes: Buffer): Promise<Map<Encoding, Buffer>> {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  child.stdin.write(length)
  child.stdin.write(bytes)
  const encodings = new Map<Encoding, Buffer>()
  for (const encoding of ENCODINGS) {
    const size = (await answers.take(4)).readUInt32LE()
    if (size > 0) encodings.set(encoding, await answers.take(size))
  }
  return encodings
}

function cannotBegin(why: string): Failure {
  return new Failure('UNAVAILABLE', `The encoding process cannot be begun: ${why}`)
}

/** What comes out of the process, taken piece by piece. */
class Answers {
  readonly #chunks: AsyncIterator<Buffer>
  #left: Buffer = Buffer.alloc(0)

  constructor(output: Readable) {
    this.#chunks = output[Symbol.asyncIterator]()
  }

  async take(size: number): Promise<Buffer> {
    const chunks = [this.#left]
    for (let came = this.#left.length; came < size; came += chunks.at(-1)!.length) {
      const { value, done } = await this.#chunks.next()
      if (done) throw new Error('The encoding process ended over its work')
      chunks.push(value)
    }
    const all = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    this.#left = all.subarray(size)
    return all.subarray(0, size)
  }
}

/** Where the system does not allow it, it runs as everybody else does. */
function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, LOWEST_PRIORITY)
  } catch {}
}
