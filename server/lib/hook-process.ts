import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

export interface HookProcessOptions {
  program: string
  args?: readonly string[]
  /** All of its environment: the service's own holds secrets. */
  environment: Readonly<Record<string, string>>
  /** Written to its standard input, which is then closed; without it, there is none. */
  input?: string | undefined
  /** Milliseconds until a running program is sent SIGTERM. */
  timeoutMs: number
  /** Milliseconds after that until it is killed. */
  killDelayMs?: number | undefined
}

export interface HookRun {
  code: number | null
  signal: string | null
  timedOut: boolean
  /** The end of its output, stdout and stderr. */
  output: string
  stdout: string
}

const KILL_DELAY_MS = 5000

const MAX_OUTPUT_BYTES = 4096
const MAX_OUTPUT_LINES = 10

/** Time to wait for output after the program has exited: its children may hold the pipe open. */
export const OUTPUT_DRAIN_MS = 500

/** Runs a program in a process group of its own, so that its children end with it. Rejects when it cannot be run. */
export async function runHook(options: HookProcessOptions): Promise<HookRun> {
  const { program, args = [], environment: env, input, timeoutMs, killDelayMs = KILL_DELAY_MS } = options
  const stdin = input === undefined ? 'ignore' : 'pipe'
  const child = spawn(program, [...args], { stdio: [stdin, 'pipe', 'pipe'], detached: true, env })
  // It may have no streams either, as when no file descriptor is left.
  if (child.pid === undefined) throw (await once(child, 'error'))[0]
  // A program may exit without reading its input.
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(input)
  return waitForExit(child, { timeoutMs, killDelayMs })
}

export function describeFailure(
  { code, signal, timedOut, output }: HookRun,
  timeoutMs: number,
): string | undefined {
  if (code === 0 && !timedOut) return undefined
  const how = timedOut
    ? `timed out after ${timeoutMs / 1000} seconds`
    : signal
      ? `was terminated by ${signal}`
      : `exited with code ${code}`
  const lines = output
    .replaceAll(/[^\P{Cc}\n]/gu, ' ')
    .trim()
    .split('\n')
    .slice(-MAX_OUTPUT_LINES)
  return `${how}; output: ${lines[0] ? `"${lines.join(' / ')}"` : 'none'}`
}

function waitForExit(
  child: ChildProcess,
  { timeoutMs, killDelayMs }: { timeoutMs: number; killDelayMs: number },
): Promise<HookRun> {
  const { promise, resolve, reject } = Promise.withResolvers<HookRun>()
  let [output, stdout] = [Buffer.alloc(0), Buffer.alloc(0)]
  let timedOut = false
  const append = (bytes: Buffer, chunk: Buffer) => Buffer.concat([bytes, chunk]).subarray(-MAX_OUTPUT_BYTES)
  child.stdout!.on('data', (chunk: Buffer) => {
    output = append(output, chunk)
    stdout = append(stdout, chunk)
  })
  child.stderr!.on('data', (chunk: Buffer) => {
    output = append(output, chunk)
  })
  const terminate = setTimeout(() => {
    timedOut = true
    killGroup(child, 'SIGTERM')
  }, timeoutMs)
  const kill = setTimeout(() => killGroup(child, 'SIGKILL'), timeoutMs + killDelayMs)
  const settle = () => {
    clearTimeout(terminate)
    clearTimeout(kill)
  }
  child.once('error', (error) => {
    settle()
    reject(error)
  })
  child.once('exit', (code, signal) => {
    settle()
    const done = () => {
      clearTimeout(last)
      child.stdout!.destroy()
      child.stderr!.destroy()
      resolve({ code, signal, timedOut, output: output.toString(), stdout: stdout.toString() })
    }
    const last = setTimeout(done, OUTPUT_DRAIN_MS)
    child.once('close', done)
  })
  return promise
}

export function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal)
  } catch {
    child.kill(signal)
  }
}
