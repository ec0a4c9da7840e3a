import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { describeFailure, runHook } from '../../lib/hook-process.ts'
import { parseJsonObject } from '../../lib/json-object.ts'
import { toPlainLine } from '../../lib/plain-line.ts'
import { HOUR_MS } from '../../lib/time.ts'
import { encodeFields, hashToken } from '../../lib/tokens.ts'
import type { Refusal, ScannedFile, Scanner } from './content-scan.ts'

interface ProgramScannerOptions {
  program: string
  environment: Readonly<Record<string, string>>
  folder: string
  timeoutMs: number
}

/** For one run of the program; a larger file has a run of its own. */
const MAX_RUN_BYTES = 256 * 2 ** 20
const MAX_RUN_FILES = 1000

const COPIES_PREFIX = 'scan-'

const REFUSED = 1
const MAX_REASON_CHARACTERS = 300

/**
 * A program of the operator. Its standard input has a line of JSON for each file: `path`, `hash`, `size`,
 * `contentType`, and `file`, the absolute path of a readable copy. Exit code 0 accepts all, 1 refuses with a reason on
 * the first line of stdout: text, or JSON with `path` and `reason`. Any other end is a failure.
 */
export class ProgramScanner implements Scanner {
  readonly name: string
  readonly #options: ProgramScannerOptions
  #cleaned: Promise<void> | undefined

  constructor(options: ProgramScannerOptions) {
    this.name = options.program
    this.#options = options
  }

  /** The program may refuse a path or a type, whatever the content is. */
  identify({ path, hash, contentType }: Omit<ScannedFile, 'open'>): string {
    return hashToken(encodeFields([path, hash, contentType]))
  }

  async scan(files: readonly ScannedFile[], signal: AbortSignal): Promise<Refusal | undefined> {
    const { folder, timeoutMs } = this.#options
    const deadline = performance.now() + timeoutMs
    this.#cleaned ??= removeStaleCopies(folder)
    await this.#cleaned
    for (const batch of toRuns(files)) {
      const refusal = await this.#run(batch, signal, deadline)
      if (refusal) return refusal
    }
    return undefined
  }

  async #run(
    files: readonly ScannedFile[],
    signal: AbortSignal,
    deadline: number,
  ): Promise<Refusal | undefined> {
    const { program, environment, folder } = this.#options
    await using copies = await CopyFolder.create(folder)
    const lines: string[] = []
    for (const [number, file] of files.entries()) {
      const { path, hash, size, contentType } = file
      const copy = await copies.add(`${number}`, file, signal)
      lines.push(JSON.stringify({ path, hash, size, contentType, file: copy }))
    }
    const timeoutMs = Math.max(1, Math.ceil(deadline - performance.now()))
    const ended = await runHook({ program, environment, timeoutMs, input: `${lines.join('\n')}\n` })
    if (ended.code === REFUSED && !ended.timedOut) return readRefusal(ended.stdout, files)
    const failure = describeFailure(ended, timeoutMs)
    if (failure) throw new Error(`${program} ${failure}`)
    return undefined
  }
}

/** Deletes the copies of killed processes: a scan takes an hour at most. */
async function removeStaleCopies(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(COPIES_PREFIX)) continue
    const path = join(folder, name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (mtimeMs < Date.now() - 2 * HOUR_MS) await rm(path, { recursive: true, force: true })
  }
}

class CopyFolder implements AsyncDisposable {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async create(parent: string): Promise<CopyFolder> {
    const folder = join(parent, `${COPIES_PREFIX}${randomUUID()}`)
    await mkdir(folder, { mode: 0o700 })
    return new CopyFolder(folder)
  }

  async add(name: string, file: ScannedFile, signal: AbortSignal): Promise<string> {
    const path = join(this.#folder, name)
    await pipeline(await file.open(), createWriteStream(path, { mode: 0o600 }), { signal })
    return path
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }
}

function toRuns(files: readonly ScannedFile[]): ScannedFile[][] {
  const runs: ScannedFile[][] = []
  let bytes = 0
  for (const file of files) {
    const current = runs.at(-1)
    if (!current || current.length >= MAX_RUN_FILES || bytes + file.size > MAX_RUN_BYTES) {
      runs.push([file])
      bytes = file.size
    } else {
      current.push(file)
      bytes += file.size
    }
  }
  return runs
}

function readRefusal(stdout: string, files: readonly ScannedFile[]): Refusal {
  const [line = ''] = stdout.trim().split('\n')
  const stated = parseJsonObject(line)
  const reason = typeof stated?.reason === 'string' ? stated.reason : stated ? '' : line
  const named = files.find(({ path }) => path === stated?.path)
  const only = files.length === 1 ? files[0] : undefined
  return {
    path: (named ?? only)?.path,
    reason: toPlainLine(reason, MAX_REASON_CHARACTERS) || 'no reason given',
  }
}
