import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { isAbsolute, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { runCommand } from '../../server/commands/run.ts'
import { PATIENT_ENVIRONMENT } from '../support/engines.ts'
import { atExit } from '../tools/exit.ts'

const root = join(import.meta.dirname, '..', '..')
const SCRIPT = join('server', 'bin', 'slipway-server.js')

/** Makes started programs exit with this process, even if it is killed. */
const WITH_PARENT = toModuleUrl(join(root, 'scripts', 'exit-with-parent.mjs'))

/** Environment variables without `SLIPWAY_`. */
export type Settings = Record<string, string>

/** Limits that no test reaches unintentionally. */
const HIGH_LIMITS: Settings = {
  RATE_ANONYMOUS: '1000000000',
  RATE_FREE: '1000000000',
  RATE_HOBBY: '1000000000',
  RATE_SESSION: '1000000000',
  RATE_SIGN_IN: '1000000000',
}

interface ProgramOptions {
  /** A command and its arguments; by default it serves. */
  args?: string[]
  /** Preloaded into each of its processes. */
  modules?: string[]
  /** Arguments of Node itself. */
  nodeArgs?: string[]
  /** The tree of its release; this one by default. */
  root?: string
  /** Kills it. */
  signal?: AbortSignal | undefined
  /** The file of its standard output, which is then not in `lines`. */
  output?: string
  /** Those of production for tests of a database that does not answer; by default those of `PATIENT`. */
  deadlines?: 'production'
}

export interface Ended {
  code: number | null
  /** Lines of the standard output. */
  lines: string[]
  /** The standard error output. */
  stderr: string
}

/**
 * Runs a command of `slipway-server` in this process, for a tenth of the CPU time of `runProcess`; `serve` only to fail.
 * Without arguments it serves in a process of its own.
 */
export async function run(args: string[], settings: Settings = {}): Promise<Ended> {
  if (args.length === 0) return runProcess(args, settings)
  const written = { output: '', error: '' }
  using _ = args[0] === 'serve' ? keepSignalHandlers() : undefined
  const code = await runCommand(args, {
    env: { ...toEnvironment(settings), ...PATIENT_ENVIRONMENT },
    execArgv: [],
    isTerminal: false,
    columns: 80,
    writeOutput: (text) => {
      written.output += text
    },
    writeError: (text) => {
      written.error += text
    },
    onSignal: () => undefined,
  })
  return { code, lines: written.output.split('\n').filter(Boolean), stderr: written.error }
}

/** Removes the signal handlers that are added until it is disposed. */
function keepSignalHandlers(): Disposable {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
  const before = new Map(signals.map((name) => [name, process.listeners(name)]))
  return {
    [Symbol.dispose]() {
      for (const name of signals)
        for (const listener of process.listeners(name))
          if (!before.get(name)!.includes(listener)) process.off(name, listener)
    },
  }
}

/** Runs `slipway-server` with these arguments in a process of its own until it exits. */
export async function runProcess(
  args: string[],
  settings: Settings = {},
  options: ProgramOptions = {},
): Promise<Ended> {
  const child = start(args, settings, options)
  const [stdout, stderr, [code]] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    text(child.stderr!),
    once(child, 'exit'),
  ])
  return { code, lines: stdout.split('\n').filter(Boolean), stderr }
}

/** A service in a process of its own, as an operator runs it. */
export class Program implements AsyncDisposable {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Lines of the standard output so far. */
  readonly lines: string[] = []
  /** Lines of the standard error so far: sign-in codes. */
  readonly errorLines: string[] = []
  baseUrl = ''
  #more = Promise.withResolvers<void>()
  #closed = false
  /** The lines of the standard error that `mailedCode` has read, by address. */
  readonly #readLines = new Map<string, number>()

  /** Resolves when the service logs its URL. */
  static async serve(settings: Settings, options: ProgramOptions = {}): Promise<Program> {
    const program = Program.start(settings, options)
    const line = await program.waitForLine(/runs at http/)
    program.baseUrl = /http:\/\/[^\s"]+/.exec(line)![0]
    return program
  }

  /** Starts the service without waiting for it. */
  static start(settings: Settings, options: ProgramOptions = {}): Program {
    return new Program({ PORT: '0', READY_SECONDS: '0', ...HIGH_LIMITS, ...settings }, options)
  }

  private constructor(settings: Settings, options: ProgramOptions) {
    this.child = start(options.args ?? [], settings, options)
    const kill = () => void this.kill()
    options.signal?.addEventListener('abort', kill)
    let stderr = ''
    this.child.stderr!.on('data', (chunk) => {
      stderr += chunk
    })
    createInterface({ input: this.child.stderr! }).on('line', (line) => {
      this.errorLines.push(line)
      this.#notify()
    })
    if (this.child.stdout) this.#readOutput(this.child.stdout)
    const cancelKill = atExit(() => this.#killNow())
    this.ended = once(this.child, 'close').then(([code]) => {
      cancelKill()
      options.signal?.removeEventListener('abort', kill)
      return { code, lines: this.lines, stderr }
    })
  }

  #readOutput(input: Readable): void {
    createInterface({ input })
      .on('line', (line) => {
        this.lines.push(line)
        this.#notify()
      })
      .on('close', () => {
        this.#closed = true
        this.#notify()
      })
  }

  get port(): number {
    return Number(new URL(this.baseUrl).port)
  }

  get pid(): number {
    return this.child.pid!
  }

  /** Ids of the worker processes. */
  get workers(): number[] {
    const children = readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'utf8')
    return children.split(' ').filter(Boolean).map(Number)
  }

  /** The parsed log entries. */
  get log(): Record<string, unknown>[] {
    return this.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  }

  /** Waits for the first line that matches, from line `from` on; `lines` are those of the output or of the error output. */
  async waitForLine(line: RegExp, from = 0, lines = this.lines): Promise<string> {
    for (let at = from; ; at++) {
      while (at >= lines.length) {
        if (this.#closed) throw new Error(`it ended before ${line}:\n${await this.#lastOutput()}`)
        await this.#more.promise
      }
      if (line.test(lines[at]!)) return lines[at]!
    }
  }

  /** Waits until this many lines match: each worker prints its own. */
  async waitForLines(line: RegExp, count: number): Promise<void> {
    for (let found = 0, at = 0; found < count; found++, at++)
      at = this.lines.indexOf(await this.waitForLine(line, at), at)
  }

  /** Waits for the next sign-in code that is printed for an address. */
  async mailedCode(email: string): Promise<string> {
    const from = this.#readLines.get(email) ?? 0
    const line = await this.waitForLine(new RegExp(`^Sign-in code for ${email}: `), from, this.errorLines)
    this.#readLines.set(email, this.errorLines.indexOf(line) + 1)
    return line.slice(-'XXXX-XXXX'.length)
  }

  /** The last lines of its output. */
  get output(): string {
    return [...this.lines.slice(-20), ...this.errorLines.slice(-20)].join('\n')
  }

  /** Sends SIGKILL to it and its workers. */
  async kill(): Promise<void> {
    this.#killNow()
    await this.ended
  }

  /** Stops it by SIGTERM. */
  async stop(): Promise<Ended> {
    this.child.kill('SIGTERM')
    return this.ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.kill()
    await this.ended
  }

  #killNow(): void {
    for (const pid of [...this.#livingWorkers(), this.pid]) signal(pid, 'SIGKILL')
  }

  #livingWorkers(): number[] {
    try {
      return this.workers
    } catch {
      return []
    }
  }

  #notify(): void {
    this.#more.resolve()
    this.#more = Promise.withResolvers()
  }

  async #lastOutput(): Promise<string> {
    const { code } = await this.ended
    return `${this.output}\nexit code ${code}`
  }
}

/** Node decodes the name of a file after --import, as if it were a URL. */
function toModuleUrl(file: string): string {
  return isAbsolute(file) ? pathToFileURL(file).href : file
}

function start(
  args: string[],
  settings: Settings,
  { modules = [], nodeArgs = [], root: tree = root, deadlines, output }: ProgramOptions = {},
): ChildProcess {
  const imports = [WITH_PARENT, ...modules.map(toModuleUrl)].flatMap((url) => ['--import', url])
  const stdout = output === undefined ? 'pipe' : openSync(output, 'w')
  const child = spawn(process.execPath, [...imports, ...nodeArgs, join(tree, SCRIPT), ...args], {
    cwd: tree,
    env: {
      UV_THREADPOOL_SIZE: '16',
      ...toEnvironment(settings),
      ...(deadlines === 'production' ? {} : PATIENT_ENVIRONMENT),
    },
    stdio: ['ignore', stdout, 'pipe', 'ipc'],
  })
  if (typeof stdout === 'number') closeSync(stdout)
  return child
}

function toEnvironment(settings: Settings): NodeJS.ProcessEnv {
  const own = Object.entries(settings).map(([name, value]) => [`SLIPWAY_${name}`, value])
  return { ...withoutSettings(process.env), SLIPWAY_DISK_RESERVE: '0', ...Object.fromEntries(own) }
}

function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('SLIPWAY_')))
}

/** Sends a signal; ignores a process that has exited. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
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
