import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after } from 'node:test'
import type { FolderSelection } from '../../protocol/folder/folder-selection.ts'
import { ApiError } from '../../server/lib/errors.ts'
import {
  type ArchiveFile,
  type ArchiveKind,
  type Limits,
  readArchive,
  selectFolder,
} from '../../server/publish/archive/archive.ts'
import { KIB, MIB } from '../support/units.ts'
import { split, toStream } from './bodies.ts'

export const LIMITS: Limits = { files: 1000, fileBytes: 64 * MIB, totalBytes: 128 * MIB, pathCharacters: 500 }

/** A folder that is deleted after the tests of the file. */
export const folder = mkdtempSync(join(tmpdir(), 'slipway-archive-'))
after(() => rmSync(folder, { recursive: true }))

/** A folder in that folder, so that tests detect files that are written beside it. */
export const spoolFolder = join(folder, 'spool')
mkdirSync(spoolFolder)

interface ReadOptions {
  limits?: Partial<Limits>
  each?: (file: ArchiveFile) => Promise<void>
}

interface Refusal extends ReadOptions {
  /** VALIDATION_ERROR by default. */
  code?: string
  message: RegExp
  details?: unknown
  /** Maximum number of files that may be passed on before the error. */
  before?: number
}

interface File {
  path: string
  size: number
  bytes: Buffer
}

export function options(kind: ArchiveKind, body: Readable) {
  return { kind, body, limits: LIMITS, spoolFolder }
}

/** The default rules, which begin anew with each archive. */
export function selection(): FolderSelection {
  return selectFolder({ keepsTopFolder: true })
}

/** The files of an archive, in the order in which they were passed on. */
export async function read(kind: ArchiveKind, source: Buffer | Readable, { limits, each }: ReadOptions = {}) {
  const body = source instanceof Readable ? source : toStream(split(source, () => 64 * KIB))
  const files: File[] = []
  const { excluded } = await readArchive(
    { ...options(kind, body), limits: { ...LIMITS, ...limits } },
    each ??
      (async ({ path, size, body: contents }) => {
        const file = { path, size, bytes: Buffer.alloc(0) }
        files.push(file)
        file.bytes = Buffer.concat(await Array.fromAsync(contents))
      }),
  )
  return { files, excluded }
}

export async function assertRefused(
  kind: ArchiveKind,
  source: Buffer | Readable,
  { code = 'VALIDATION_ERROR', message, details, before, limits = {}, each = drain }: Refusal,
): Promise<void> {
  let calls = 0
  const reading = read(kind, source, {
    limits,
    each(file) {
      calls++
      return each(file)
    },
  })
  await assert.rejects(reading, (error: Error) => {
    assert.ok(error instanceof ApiError, String(error.stack))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, message)
    if (details !== undefined) assert.deepEqual(error.details, details)
    if (code !== 'VALIDATION_ERROR') return true
    const [problem] = error.details as { field: string; message: string }[]
    return problem !== undefined && error.message.startsWith(`${problem.field}: ${problem.message}`)
  })
  if (before !== undefined) assert.ok(calls <= before, `${calls} files were passed on`)
  if (source instanceof Readable) assert.ok(!source.destroyed, 'the caller can still respond')
}

export async function drain({ body }: Pick<ArchiveFile, 'body'>): Promise<void> {
  for await (const _ of body);
}

export function digests(files: Iterable<{ path: string; bytes: Buffer }>): Map<string, string> {
  const pairs = [...files].map(({ path, bytes }): [string, string] => [
    path,
    createHash('sha256').update(bytes).digest('hex'),
  ])
  return new Map(pairs.sort())
}
