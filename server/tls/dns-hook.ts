import { type ChildProcess, spawn } from 'node:child_process'
import { Turns } from '../limits/turns.ts'
import type { Log } from '../log.ts'

/**
 * Enters and removes TXT records through a program of the operator: `program present NAME VALUE` and
 * `program cleanup NAME VALUE`. NAME is such as `_acme-challenge.example.com`, without a dot at the end, VALUE the digest of
 * RFC 8555, 8.4. Exit code 0 of `present` means that the record is there for whoever asks any of the name's servers.
 * One call runs at a time. Rejects with a sentence that has the last of what the program printed.
 */
export interface DnsHook {
  present(name: string, value: string): Promise<void>
  cleanup(name: string, value: string): Promise<void>
}

interface DnsHookOptions {
  program: string
  log: Log
  /** Milliseconds until a program that does not end is asked to. */
  patience?: number
  /** Milliseconds more until it is not asked any longer. */
  grace?: number
}

interface Run {
  code: number | null
  signal: string | null
  late: boolean
  /** The end of what it printed, on both outputs. */
  printed: string
}

const PATIENCE = 120_000
const GRACE = 5000
const MOST_WAITING = 100

/** What is kept of the output: bytes, and lines of it in an error. */
const MOST_PRINTED = 4096
const MOST_LINES = 10

/** How long output is waited for once the program has ended: what it started may hold its end open. */
const LAST_OUTPUT = 500

export function dnsHook({ program, log, patience = PATIENCE, grace = GRACE }: DnsHookOptions): DnsHook {
  const turns = new Turns({ running: 1, waiting: MOST_WAITING })
  const call = (action: 'present' | 'cleanup') => async (name: string, value: string) => {
    if (!isPlain(name, value))
      throw new Error(`the DNS hook takes no such record: ${JSON.stringify([name, value])}`)
    await turns.take(async () => {
      const child = start(program, [action, name, value])
      const ended = await outcome(child, { patience, grace })
      const complaint = complaintAbout(ended, patience)
      if (complaint) throw new Error(`SLIPWAY_DNS_HOOK=${program} ${action} ${name} ${complaint}`)
      log.info('the DNS hook did its work', { action, name })
    })
  }
  return { present: call('present'), cleanup: call('cleanup') }
}

/** Nothing that a shell or a zone file would take for more than it is. */
function isPlain(name: string, value: string): boolean {
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(name) && name.length <= 253 && /^[\w-]{1,255}$/.test(value)
}

/** In a group of its own, so that what it starts can be ended with it. */
function start(program: string, args: string[]): ChildProcess {
  return spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
}

function outcome(
  child: ChildProcess,
  { patience, grace }: { patience: number; grace: number },
): Promise<Run> {
  const { promise, resolve, reject } = Promise.withResolvers<Run>()
  let printed = Buffer.alloc(0)
  let late = false
  const hear = (chunk: Buffer) => {
    printed = Buffer.concat([printed, chunk]).subarray(-MOST_PRINTED)
  }
  child.stdout!.on('data', hear)
  child.stderr!.on('data', hear)
  const asked = setTimeout(() => {
    late = true
    endGroup(child, 'SIGTERM')
  }, patience)
  const killed = setTimeout(() => endGroup(child, 'SIGKILL'), patience + grace)
  const settle = () => {
    clearTimeout(asked)
    clearTimeout(killed)
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
      resolve({ code, signal, late, printed: printed.toString() })
    }
    const last = setTimeout(done, LAST_OUTPUT)
    child.once('close', done)
  })
  return promise
}

function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal)
  } catch {
    child.kill(signal)
  }
}

function complaintAbout({ code, signal, late, printed }: Run, patience: number): string | undefined {
  if (code === 0 && !late) return undefined
  const how = late
    ? `did not end within ${patience / 1000} seconds`
    : signal
      ? `was ended by ${signal}`
      : `ended with exit code ${code}`
  const lines = printed
    .replaceAll(/[^\P{Cc}\n]/gu, ' ')
    .trim()
    .split('\n')
    .slice(-MOST_LINES)
  return `${how}; it printed ${lines[0] ? `"${lines.join(' / ')}"` : 'nothing'}`
}
