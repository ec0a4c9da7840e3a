import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { getCompileCacheDir } from 'node:module'
import { setPriority } from 'node:os'
import { dirname } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { ENCODINGS, type Encoding } from '../../blobs/encoding.ts'
import { ApiError } from '../../lib/errors.ts'

const PROGRAM = fileURLToPath(new URL('./compression-process.ts', import.meta.url))

const LOWEST_PRIORITY = 19

interface CompressionWorkerOptions {
  idleTimeoutMs: number
}

/** Starts with the first work, exits soon after the last, has the lowest priority (docs/decisions/004-encodings.md). */
export class CompressionWorker implements Disposable {
  readonly #idleTimeoutMs: number
  #running: RunningWorker | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #disposed = false

  constructor({ idleTimeoutMs }: CompressionWorkerOptions) {
    this.#idleTimeoutMs = idleTimeoutMs
  }

  get pid(): number | undefined {
    return this.#running?.child.pid
  }

  /**
   * Returns the encodings that reduce the size; one call at a time. Rejects when the process exits, and the next call
   * starts another one; UNAVAILABLE when none can be started.
   */
  async encode(bytes: Buffer): Promise<Map<Encoding, Buffer>> {
    clearTimeout(this.#idleTimer)
    this.#running ??= this.#start()
    const running = this.#running
    try {
      return await readEncodings(running, bytes)
    } catch (error) {
      this.#kill(running)
      throw error
    } finally {
      if (this.#running) this.#idleTimer = setTimeout(() => this.#end(), this.#idleTimeoutMs)
    }
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    clearTimeout(this.#idleTimer)
    if (this.#running) this.#kill(this.#running)
  }

  #start(): RunningWorker {
    if (this.#disposed) throw startFailure('it was ended')
    // It gets nothing of the environment, which contains secrets, but the cache of Node, if there is one.
    const cache = getCompileCacheDir()
    const env = cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) }
    const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'ignore'], env })
    child.on('error', () => undefined)
    if (child.pid === undefined) throw startFailure('the system has no room for it')
    const running = { child, output: new WorkerOutput(child.stdout) }
    child.on('exit', () => this.#onExit(running))
    // Its end shows in the output.
    child.stdin.on('error', () => undefined)
    lowerPriority(child.pid)
    return running
  }

  #end(): void {
    const running = this.#running
    if (!running) return
    this.#onExit(running)
    running.child.stdin.end()
  }

  /** Killed, because a process of the lowest priority may take long to exit. */
  #kill(running: RunningWorker): void {
    this.#onExit(running)
    const { child } = running
    child.kill('SIGKILL')
    child.unref()
    for (const pipe of [child.stdin, child.stdout]) pipe.destroy()
  }

  #onExit(running: RunningWorker): void {
    if (this.#running === running) this.#running = undefined
  }
}

interface RunningWorker {
  child: ChildProcessByStdio<Writable, Readable, null>
  output: WorkerOutput
}

async function readEncodings(
  { child, output }: RunningWorker,
  bytes: Buffer,
): Promise<Map<Encoding, Buffer>> {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  child.stdin.write(length)
  child.stdin.write(bytes)
  const encodings = new Map<Encoding, Buffer>()
  for (const encoding of ENCODINGS) {
    const size = (await output.read(4)).readUInt32LE()
    if (size > 0) encodings.set(encoding, await output.read(size))
  }
  return encodings
}

function startFailure(why: string): ApiError {
  return new ApiError('UNAVAILABLE', `The compression process cannot start: ${why}`)
}

class WorkerOutput {
  readonly #chunks: AsyncIterator<Buffer>
  #left: Buffer = Buffer.alloc(0)

  constructor(output: Readable) {
    this.#chunks = output[Symbol.asyncIterator]()
  }

  async read(size: number): Promise<Buffer> {
    const chunks = [this.#left]
    for (let received = this.#left.length; received < size; received += chunks.at(-1)!.length) {
      const { value, done } = await this.#chunks.next()
      if (done) throw new Error('The compression process exited during its work')
      chunks.push(value)
    }
    const all = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    this.#left = all.subarray(size)
    return all.subarray(0, size)
  }
}

/** Where the system does not allow it, it runs at normal priority. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, LOWEST_PRIORITY)
  } catch {}
}
