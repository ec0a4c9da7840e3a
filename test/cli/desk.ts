import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { main } from '../../client/cli/main.ts'
import type { RetryPolicy } from '../../client/sdk/retry.ts'

export interface CliSession {
  /** Sit at a terminal and type these lines. */
  typed?: string[]
  env?: Record<string, string>
  signal?: AbortSignal
  /** Called with everything said so far, whenever something is said. */
  onSaid?: (stderr: string) => void
}

export interface CliRun {
  code: number
  stdout: string
  stderr: string
}

/** A working folder of its own with a person in front of it who uses the command line. */
export class CliHarness implements Disposable {
  readonly cwd: string = mkdtempSync(join(tmpdir(), 'slipway-desk-'))
  readonly home: string = mkdtempSync(join(tmpdir(), 'slipway-home-'))
  /** Variables that every command sees. */
  env: Record<string, string> = {}
  /** How long every pause would have been, in milliseconds. */
  readonly pauses: number[] = []
  /** Programs that were started. */
  readonly launched: string[][] = []
  now = Date.parse('2030-01-01T00:00:00.000Z')

  readonly retryPolicy: RetryPolicy = {
    wait: async (milliseconds, signal) => {
      signal?.throwIfAborted()
      this.pauses.push(milliseconds)
    },
    random: () => 0.5,
    now: () => this.now,
  }

  /** Writes files, making folders as needed. */
  write(files: Record<string, string | Buffer>): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.cwd, path)), { recursive: true })
      writeFileSync(join(this.cwd, path), content)
    }
  }

  /** Runs one command to its end. */
  async run(args: string[], sitting: CliSession = {}): Promise<CliRun> {
    const stdout = collected()
    const stderr = collected(sitting.onSaid)
    const isTTY = sitting.typed !== undefined
    const stdin = Object.assign(new PassThrough(), { isTTY })
    stdin.end(sitting.typed?.map((line) => `${line}\n`).join(''))
    const code = await main({
      args,
      env: { HOME: this.home, ...this.env, ...sitting.env },
      cwd: this.cwd,
      version: '1.2.3',
      stdin,
      stdout: stdout.stream,
      stderr: Object.assign(stderr.stream, { isTTY, columns: 100 }),
      signal: sitting.signal ?? new AbortController().signal,
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
