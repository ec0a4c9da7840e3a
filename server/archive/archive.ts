import type { Readable } from 'node:stream'
import { Budget, type Limits } from './budget.ts'
import { deliver } from './delivery.ts'
import type { ArchiveFile, Found } from './file.ts'
import { Incoming } from './incoming.ts'
import { gunzipped, tarFiles } from './tar.ts'
import { zipFiles } from './zip.ts'

export type { ArchiveFile, Limits }

export type ArchiveKind = 'zip' | 'tar' | 'tar.gz'

interface TarOptions {
  /** The archive. It is never destroyed, so that a caller can still answer; a refusal leaves it partly unread. */
  body: Readable
  limits: Limits
}

interface Options extends TarOptions {
  kind: ArchiveKind
  /** An existing folder for the bytes of a zip that is too large for memory; nothing stays in it. */
  spoolFolder: string
}

/** A file that was left out of the site because archivers add it by themselves. */
export interface Skipped {
  path: string
  reason: 'junk'
}

const KINDS: Record<string, ArchiveKind> = {
  'application/zip': 'zip',
  'application/x-zip-compressed': 'zip',
  'application/x-tar': 'tar',
  'application/x-gtar': 'tar',
  'application/gzip': 'tar.gz',
  'application/x-gzip': 'tar.gz',
}

/** The kind of archive that a Content-Type names (parameters are ignored), or undefined for anything else. */
export function archiveKind(contentType: string | undefined): ArchiveKind | undefined {
  const type = (contentType ?? '').replace(/;.*/s, '').trim().toLowerCase()
  return Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
}

/**
 * Calls `each` for every file of an archive (contract, "One request"), for small files several times at once.
 *
 * - Resolves only when the archive was whole: every file was given to `each`, and every `each` has resolved.
 * - Rejects once nothing runs any more, with the first thing that went wrong: PAYLOAD_TOO_LARGE at a limit,
 *   VALIDATION_ERROR for what is damaged or cannot be published (links, devices, encryption), or what `body`
 *   or `each` failed with. `each` may have seen files by then: nothing of a refused archive may be kept.
 * - A file never has more or fewer bytes than its `size`: its body fails instead. What `each` leaves unread is
 *   passed over.
 * - Paths are handed on as the archive has them, but for a leading `./`. They may be absolute, climb with `..`
 *   or come twice: to refuse them is up to `each`. Folders are ignored.
 */
export function readArchive(
  { body, kind, limits, spoolFolder }: Options,
  each: (file: ArchiveFile) => Promise<void>,
): Promise<{ skipped: Skipped[] }> {
  if (kind === 'tar') return readTar({ body, limits }, each)
  return read(body, limits, each, (chunks, budget) =>
    kind === 'zip' ? zipFiles(chunks, budget, spoolFolder) : tarFiles(gunzipped(chunks), budget),
  )
}

/** The same for what can only be a tar. */
export function readTar(
  { body, limits }: TarOptions,
  each: (file: ArchiveFile) => Promise<void>,
): Promise<{ skipped: Skipped[] }> {
  return read(body, limits, each, tarFiles)
}

async function read(
  body: Readable,
  limits: Limits,
  each: (file: ArchiveFile) => Promise<void>,
  filesIn: (chunks: AsyncIterable<Buffer>, budget: Budget) => AsyncIterable<Found>,
): Promise<{ skipped: Skipped[] }> {
  const budget = new Budget(limits)
  const incoming = new Incoming(body, budget)
  try {
    await deliver(filesIn(incoming.chunks(), budget), each, (reason) => incoming.stop(reason))
  } finally {
    incoming.stop(new Error('The archive is not read any more'))
  }
  return { skipped: budget.leftOut.map((path) => ({ path, reason: 'junk' })) }
}
