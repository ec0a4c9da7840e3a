import { gzipSync } from 'node:zlib'
import type { ArchiveKind } from '../../server/publish/archive/archive.ts'
import type { Part } from './part.ts'
import { tar } from './tar-file.ts'
import { zip } from './zip-file.ts'

export const KINDS = ['zip', 'tar', 'tar.gz'] as const

/** Builds an archive of these files; names that end in a slash are folders. */
export function buildArchive(kind: ArchiveKind, files: Part[]): Buffer {
  if (kind === 'zip') return zip(files)
  return kind === 'tar' ? tar(files) : gzipSync(tar(files))
}
