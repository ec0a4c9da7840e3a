import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  type ArchiveFile,
  type ArchiveKind,
  type Limits,
  readArchive,
} from '../../server/publish/archive/archive.ts'
import { KIB, MIB } from '../support/units.ts'
import { split, toStream } from './bodies.ts'
import { temporaryFolder } from './temporary-folder.ts'

export const LIMITS: Limits = { files: 1000, fileBytes: 64 * MIB, totalBytes: 128 * MIB, pathCharacters: 500 }

/** A folder in a temporary folder, so that tests detect files that are written beside it. */
export const spoolFolder = join(temporaryFolder(), 'spool')
mkdirSync(spoolFolder)

export interface ReadOptions {
  limits?: Partial<Limits>
  each?: (file: ArchiveFile) => Promise<void>
}

interface File {
  path: string
  size: number
  bytes: Buffer
}

export function options(kind: ArchiveKind, body: Readable) {
  return { kind, body, limits: LIMITS, spoolFolder }
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
        const chunks: Buffer[] = []
        for await (const chunk of contents) chunks.push(chunk)
        file.bytes = Buffer.concat(chunks)
      }),
  )
  return { files, excluded }
}

export async function drain({ body }: ArchiveFile): Promise<void> {
  for await (const _ of body);
}

export function digests(files: Iterable<{ path: string; bytes: Buffer }>): Map<string, string> {
  const pairs = [...files].map(({ path, bytes }): [string, string] => [
    path,
    createHash('sha256').update(bytes).digest('hex'),
  ])
  return new Map(pairs.sort())
}
