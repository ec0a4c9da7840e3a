import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { RememberedSite } from '../../client/cli/state/site-memory.ts'

export interface Result {
  /** The exit code; null when a signal ended the command. */
  code: number | null
  stdout: string
  stderr: string
}

/** A command under way. */
export interface Running {
  child: ChildProcess
  ended: Promise<Result>
}

export const root = resolve(import.meta.dirname, '../..')

const PROGRAM = join(root, 'client', 'bin', 'slipway.js')

/** The PATH of somebody who has not heard of this repository's own programs. */
const PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => folder !== join(root, 'node_modules', '.bin'))
  .join(delimiter)

/** Somebody with a working folder and a home of their own, who types commands; no one else's settings are theirs. */
export class CliUser implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'slipway-person-'))
  readonly #home: string = mkdtempSync(join(tmpdir(), 'slipway-home-'))
  readonly #server: string

  /** `server` is what they have in SLIPWAY_URL. */
  constructor(server: string) {
    this.#server = server
  }

  /** Writes files into the working folder. */
  write(files: Record<string, string | Buffer>): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, path)), { recursive: true })
      writeFileSync(join(this.folder, path), content)
    }
  }

  /** What the command line remembers of the sites that were published from here, the latest first. */
  get sites(): RememberedSite[] {
    return JSON.parse(readFileSync(join(this.folder, '.slipway', 'site.json'), 'utf8')).sites
  }

  /** Types `slipway …` and waits for its end. */
  slipway(...args: string[]): Promise<Result> {
    return this.start(...args).ended
  }

  /** Types `slipway …`. */
  start(...args: string[]): Running {
    return this.#run(process.execPath, [PROGRAM, ...args], this.folder)
  }

  /** Types a line for the shell, by default in the working folder, and waits for its end. */
  shell(line: string, folder: string = this.folder): Promise<Result> {
    return this.#run('sh', ['-c', line], folder).ended
  }

  #run(program: string, args: string[], cwd: string): Running {
    const env = { PATH, HOME: this.#home, SLIPWAY_URL: this.#server }
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    return { child, ended: collectResult(child) }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
    rmSync(this.#home, { recursive: true, force: true })
  }
}

async function collectResult(child: ChildProcess): Promise<Result> {
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'exit'),
  ])
  return { code, stdout, stderr }
}
