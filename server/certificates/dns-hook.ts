import { type ChildProcess, spawn } from 'node:child_process'
import type { Log } from '../lib/log.ts'
import { Semaphore } from '../lib/semaphore.ts'

/**
 * Sets and removes TXT records through an external program: `program present NAME VALUE` and `program cleanup
 * NAME VALUE`. NAME is for example `_acme-challenge.example.com`, without a trailing dot; VALUE is the digest
 * of RFC 8555, 8.4. Exit code 0 of `present` means that all authoritative servers of the name serve the
 * record. One call runs at a time. Rejects with a message that contains the end of the program's output.
 */
export interface DnsHook {
  present(name: string, value: string): Promise<void>
  cleanup(name: string, value: string): Promise<void>
}

interface DnsHookOptions {
  program: string
  /** All of its environment: the service's own holds secrets. */
  environment: Readonly<Record<string, string>>
  log: Log
  /** Milliseconds until a running program is sent SIGTERM. */
  timeoutMs?: number
  /** Milliseconds after that until it is killed. */
  killDelayMs?: number
}

interface HookRun {
  code: number | null
  signal: string | null
  timedOut: boolean
  /** The end of its output, stdout and stderr. */
  output: string
}

const TIMEOUT_MS = 120_000
const KILL_DELAY_MS = 5000
const MAX_QUEUED_CALLS = 100

/** Bytes of output that are kept, and lines of it in an error. */
const MAX_OUTPUT_BYTES = 4096
const MAX_OUTPUT_LINES = 10

/** Time to wait for output after the program has exited: its children may hold the pipe open. */
const OUTPUT_DRAIN_MS = 500

export function dnsHook(options: DnsHookOptions): DnsHook {
  const { program, environment, log, timeoutMs = TIMEOUT_MS, killDelayMs = KILL_DELAY_MS } = options
  const semaphore = new Semaphore({ running: 1, waiting: MAX_QUEUED_CALLS })
  const call = (action: 'present' | 'cleanup') => async (name: string, value: string) => {
    if (!isSafe(name, value))
      throw new Error(`the DNS hook does not accept this record: ${JSON.stringify([name, value])}`)
    await semaphore.run(async () => {
      const child = spawnHook(program, [action, name, value], environment)
      const ended = await waitForExit(child, { timeoutMs, killDelayMs })
      const failure = describeFailure(ended, timeoutMs)
      if (failure) throw new Error(`SLIPWAY_DNS_HOOK=${program} ${action} ${name} ${failure}`)
      log.info('DNS hook succeeded', { action, name })
    })
  }
  return { present: call('present'), cleanup: call('cleanup') }
}

/** Allows no character with a meaning for a shell or a zone file. */
function isSafe(name: string, value: string): boolean {
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(name) && name.length <= 253 && /^[\w-]{1,255}$/.test(value)
}

/** Starts a process group, so that the program's children can be ended with it. */
function spawnHook(program: string, args: string[], env: DnsHookOptions['environment']): ChildProcess {
  return spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env })
}

function waitForExit(
  child: ChildProcess,
  { timeoutMs, killDelayMs }: { timeoutMs: number; killDelayMs: number },
): Promise<HookRun> {
  const { promise, resolve, reject } = Promise.withResolvers<HookRun>()
  let output = Buffer.alloc(0)
  let timedOut = false
  const onOutput = (chunk: Buffer) => {
    output = Buffer.concat([output, chunk]).subarray(-MAX_OUTPUT_BYTES)
  }
  child.stdout!.on('data', onOutput)
  child.stderr!.on('data', onOutput)
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
    reject(new Error(`SLIPWAY_DNS_HOOK=${child.spawnfile} cannot be run: ${error.message}`, { cause: error }))
  })
  child.once('exit', (code, signal) => {
    settle()
    const done = () => {
      clearTimeout(last)
      child.stdout!.destroy()
      child.stderr!.destroy()
      resolve({ code, signal, timedOut, output: output.toString() })
    }
    const last = setTimeout(done, OUTPUT_DRAIN_MS)
    child.once('close', done)
  })
  return promise
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal)
  } catch {
    child.kill(signal)
  }
}

function describeFailure({ code, signal, timedOut, output }: HookRun, timeoutMs: number): string | undefined {
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
