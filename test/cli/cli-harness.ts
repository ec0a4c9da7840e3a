import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { main } from '../../client/cli/main.ts'
import { CredentialStore } from '../../client/cli/state/credentials.ts'
import { SiteMemory } from '../../client/cli/state/site-memory.ts'
import type { RetryPolicy } from '../../client/sdk/retry.ts'

// Times are printed in the time zone of the machine.
process.env.TZ = 'Europe/Berlin'

export interface CliSession {
  /** Runs at a terminal and types these lines; without, stdin is not a terminal. */
  typed?: string[]
  /** Prints results to a terminal of this width. */
  columns?: number
  env?: Record<string, string>
  /** By default the folder of the harness. */
  cwd?: string
  signal?: AbortSignal
  /** Called with the whole of stderr after each write to it. */
  onStderr?: (stderr: string) => void
}

export interface CliRun {
  code: number
  stdout: string
  stderr: string
}

/** Runs commands in this process, in a temporary working folder and with a temporary home folder. */
export class CliHarness implements Disposable {
  readonly cwd: string = mkdtempSync(join(tmpdir(), 'slipway-cli-'))
  readonly home: string = mkdtempSync(join(tmpdir(), 'slipway-home-'))
  /** Environment variables of every command. */
  env: Record<string, string> = {}
  /** Pauses that were requested, in milliseconds; none of them takes time. */
  readonly pauses: number[] = []
  /** Programs that commands launched, with their arguments. */
  readonly launched: string[][] = []
  now = Date.parse('2030-01-01T00:00:00.000Z')

  /** What the user has stored about the sites of the working folder. */
  get siteMemory(): SiteMemory {
    return new SiteMemory(this.cwd, new CredentialStore(join(this.home, '.config/slipway/config.json')))
  }

  readonly retryPolicy: RetryPolicy = {
    ...recordPauses(this.pauses),
    random: () => 0.5,
    now: () => this.now,
  }

  /** Writes files into the working folder and creates their folders. */
  write(files: Record<string, string | Buffer>): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.cwd, path)), { recursive: true })
      writeFileSync(join(this.cwd, path), content)
    }
  }

  /** Runs one command until it ends. */
  async run(args: string[], session: CliSession = {}): Promise<CliRun> {
    const stdout = collected()
    const stderr = collected(session.onStderr)
    const isTTY = session.typed !== undefined
    const stdin = Object.assign(new PassThrough(), { isTTY })
    stdin.end(session.typed?.map((line) => `${line}\n`).join(''))
    const code = await main({
      args,
      env: { HOME: this.home, ...this.env, ...session.env },
      cwd: session.cwd ?? this.cwd,
      version: '1.2.3',
      stdin,
      stdout: Object.assign(stdout.stream, session.columns && { isTTY: true, columns: session.columns }),
      stderr: Object.assign(stderr.stream, { isTTY, columns: session.columns ?? 100 }),
      signal: session.signal ?? new AbortController().signal,
      platform: 'linux',
      retryPolicy: this.retryPolicy,
      launch: async (program, rest) => {
        this.launched.push([program, ...rest])
        return true
      },
    })
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  }

  [Symbol.dispose](): void {
    rmSync(this.cwd, { recursive: true, force: true })
    rmSync(this.home, { recursive: true, force: true })
  }
}

/** Pauses that take no time, in which other work continues. */
export function recordPauses(pauses: number[]): Pick<RetryPolicy, 'wait'> {
  return {
    async wait(milliseconds, signal) {
      signal?.throwIfAborted()
      pauses.push(milliseconds)
      await setImmediate()
    },
  }
}

function collected(onText?: (all: string) => void) {
  const chunks: Buffer[] = []
  const text = () => Buffer.concat(chunks).toString()
  const stream = new PassThrough()
  stream.on('data', (chunk) => {
    chunks.push(chunk)
    onText?.(text())
  })
  return { stream, text }
}
