import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

const root = join(import.meta.dirname, '..', '..')
const SCRIPT = join(root, 'server', 'bin', 'slipway-server.js')
const WITH_PARENT = join(root, 'scripts', 'exit-with-parent.mjs')

export interface ServerOptions {
  /** The data folder. */
  data: string
  /** Environment variables without `SLIPWAY_`. */
  settings?: Record<string, string>
  /** Processor cores it may use, as taskset names them; all of them when left out. */
  cores?: string
  /** Arguments of Node itself. */
  nodeArgs?: string[]
  /** Ends it as `kill` does. */
  signal?: AbortSignal | undefined
}

/** Lines of output that are kept for whoever wants to know what happened. */
const LINES_KEPT = 200

const WIDE = {
  RATE_ANONYMOUS: '1000000000',
  RATE_FREE: '1000000000',
  RATE_HOBBY: '1000000000',
  RATE_SIGN_IN: '1000000000',
  PORT: '0',
  LOG: 'info',
}

/** The real service as a process of its own, over a data folder that outlives it. It ends with this process. */
export class ServerProcess implements AsyncDisposable {
  readonly child: ChildProcess
  /** Aborts when the process has ended. */
  readonly gone: AbortSignal
  readonly ended: Promise<unknown>
  readonly output: string[] = []
  readonly #events = new EventEmitter()
  readonly #codes = new Map<string, string>()
  #baseUrl = ''

  /** Resolves when it says where it runs; rejects with what it said when it ends before. */
  static async start(options: ServerOptions): Promise<ServerProcess> {
    const server = new ServerProcess(options)
    try {
      while (server.#baseUrl === '') await once(server.#events, 'line', { signal: server.gone })
      return server
    } catch {
      throw new Error(`the server did not start:\n${server.output.join('\n')}`)
    }
  }

  private constructor({ data, settings = {}, cores, nodeArgs = [], signal }: ServerOptions) {
    const given = { ...WIDE, ...settings, DATA: resolve(data) }
    const own = Object.entries(given).map(([name, value]) => [`SLIPWAY_${name}`, value])
    const command = [process.execPath, '--import', WITH_PARENT, ...nodeArgs, SCRIPT]
    if (cores !== undefined) command.unshift('taskset', '-c', cores)
    this.child = spawn(command[0]!, command.slice(1), {
      cwd: root,
      env: {
        ...withoutSettings(),
        UV_THREADPOOL_SIZE: '16',
        SLIPWAY_DISK_RESERVE: '0',
        ...Object.fromEntries(own),
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const gone = new AbortController()
    this.gone = gone.signal
    signal?.addEventListener('abort', () => void this.kill(), { signal: gone.signal })
    this.ended = once(this.child, 'exit').finally(() => gone.abort(new Error('the server has ended')))
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      createInterface({ input: stream }).on('line', (line) => this.#hear(line))
    }
  }

  get baseUrl(): string {
    return this.#baseUrl
  }

  get port(): number {
    return Number(new URL(this.#baseUrl).port)
  }

  get pid(): number {
    return this.child.pid!
  }

  /** The processes that a server with several workers started. */
  get workers(): number[] {
    const children = readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'utf8')
    return children.split(' ').filter(Boolean).map(Number)
  }

  /** The code of the newest letter to an address that was not asked for before. */
  async mailedCode(email: string): Promise<string> {
    for (;;) {
      const code = this.#codes.get(email)
      this.#codes.delete(email)
      if (code !== undefined) return code
      await once(this.#events, 'line', { signal: this.gone })
    }
  }

  /** Ends every process at once, as `kill -9` does. */
  async kill(): Promise<void> {
    for (const pid of [this.pid, ...this.#livingWorkers()]) signal(pid, 'SIGKILL')
    await this.ended
  }

  /** Ends it in order and answers the exit code. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM')
    await this.ended
    return this.child.exitCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.kill()
  }

  #livingWorkers(): number[] {
    try {
      return this.workers
    } catch {
      return []
    }
  }

  #hear(line: string): void {
    this.output.push(line)
    if (this.output.length > LINES_KEPT) this.output.shift()
    this.#baseUrl ||= /runs at (http:\S+)/.exec(line)?.[1] ?? ''
    const letter = /"message written to a file","to":"([^"]+)","code":"([^"]+)"/.exec(line)
    if (letter) this.#codes.set(letter[1]!, letter[2]!)
    this.#events.emit('line')
  }
}

/** A free port that the system does not give to outgoing connections, so that it is free the next time too. */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const probe = createServer()
    try {
      probe.listen(port, '127.0.0.1')
      await once(probe, 'listening')
      return port
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    } finally {
      probe.close()
    }
  }
}

/** Sends a signal to a process that may be gone already. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function withoutSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SLIPWAY_')))
}
