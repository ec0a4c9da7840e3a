import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LinkedFile } from '../../../protocol/folder/archive-links.ts'
import { FolderSelection } from '../../../protocol/folder/folder-selection.ts'
import type { Exclusion } from '../../../protocol/ignore/exclusions.ts'
import { BodyReader } from './body-reader.ts'
import { type ContentFile, contentFiles, htmlFile } from './content.ts'
import type { ArchiveEntry, ArchiveFile } from './file.ts'
import { ArchiveLimits, type ArchiveLimitValues, entryError, refuse } from './limits.ts'
import type { SpoolShare } from './spool.ts'
import { gunzip, tarFiles } from './tar.ts'
import { zipFiles } from './zip.ts'

export type { ArchiveFile, ArchiveLimitValues as Limits }

/** An HTML page counts as an archive of one file, `index.html`. */
export type ArchiveKind = 'zip' | 'tar' | 'tar.gz' | 'html'

interface TarOptions {
  /** Never destroyed, so that the caller can still respond; an error leaves it partly unread. */
  body: Readable
  limits: ArchiveLimitValues
}

interface ArchiveOptions extends TarOptions {
  kind: ArchiveKind
  /** An existing folder for a zip that is too large for memory; left empty. */
  spoolFolder: string
  /** Bounds all zips in that folder. */
  spoolSpace?: SpoolShare
  /** Rejects when the folder has no space for `bytes` more. */
  assertSpace?: (bytes: number) => Promise<void>
}

const KINDS: Record<string, ArchiveKind> = {
  'application/zip': 'zip',
  'application/x-zip-compressed': 'zip',
  'application/x-tar': 'tar',
  'application/x-gtar': 'tar',
  'application/gzip': 'tar.gz',
  'application/x-gzip': 'tar.gz',
  'text/html': 'html',
}

export interface ReadArchive {
  /** Paths in the site. */
  kept: ReadonlySet<string>
  /** Files with the contents of others, such as what links stand for. A path replaces an earlier file. */
  copies: LinkedFile[]
  /** Those of `copies` that are an `index.html` in place of another name. */
  indexes: readonly string[]
  excluded: Exclusion[]
  /** What was guessed about the archive. */
  notes: string[]
  /** With its `/`; empty when no top folder was removed. */
  removedFolder: string
}

type SelectionOptions = Omit<NonNullable<ConstructorParameters<typeof FolderSelection>[0]>, 'pause'>

export function selectFolder(options: SelectionOptions): FolderSelection {
  return new FolderSelection({ ...options, pause: () => nextTurn() })
}

export function archiveKind(contentType: string | undefined): ArchiveKind | undefined {
  const type = (contentType ?? '').replace(/;.*/s, '').trim().toLowerCase()
  return Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
}

/**
 * Calls `onFile` for every file of an archive (contract, "One request"), for several small files concurrently.
 *
 * - Resolves only when the archive was complete: every file was passed to `onFile`, and every call has
 *   resolved.
 * - Rejects once nothing runs any more, with the first error: PAYLOAD_TOO_LARGE at a limit, VALIDATION_ERROR
 *   for damaged or unsupported entries (encryption; links and devices unless `isFolder`), or the error of `body` or
 *   `onFile`. `onFile` may have received files before: nothing of a rejected archive may be kept.
 * - A file never has more or fewer bytes than its `size`: its body fails instead. Bytes that `onFile` does not
 *   read are skipped.
 * - Paths are passed as they are in the archive, without a leading `./`. They may be absolute, contain `..`
 *   or repeat: rejecting them is the task of `onFile`, which is called in the order of the archive. Folders are
 *   ignored.
 */
export function readArchive(
  { body, kind, limits, spoolFolder: folder, spoolSpace: space, assertSpace }: ArchiveOptions,
  onFile: (file: ArchiveFile) => Promise<void>,
): Promise<ReadArchive> {
  if (kind === 'tar') return readTar({ body, limits }, onFile)
  if (kind === 'html') return read(body, limits, onFile, htmlFile)
  return read(body, limits, onFile, (chunks, budget) =>
    kind === 'zip'
      ? zipFiles(chunks, budget, { folder, space, assertSpace })
      : tarFiles(gunzip(chunks), budget),
  )
}

export async function readContents(
  { files, limits }: { files: readonly ContentFile[]; limits: ArchiveLimitValues },
  onFile: (file: ArchiveFile) => Promise<void>,
): Promise<ReadArchive> {
  const budget = new ArchiveLimits(limits)
  return readEntries(budget, contentFiles(files, budget), onFile)
}

export function readTar(
  { body, limits }: TarOptions,
  onFile: (file: ArchiveFile) => Promise<void>,
): Promise<ReadArchive> {
  return read(body, limits, onFile, tarFiles)
}

async function read(
  body: Readable,
  limits: ArchiveLimitValues,
  onFile: (file: ArchiveFile) => Promise<void>,
  parse: (chunks: AsyncIterable<Buffer>, budget: ArchiveLimits) => AsyncIterable<ArchiveEntry>,
): Promise<ReadArchive> {
  const budget = new ArchiveLimits(limits)
  const incoming = new BodyReader(body, budget)
  const stop = (reason: unknown) => incoming.stop(reason)
  try {
    return await readEntries(budget, parse(incoming.chunks(), budget), onFile, stop)
  } finally {
    stop(new Error('Reading of the archive was stopped'))
  }
}

async function readEntries(
  budget: ArchiveLimits,
  entries: AsyncIterable<ArchiveEntry>,
  onFile: (file: ArchiveFile) => Promise<void>,
  stop: (reason: unknown) => void = () => {},
): Promise<ReadArchive> {
  const sizes = new Map<string, number>()
  const record = (file: ArchiveFile) => {
    sizes.set(file.path, file.size)
    return onFile(file)
  }
  await processEntries(entries, record, stop)
  return selectFiles(budget, sizes)
}

async function selectFiles(budget: ArchiveLimits, sizes: Map<string, number>): Promise<ReadArchive> {
  budget.assertNames()
  const { selection, links } = budget
  for (const path of links.keys()) sizes.delete(path)
  const files = [...sizes.keys()]
  if (!selection)
    return { kept: new Set(files), copies: [], indexes: [], excluded: [], notes: [], removedFolder: '' }
  const selected = await selection.select({ files, links }, budget.excluded).catch(refuse)
  const [missing] = selected.missing
  if (missing) throw entryError(missing.path, `is a hard link to ${missing.target}, ${WITHOUT_BYTES}`)
  for (const { path, source } of selected.copies) budget.admit(path, sizes.get(source)!)
  return { ...selected, notes: [...budget.notes, ...selected.notes] }
}

const WITHOUT_BYTES = 'which is left out; create the archive with tar --hard-dereference'

/** Total bytes of buffered files, so that many slow archives use little memory. */
const MAX_CONCURRENT_BYTES = 2 ** 20

/** Each write occupies a thread, and `deploy/` and `npm start` set `UV_THREADPOOL_SIZE` to 16. */
const MAX_CONCURRENT_FILES = 16

/**
 * Passes small files to `onFile` at the same time, streamed ones alone. `stop` gets the first error, and must end `files`;
 * rejects with it once no `onFile` runs any more.
 */
async function processEntries(
  files: AsyncIterable<ArchiveEntry>,
  onFile: (file: ArchiveFile) => Promise<void>,
  stop: (reason: unknown) => void,
): Promise<void> {
  const running = new Set<Promise<void>>()
  let bytes = 0
  let failed: { reason: unknown } | undefined

  function fail(reason: unknown): void {
    failed ??= { reason }
    stop(reason)
  }

  function start(file: ArchiveEntry): void {
    bytes += file.size
    const run = processEntry(file, onFile)
      .catch(fail)
      .finally(() => {
        bytes -= file.size
        running.delete(run)
      })
    running.add(run)
  }

  try {
    for await (const file of files) {
      if (!file.isBuffered) await processEntry(file, onFile).catch(fail)
      else start(file)
      while (running.size >= MAX_CONCURRENT_FILES || bytes >= MAX_CONCURRENT_BYTES)
        await Promise.race(running)
      if (failed) break
    }
  } catch (error) {
    fail(error)
  }
  await Promise.all(running)
  if (failed) throw failed.reason
}

/** An error of the body takes precedence over the error that `onFile` made of it. */
async function processEntry(file: ArchiveEntry, onFile: (file: ArchiveFile) => Promise<void>): Promise<void> {
  try {
    await onFile(file)
  } catch (error) {
    throw file.sourceError ?? error
  }
  if (file.sourceError) throw file.sourceError
}
