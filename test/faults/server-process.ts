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
  /** Processor cores it may use, in taskset syntax; all by default. */
  cores?: string
  /** Arguments of Node itself. */
  nodeArgs?: string[]
  /** Kills the server. */
  signal?: AbortSignal | undefined
}

const MAX_OUTPUT_LINES = 200

const DEFAULT_SETTINGS = {
  RATE_ANONYMOUS: '1000000000',
  RATE_FREE: '1000000000',
  RATE_HOBBY: '1000000000',
  RATE_SESSION: '1000000000',
  RATE_SIGN_IN: '1000000000',
  PORT: '0',
  LOG: 'info',
}

/** The real server in its own process, on a data folder that outlives it. It ends with this process. */
export class ServerProcess implements AsyncDisposable {
  readonly child: ChildProcess
  /** Aborts when the process has exited. */
  readonly exitSignal: AbortSignal
  readonly ended: Promise<unknown>
  readonly output: string[] = []
  readonly #events = new EventEmitter()
  readonly #codes = new Map<string, string>()
  #baseUrl = ''

  /** Resolves when the server has printed its address; rejects with its output when it exits before. */
  static async start(options: ServerOptions): Promise<ServerProcess> {
    const server = new ServerProcess(options)
    try {
      while (server.#baseUrl === '') await once(server.#events, 'line', { signal: server.exitSignal })
      return server
    } catch {
      throw new Error(`the server did not start:\n${server.output.join('\n')}`)
    }
  }

  private constructor({ data, settings = {}, cores, nodeArgs = [], signal }: ServerOptions) {
    const given = { ...DEFAULT_SETTINGS, ...settings, DATA: resolve(data) }
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
    const exit = new AbortController()
    this.exitSignal = exit.signal
    signal?.addEventListener('abort', () => void this.kill(), { signal: exit.signal })
    this.ended = once(this.child, 'exit').finally(() => exit.abort(new Error('the server has ended')))
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      createInterface({ input: stream }).on('line', (line) => this.#readLine(line))
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

  /** Process ids of the workers. */
  get workers(): number[] {
    const children = readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'utf8')
    return children.split(' ').filter(Boolean).map(Number)
  }

  /** Waits for the next sign-in code mailed to an address; each code is returned once. */
  async mailedCode(email: string): Promise<string> {
    for (;;) {
      const code = this.#codes.get(email)
      this.#codes.delete(email)
      if (code !== undefined) return code
      await once(this.#events, 'line', { signal: this.exitSignal })
    }
  }

  /** Sends SIGKILL to the server and its workers. */
  async kill(): Promise<void> {
    for (const pid of [this.pid, ...this.#livingWorkers()]) signal(pid, 'SIGKILL')
    await this.ended
  }

  /** Sends SIGTERM; resolves with the exit code. */
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

  #readLine(line: string): void {
    this.output.push(line)
    if (this.output.length > MAX_OUTPUT_LINES) this.output.shift()
    this.#baseUrl ||= /runs at (http:\S+)/.exec(line)?.[1] ?? ''
    const letter = /^Sign-in code for (\S+): (\S+)$/.exec(line)
    if (letter) this.#codes.set(letter[1]!, letter[2]!)
    this.#events.emit('line')
  }
}

/** A free port outside the ephemeral range, which stays free between restarts. */
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

/** Sends a signal; ignores a process that has exited. */
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
