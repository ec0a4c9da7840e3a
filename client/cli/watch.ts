import { createHash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import type { FileContent } from '../../protocol/api/fields.schema.ts'
import type { ContentsRequest, FinalizeResponse } from '../../protocol/api/publish.schema.ts'
import { formatDuration, pluralize } from '../../protocol/format.ts'
import { listContents } from '../../protocol/manifest/manifest.ts'
import { digestAll, type HashedFile } from '../sdk/folder/digest.ts'
import type { FolderScan, FoundFile } from '../sdk/folder/scan.ts'
import { mayPass } from '../sdk/retry.ts'
import { FILE_CHANGED_CODES, isSlipwayError, type SlipwayError } from '../sdk/slipway-error.ts'
import { loginCommand } from './account.ts'
import { ConflictError } from './cli-error.ts'
import type { CommandContext } from './command.ts'
import { FolderWatcher } from './folder/folder-watcher.ts'
import { scanOrThrow } from './folder/read-site.ts'
import { describeError } from './format-error.ts'
import { type PublishPlan, rememberLive } from './publish-target.ts'
import { formatLocalTime } from './terminal/time.ts'
import { printWarnings } from './warnings.ts'

/** Changes up to this size are sent in one request, in bytes; the server accepts 2 MiB, of base64 too. */
const MAX_INLINE_BYTES = 1024 * 1024
const HOUR_SECONDS = 60 * 60

/** Minimum interval between the beginnings of two publishes. */
const MIN_INTERVAL_MS = 200
/** Pause after a failed publish, without a Retry-After. */
const RETRY_MS = 2000

const NEXT_CHANGE = 'Publishing again after the next change'

/** Failures after which the whole folder is published: what the changes were made on is no longer there. */
const OUTDATED_CODES = ['VALIDATION_ERROR', 'VERSION_CONFLICT', 'SITE_PENDING', 'UPLOADS_MISSING'] as const

interface WatchOptions {
  plan: PublishPlan
  /** The published site. */
  site: { slug: string; claimToken?: string | undefined }
  /** What was published. */
  first: PublishedFolder
  /** Publishes the whole folder in place of this version. ConflictError when another one is shown. */
  publishAll: (baseVersionId: string) => Promise<PublishedFolder>
}

interface PublishedFolder {
  files: readonly HashedFile[]
  versionId: string
}

/**
 * Publishes each change of a folder until the signal aborts. A failure is printed, and the change is published later,
 * or with the next one where waiting does not help. Rejects with a ConflictError when another program has published, and
 * with a RefusedError when the system watches no more folders.
 */
export async function watchFolder(work: CommandContext, options: WatchOptions): Promise<void> {
  const { terminal, signal, platform } = work
  const { folder } = options.plan
  using watcher = new FolderWatcher({ platform, signal })
  const published = new PublishedFiles(options.first)
  const failures = new FailureReport(work, options.plan)
  terminal.printNote(`Watching ${folder}. Ctrl-C stops.`)
  let isDue = true
  while (isDue || (await watcher.next())) {
    isDue = false
    const found = await scanPublishable(work, options.plan, failures)
    if (found === undefined) return
    const startedAt = performance.now()
    isDue = watcher.watch(found.folders)
    try {
      const change = await published.compare(found)
      if (change !== undefined) {
        published.expect(change)
        const done = await publishChange(work, options, { ...change, baseVersionId: published.versionId })
        published.apply(change, done.versionId)
        rememberLive(work, options.plan, done, true)
        report(work, change, done, startedAt)
      }
      failures.clear()
      isDue ||= published.hasEmptied
    } catch (error) {
      if (signal.aborted) return
      const isOutdated = isSlipwayError(error, ...OUTDATED_CODES)
      const isOwn = isOutdated && recognizeOwn(work, options, published, error)
      if (isOwn) failures.clear()
      isDue =
        isOwn ||
        (isOutdated
          ? await publishAgain(work, options, published, failures)
          : isVanishedFile(error, folder) || (await failures.report(error)))
      if (!isDue) published.refuse()
    }
    await pause(work, Math.max(0, MIN_INTERVAL_MS - (performance.now() - startedAt)))
    if (signal.aborted) return
  }
}

/** Repeats a scan that fails, as the watchers of a deleted folder report no change. Undefined when the signal aborts. */
async function scanPublishable(
  work: CommandContext,
  plan: PublishPlan,
  failures: FailureReport,
): Promise<FolderScan | undefined> {
  let reported: string | undefined
  while (!work.signal.aborted) {
    try {
      return scanOrThrow(plan.folder, plan)
    } catch (error) {
      const isVanished = isVanishedFile(error, plan.folder)
      const { message } = describeError(error, work)
      if (!isVanished && message !== reported) await failures.report(error)
      if (!isVanished) reported = message
      await pause(work, isVanished ? MIN_INTERVAL_MS : RETRY_MS)
    }
  }
  return undefined
}

/** What differs from the published files. */
interface FolderChange {
  changed: HashedFile[]
  removed: string[]
  stamps: ReadonlyMap<string, string>
}

type Content = Pick<HashedFile, 'path' | 'hash' | 'contentType'>

/** The published files with the state of each on the disk, so that only files that may have changed are read. */
class PublishedFiles {
  readonly #files = new Map<string, Content>()
  /** Changes of which no response was received, by the content hash of their versions. */
  readonly #expected = new Map<string, FolderChange>()
  /** The states of files that were empty: a program may be about to write them. */
  #emptied: ReadonlyMap<string, string> = new Map()
  #stamps: ReadonlyMap<string, string> = new Map()
  /** The state of the folder in the last comparison, and in the one whose change was refused. */
  #state = ''
  #refused: string | undefined
  versionId = ''

  constructor(published: PublishedFolder) {
    this.replace(published)
  }

  replace({ files, versionId }: PublishedFolder): void {
    this.versionId = versionId
    this.#expected.clear()
    this.#files.clear()
    for (const file of files) this.#files.set(file.path, file)
  }

  /** Remembers a change that is sent. */
  expect(change: FolderChange): void {
    this.#expected.set(hashContents(applyChange(new Map(this.#files), change)), change)
  }

  /** Applies a change that was sent, if a version with this content hash is what it makes. */
  recognize(contentHash: string, versionId: string): boolean {
    const change = this.#expected.get(contentHash)
    if (change === undefined) return false
    this.apply(change, versionId)
    return true
  }

  /** Whether files were empty in the last comparison and may be written soon. */
  get hasEmptied(): boolean {
    return this.#emptied.size > 0
  }

  /** Makes `compare` ignore the present state of the folder: the system may report one change several times. */
  refuse(): void {
    this.#refused = this.hasEmptied ? undefined : this.#state
  }

  /**
   * Undefined without a change, and after one that was refused until a file is written. A file that has become empty
   * counts as changed if it still is the next time.
   */
  async compare({ files }: FolderScan): Promise<FolderChange | undefined> {
    const stamps = new Map(files.map((file) => [file.path, stampOf(file)]))
    this.#state = [...stamps].join('\n')
    if (this.#state === this.#refused) return undefined
    const candidates = files.filter(({ path }) => stamps.get(path) !== this.#stamps.get(path))
    const present = new Set(files.map(({ path }) => path))
    const differing = (await digestAll(candidates)).filter(
      ({ path, hash }) => this.#files.get(path)?.hash !== hash,
    )
    const isEmptied = ({ path, size }: HashedFile) =>
      size === 0 && this.#emptied.get(path) !== stamps.get(path)
    const changed = differing.filter((file) => !isEmptied(file))
    const emptied = differing.filter(isEmptied)
    this.#emptied = new Map(emptied.map(({ path }) => [path, stamps.get(path)!]))
    const removed = [...this.#files.keys()].filter((path) => !present.has(path))
    for (const { path } of emptied) stamps.delete(path)
    if (changed.length === 0 && removed.length === 0) {
      this.#stamps = stamps
      return undefined
    }
    return { changed, removed, stamps }
  }

  apply(change: FolderChange, versionId: string): void {
    this.versionId = versionId
    this.#expected.clear()
    applyChange(this.#files, change)
    this.#stamps = change.stamps
  }
}

function applyChange(files: Map<string, Content>, { changed, removed }: FolderChange): Map<string, Content> {
  for (const file of changed) files.set(file.path, file)
  for (const path of removed) files.delete(path)
  return files
}

function hashContents(files: ReadonlyMap<string, Content>): string {
  return createHash('sha256')
    .update(listContents([...files.values()]))
    .digest('hex')
}

function stampOf({ source }: FoundFile): string {
  const { mtimeMs, ctimeMs, ino, size } = statSync(source)
  return [mtimeMs, ctimeMs, ino, size].join(' ')
}

/**
 * One update that is laid over the present version: in one request, unless it is large. VERSION_CONFLICT when that is not
 * the last one, except with `--merge`, or when the preview was deleted.
 */
async function publishChange(
  work: CommandContext,
  { plan, site }: WatchOptions,
  { changed, removed, baseVersionId }: FolderChange & { baseVersionId: string },
): Promise<FinalizeResponse> {
  const { slug, claimToken } = site
  const { server, key, preview, viewer, mode } = plan
  const client = work.connect(server, claimToken === undefined ? key : undefined)
  const fields = {
    ...(preview !== undefined && { ...viewer, preview, liveReload: true }),
    ...(mode !== 'merge' && { baseVersionId }),
    ...(claimToken !== undefined && { claimToken }),
    merge: true,
    delete: removed,
    ifChanged: true,
  }
  const bytes = changed.reduce((sum, { size }) => sum + size, 0)
  if (changed.length === 0 || bytes > MAX_INLINE_BYTES)
    return client.publish({ ...fields, slug, files: changed })
  const files = changed.map(async ({ path, open }): Promise<FileContent> => {
    // Small files are read as a whole.
    return { path, contentBase64: Buffer.from((await open()) as Uint8Array).toString('base64') }
  })
  const request: ContentsRequest = { ...fields, files: await Promise.all(files) }
  return client.publishContents(request, slug)
}

/** Whether the version of a conflict is that of a change of which no response was received: it counts as published. */
function recognizeOwn(
  { siteMemory, terminal }: CommandContext,
  { plan, site }: WatchOptions,
  published: PublishedFiles,
  { details }: SlipwayError,
): boolean {
  const { currentVersionId, contentHash } = (details ?? {}) as Record<string, unknown>
  if (typeof currentVersionId !== 'string' || typeof contentHash !== 'string') return false
  if (!published.recognize(contentHash, currentVersionId)) return false
  if (plan.live) siteMemory.setLiveVersion(site.slug, plan.server, currentVersionId)
  terminal.printDone('The last change was published')
  return true
}

/** Publishes the whole folder; returns whether changes have to be published again. Rejects with a ConflictError. */
async function publishAgain(
  work: CommandContext,
  { publishAll }: WatchOptions,
  published: PublishedFiles,
  failures: FailureReport,
): Promise<boolean> {
  try {
    published.replace(await publishAll(published.versionId))
    failures.clear()
    work.terminal.printDone('Published the whole folder')
    return false
  } catch (error) {
    if (error instanceof ConflictError) throw error
    return failures.report(error)
  }
}

/** A file that was deleted after its folder was read. */
function isVanishedFile(error: unknown, folder: string): boolean {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } }
  return [code, cause?.code].includes('ENOENT') && existsSync(folder)
}

function report(
  { terminal, retryPolicy }: CommandContext,
  { changed, removed }: FolderChange,
  published: FinalizeResponse,
  startedAt: number,
): void {
  const counts = [
    ...(changed.length > 0 ? [`${pluralize(changed.length, 'file')} changed`] : []),
    ...(removed.length > 0 ? [`${pluralize(removed.length, 'file')} removed`] : []),
  ].join(', ')
  const time = formatLocalTime(new Date(retryPolicy.now()).toISOString(), retryPolicy.now())
  const elapsed = Math.round(performance.now() - startedAt)
  terminal.printDone(`${time}  ${counts} in ${elapsed} ms`)
  printWarnings(terminal, published)
}

/** Prints each failure once while it is repeated: until the folder is published, or another failure comes. */
class FailureReport {
  readonly #work: CommandContext
  readonly #plan: PublishPlan
  #printed: string | undefined

  constructor(work: CommandContext, plan: PublishPlan) {
    this.#work = work
    this.#plan = plan
  }

  /** Returns true after a pause, if the same may succeed; false if another change must come first. */
  async report(error: unknown): Promise<boolean> {
    const { server, key } = this.#plan
    const caller = { hasKey: key !== undefined, login: loginCommand(this.#work, server) }
    const { message, hints } = describeError(error, this.#work, caller)
    const mayRepeat = mayPass(error) || isSlipwayError(error, ...FILE_CHANGED_CODES)
    const given = mayRepeat ? error.retryAfterSeconds : undefined
    // Limits are of an hour; a timer has a maximum.
    const seconds = given === undefined ? undefined : Math.min(given, HOUR_SECONDS)
    const next = seconds === undefined ? [] : [`Publishing again in ${formatDuration(seconds)}`]
    const isKnown = mayRepeat && message === this.#printed
    if (!isKnown) this.#print(message, [...hints, ...(mayRepeat ? next : [NEXT_CHANGE])])
    if (mayRepeat) await pause(this.#work, seconds === undefined ? RETRY_MS : seconds * 1000)
    return mayRepeat
  }

  clear(): void {
    this.#printed = undefined
  }

  #print(message: string, hints: string[]): void {
    this.#printed = message
    this.#work.terminal.printError(message)
    for (const hint of hints) this.#work.terminal.printNote(`  ${hint}`)
  }
}

async function pause({ retryPolicy, signal }: CommandContext, milliseconds: number): Promise<void> {
  if (milliseconds > 0) await retryPolicy.wait(milliseconds, signal).catch(() => undefined)
}
