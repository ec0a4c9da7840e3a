import { createWriteStream } from 'node:fs'
import { mkdtempDisposable, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Blobs } from '../../blobs/blobs.ts'
import { toBatches } from '../../lib/batches.ts'
import { Component } from '../../lib/component.ts'
import { toStorageError } from '../../lib/errors.ts'
import { describeFailure, runHook } from '../../lib/hook-process.ts'
import { parseJsonObject } from '../../lib/json-object.ts'
import { toPlainLine } from '../../lib/plain-line.ts'
import { HOUR_MS } from '../../lib/time.ts'
import { encodeFields, hashToken } from '../../lib/tokens.ts'
import type { Parts } from '../../parts.ts'
import type { Refusal, ScannedFile, Scanner } from './content-scan.ts'

interface ProgramScannerOptions extends Pick<Parts, 'log'> {
  blobs: Pick<Blobs, 'assertLocalSpace'>
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
export class ProgramScanner extends Component<ProgramScannerOptions> implements Scanner {
  readonly name = this.parts.program

  /** The program may refuse a path or a type, whatever the content is. */
  identify({ path, hash, contentType }: Omit<ScannedFile, 'open'>): string {
    return hashToken(encodeFields([path, hash, contentType]))
  }

  async scan(files: readonly ScannedFile[], signal: AbortSignal): Promise<Refusal | undefined> {
    const { folder, timeoutMs, log } = this.parts
    const deadline = performance.now() + timeoutMs
    await removeStaleCopies(folder).catch((error: unknown) =>
      log.summarize('warn', 'copies of an earlier scan could not be deleted', { error }),
    )
    for (const batch of toBatches(files, { maxBytes: MAX_RUN_BYTES, maxItems: MAX_RUN_FILES })) {
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
    const { program, environment, folder, blobs } = this.parts
    await blobs.assertLocalSpace()
    await using copies = await mkdtempDisposable(join(folder, COPIES_PREFIX))
    const lines: string[] = []
    for (const [number, file] of files.entries()) {
      const { path, hash, size, contentType } = file
      const copy = join(copies.path, `${number}`)
      await blobs.assertLocalSpace(size)
      await pipeline(await file.open(), createWriteStream(copy, { mode: 0o600 }), { signal }).catch(
        (error) => {
          throw toStorageError(error) ?? error
        },
      )
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
  const names = (await readdir(folder)).filter((name) => name.startsWith(COPIES_PREFIX))
  await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name)
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
      if (mtimeMs < Date.now() - 2 * HOUR_MS) await rm(path, { recursive: true, force: true })
    }),
  )
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
