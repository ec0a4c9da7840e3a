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

/** A running command. */
export interface Running {
  child: ChildProcess
  ended: Promise<Result>
}

export const root = resolve(import.meta.dirname, '../..')

const PROGRAM = join(root, 'client', 'bin', 'slipway.js')

/** PATH without this repository's own programs. */
const PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => folder !== join(root, 'node_modules', '.bin'))
  .join(delimiter)

/** Runs commands as processes, with a temporary working folder, a temporary home folder and no inherited settings. */
export class CliUser implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'slipway-user-'))
  readonly #home: string = mkdtempSync(join(tmpdir(), 'slipway-home-'))
  readonly #server: string

  /** `server` is the value of SLIPWAY_URL. */
  constructor(server: string) {
    this.#server = server
  }

  /** Writes files into the working folder and creates their folders. */
  write(files: Record<string, string | Buffer>): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, path)), { recursive: true })
      writeFileSync(join(this.folder, path), content)
    }
  }

  /** The sites in `.slipway/site.json`, most recently published first. */
  get sites(): RememberedSite[] {
    return JSON.parse(readFileSync(join(this.folder, '.slipway', 'site.json'), 'utf8')).sites
  }

  /** Runs `slipway …` until it exits. */
  slipway(...args: string[]): Promise<Result> {
    return this.start(...args).ended
  }

  /** Starts `slipway …`. */
  start(...args: string[]): Running {
    return this.#run(process.execPath, [PROGRAM, ...args], this.folder)
  }

  /** Runs a shell command until it exits, by default in the working folder. */
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
