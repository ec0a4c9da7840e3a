import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

const root = join(import.meta.dirname, '..', '..')
const SCRIPT = join(root, 'server', 'bin', 'slipway-server.js')

/** Ends a program that was started here when this process is gone, however that happens. */
const WITH_PARENT = join(root, 'scripts', 'exit-with-parent.mjs')

/** Environment variables without `SLIPWAY_`. */
export type Settings = Record<string, string>

/** Limits that no test reaches by accident. */
const WIDE: Settings = {
  RATE_ANONYMOUS: '1000000',
  RATE_FREE: '1000000',
  RATE_HOBBY: '1000000',
  RATE_SIGN_IN: '1000000',
}

export interface Ended {
  code: number | null
  /** Lines of the standard output. */
  said: string[]
  /** The error output as it is. */
  complained: string
}

/** Runs `slipway-server` with these arguments to its end. */
export async function run(args: string[], settings: Settings = {}): Promise<Ended> {
  const child = start(args, settings)
  const [said, complained, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'exit'),
  ])
  return { code, said: said.split('\n').filter(Boolean), complained }
}

/** A service that runs as an operator runs it: as a process of its own. */
export class Program implements AsyncDisposable {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Lines of the standard output so far, each once. */
  readonly said: string[] = []
  baseUrl = ''
  #more = Promise.withResolvers<void>()
  #over = false

  /** Resolves when it says where it runs. `modules` are loaded into each of its processes before it begins. */
  static async serve(settings: Settings, modules: string[] = []): Promise<Program> {
    const program = new Program({ PORT: '0', ...WIDE, ...settings }, modules)
    const line = await program.until(/runs at http/)
    program.baseUrl = /http:\/\/\S+/.exec(line)![0]
    return program
  }

  private constructor(settings: Settings, modules: string[]) {
    this.child = start([], settings, modules)
    let complained = ''
    this.child.stderr!.on('data', (chunk) => {
      complained += chunk
    })
    createInterface({ input: this.child.stdout! })
      .on('line', (line) => {
        this.said.push(line)
        this.#tell()
      })
      .on('close', () => {
        this.#over = true
        this.#tell()
      })
    this.ended = once(this.child, 'close').then(([code]) => ({ code, said: this.said, complained }))
  }

  get port(): number {
    return Number(new URL(this.baseUrl).port)
  }

  get pid(): number {
    return this.child.pid!
  }

  /** The processes that share the port, when there are several. */
  get workers(): number[] {
    const children = readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'utf8')
    return children.split(' ').filter(Boolean).map(Number)
  }

  /** The lines of the log. */
  get log(): Record<string, unknown>[] {
    return this.said.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  }

  /** The first line like this that stands there or comes, from the given one on. */
  async until(line: RegExp, from = 0): Promise<string> {
    for (let at = from; ; at++) {
      while (at >= this.said.length) {
        if (this.#over) throw new Error(`it ended before it said ${line}:\n${await this.#lastWords()}`)
        await this.#more.promise
      }
      if (line.test(this.said[at]!)) return this.said[at]!
    }
  }

  /** Ends it in order. */
  async stop(): Promise<Ended> {
    this.child.kill('SIGTERM')
    return this.ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      for (const worker of this.workers) tryToKill(worker)
      this.child.kill('SIGKILL')
    }
    await this.ended
  }

  #tell(): void {
    this.#more.resolve()
    this.#more = Promise.withResolvers()
  }

  async #lastWords(): Promise<string> {
    const { code, said, complained } = await this.ended
    return `${said.slice(-20).join('\n')}\n${complained}\nexit code ${code}`
  }
}

function start(args: string[], settings: Settings, modules: string[] = []): ChildProcess {
  const own = Object.entries(settings).map(([name, value]) => [`SLIPWAY_${name}`, value])
  const imports = [WITH_PARENT, ...modules].flatMap((module) => ['--import', module])
  return spawn(process.execPath, [...imports, SCRIPT, ...args], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      SLIPWAY_DISK_RESERVE: '0',
      UV_THREADPOOL_SIZE: '16',
      ...Object.fromEntries(own),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
}

function tryToKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
