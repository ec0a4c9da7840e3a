import type { Progress, PublishFile } from '../../client/sdk/slipway.ts'
import { FILE_CHANGED_CODES, isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { stripControlChars } from '../../protocol/format.ts'
import { sumSizes } from '../../protocol/manifest/manifest.ts'
import { type DisplayError, toDisplayError } from '../api/display-error.ts'
import { invalidate } from '../api/resource.ts'
import { rememberSignedIn, signedInAs } from '../api/session.ts'
import type { Signal } from '../api/signal.ts'
import { slipway } from '../api/slipway.ts'
import { drawVersion } from '../thumbnail/draw-version.ts'
import { type AnonymousSite, describeAnonymous } from './anonymous-sites.ts'
import { type CollectedFile, collectFiles } from './collect-files.ts'
import {
  type DeliveryResult,
  forgetIfGone,
  publishWithRetry,
  type RemovalQuestion,
  UnconfirmedRemoval,
  type UpdateMode,
} from './delivery.ts'
import { type Destination, findLimits } from './destination.ts'
import { networkRetryPolicy } from './network-retry.ts'
import {
  hasQuestion,
  MAX_UNPACKED_BYTES,
  type Preflight,
  preflightFolder,
  runPreflight,
} from './preflight.ts'
import { Reader, ReadingFault } from './reader/reader.ts'
import type { Selection } from './selection.ts'
import { UnpublishableError } from './unpublishable-error.ts'
import { unreadable } from './walk.ts'

/** The state of a publication. */
export type Step =
  | { at: 'scanning' }
  | { at: 'confirming'; preflight: Preflight }
  | ({ at: 'replacing'; preflight: Preflight } & RemovalQuestion)
  | { at: 'reading'; progress: Progress; secondsLeft: number | undefined }
  | { at: 'uploading'; progress: Progress; secondsLeft: number | undefined; waiting: Waiting | undefined }
  | { at: 'live'; preflight: Preflight; delivered: DeliveryResult }
  | { at: 'stopped'; error: DisplayError; again: boolean; isAnonymous: boolean }

/** Why progress has stalled. */
export type Waiting = 'network' | 'server'

/** Concurrent requests: browsers' connections per host. */
const DEFAULT_CONCURRENCY = 6
/** Attempts to load the reader while the browser is online, and their delays in milliseconds. */
const MAX_READER_ATTEMPTS = 5
const READER_RETRY_DELAY_MS = 2000
/** Milliseconds between two updates of the progress bar. */
const DRAW_INTERVAL_MS = 100

interface PublicationOptions {
  picked: Selection
  destination: Destination
  step: Signal<Step>
}

/** One publication. It continues in the background, and requests confirmation before the tab is closed. */
export class Publication {
  readonly step: Signal<Step>
  readonly destination: Destination
  readonly #picked: Selection
  readonly #stop = new AbortController()
  #reader: Reader | undefined
  #last: { found: Preflight; mode: UpdateMode; allowSecrets: string[] } | undefined
  #drawnAt = 0

  constructor({ picked, destination, step }: PublicationOptions) {
    this.#picked = picked
    this.destination = destination
    this.step = step
    this.#begin()
  }

  /** Publishes the findings. Asks before an update without a mode removes much of the live version. */
  publish(found: Preflight, mode: UpdateMode = found.isChange && 'merge', allowSecrets: string[] = []): void {
    this.#last = { found, mode, allowSecrets }
    void this.#run(() => this.#publish(found, mode, allowSecrets))
  }

  /** Excludes what cannot be published, or selects one folder, and scans the rest. */
  excludeUnpublishable(found: Preflight): void {
    this.#continueOrConfirm(runPreflight({ ...found, files: found.publishable! }, found.limits))
  }

  useSubfolder(found: Preflight, folder: string): void {
    this.#continueOrConfirm(preflightFolder(found, folder))
  }

  /** Retries from where it stopped, with secrets that may be public, by their fingerprints. */
  retry(...allowed: string[]): void {
    const { found, mode, allowSecrets = [] } = this.#last ?? {}
    if (found) this.publish(found, mode, [...allowSecrets, ...allowed])
    else this.#begin()
  }

  /** Stops sending. What was sent is not visible and is deleted by the service. */
  cancel(): void {
    this.#stop.abort(new DOMException('cancelled', 'AbortError'))
  }

  #begin(): void {
    void this.#run(async () => {
      const found = await this.#preflight()
      if (this.#picked.needsConfirmation) this.step.value = { at: 'confirming', preflight: found }
      else this.#continueOrConfirm(found)
    })
  }

  async #run(work: () => unknown): Promise<void> {
    const confirmUnload = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', confirmUnload)
    try {
      await this.#withReader(work)
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#fail(error)
    } finally {
      removeEventListener('beforeunload', confirmUnload)
    }
  }

  /** The reader is a separate script that must be loaded too. */
  async #withReader(work: () => unknown): Promise<void> {
    for (let failures = 0; ; failures++) {
      this.#reader ??= new Reader(this.#stop.signal)
      try {
        await work()
        return
      } catch (error) {
        const isMissing = error instanceof ReadingFault && error.kind === 'missing'
        if (!isMissing || failures === MAX_READER_ATTEMPTS) throw error
        this.#reader = undefined
        this.#wait(error)
        await networkRetryPolicy.wait(READER_RETRY_DELAY_MS, this.#stop.signal)
      }
    }
  }

  async #preflight(): Promise<Preflight> {
    this.step.value = { at: 'scanning' }
    const found = await collectFiles(this.#picked, this.#reader!, this.#stop.signal)
    return runPreflight(found, await findLimits(this.destination, found.files))
  }

  #continueOrConfirm(found: Preflight): void {
    if (hasQuestion(found)) this.step.value = { at: 'confirming', preflight: found }
    else this.publish(found)
  }

  async #publish(found: Preflight, mode: UpdateMode, allowSecrets: string[]): Promise<void> {
    const wanted = mode === 'merge' ? found.files.filter(({ isIndexAlias }) => !isIndexAlias) : found.files
    const files = await this.#read(wanted)
    const digest = await this.#digestManifest(files, mode)
    const eta = new EtaEstimator()
    const asOwner = signedInAs.value !== null
    const delivered = await publishWithRetry({
      files,
      digest,
      destination: this.destination,
      mode,
      message: this.#picked.change?.message,
      allowSecrets,
      parallel: parallelFor(wanted),
      signal: this.#stop.signal,
      onStarted: (paths) => this.#draw('uploading', initialProgress(paths, files), eta),
      onProgress: (progress) => this.#draw('uploading', progress, eta),
      onWaiting: (reason) => this.#wait(reason),
    })
    if (asOwner && delivered.anonymous && this.destination.kind === 'new') rememberSignedIn(null)
    invalidate('sites', `site/${delivered.published.slug}`)
    this.step.value = { at: 'live', preflight: found, delivered }
    void finishReading(this.#reader!, delivered, wanted, mode)
  }

  async #read(files: CollectedFile[]): Promise<PublishFile[]> {
    const eta = new EtaEstimator()
    const bytes = sumSizes(files)
    const draw = (done: { files: number; bytes: number }) =>
      this.#draw('reading', { files: files.length, filesDone: done.files, bytes, bytesDone: done.bytes }, eta)
    draw({ files: 0, bytes: 0 })
    const sources = files.map(({ path, source }) => ({ path, source }))
    const digest = await this.#reader!.digest(sources, draw).catch((fault: unknown) => {
      throw withFileName(fault, files)
    })
    const { hashes, types, bytes: buffered } = digest
    return files.map((file, at) => {
      const read = { hash: hashes[at]!, contentType: file.contentType ?? types[at]! }
      return { ...read, ...this.#publishFile(file, buffered[at]) }
    })
  }

  #publishFile(
    { path, size, source }: CollectedFile,
    buffered?: Uint8Array,
  ): Pick<PublishFile, 'path' | 'size' | 'open'> {
    const open = () => {
      if (buffered) return buffered
      return typeof source === 'number' ? this.#reader!.inflate(source) : source
    }
    return { path, size, open }
  }

  async #digestManifest(files: PublishFile[], mode: UpdateMode): Promise<string> {
    const entries = [mode === 'merge', ...files.map(({ path, size, hash }) => [path, size, hash])]
    const source = new Blob([JSON.stringify(entries)])
    const { hashes } = await this.#reader!.digest([{ path: '', source }])
    return hashes[0]!
  }

  #draw(at: 'reading' | 'uploading', progress: Progress, eta: EtaEstimator): void {
    const now = performance.now()
    const isEnd = progress.filesDone === progress.files
    const shown = this.step.value
    if (shown.at === at && !isEnd && now - this.#drawnAt < DRAW_INTERVAL_MS) return
    this.#drawnAt = now
    const secondsLeft = eta.secondsLeft(progress, now)
    // A response from before the network failed is no sign that it has returned.
    const waiting = shown.at === 'uploading' && !navigator.onLine ? shown.waiting : undefined
    this.step.value =
      at === 'reading' ? { at, progress, secondsLeft } : { at, progress, secondsLeft, waiting }
  }

  #wait(reason: unknown): void {
    const isNetwork = isSlipwayError(reason, 'NETWORK') || reason instanceof ReadingFault
    const waiting = isNetwork ? 'network' : 'server'
    const now = this.step.value
    const progress =
      now.at === 'uploading'
        ? now.progress
        : { ...(now.at === 'reading' ? now.progress : { files: 0, bytes: 0 }), filesDone: 0, bytesDone: 0 }
    this.step.value = { at: 'uploading', progress, secondsLeft: undefined, waiting }
  }

  #fail(error: unknown): void {
    if (error instanceof UnconfirmedRemoval) {
      this.step.value = { at: 'replacing', preflight: this.#last!.found, ...error.question }
      return
    }
    forgetIfGone(this.destination, error)
    const again = !(error instanceof UnpublishableError) && !isSlipwayError(error, ...NOT_REPEATED)
    this.step.value = {
      at: 'stopped',
      error: toDropError(error),
      again,
      isAnonymous: signedInAs.value === null,
    }
  }
}

/** Stores the title and icon that the server has found, for the list of this browser. */
async function describe({ slug, claimToken }: AnonymousSite): Promise<void> {
  try {
    const site = await slipway.claimPreview(slug, claimToken)
    if (!site.claimed)
      describeAnonymous(slug, { title: site.title, iconUrl: site.iconUrl, thumbnailUrl: null })
  } catch (error) {
    console.debug('The title of the site could not be loaded:', error)
  }
}

/** Draws the thumbnail, for which the reader of a zip is kept. */
async function finishReading(
  reader: Reader,
  { published, live, anonymous }: DeliveryResult,
  files: readonly CollectedFile[],
  mode: UpdateMode,
): Promise<void> {
  using open = reader
  if (published.unchanged) return
  if (anonymous) await describe(anonymous)
  // Only the owner can download the other files, to which the start page may refer.
  if (mode === 'merge' && !live) return
  const atHand = files.map(({ path, size, source }) => ({
    path,
    size,
    open: async () => (typeof source === 'number' ? open.inflate(source) : source),
  }))
  const version = { ...published, claimToken: anonymous?.claimToken }
  await drawVersion(version, atHand, mode === 'merge' ? live : [])
}

function initialProgress(paths: readonly string[], files: readonly PublishFile[]): Progress {
  const sizes = new Map(files.map(({ path, size }) => [path, size]))
  const bytes = paths.reduce((sum, path) => sum + sizes.get(path)!, 0)
  return { files: paths.length, filesDone: 0, bytes, bytesDone: 0 }
}

/** Files of a zip take memory while they are sent. */
function parallelFor(files: readonly CollectedFile[]): number {
  const unpacked = files.filter(({ source }) => typeof source === 'number').map(({ size }) => size)
  const largest = Math.max(1, ...unpacked)
  return Math.min(DEFAULT_CONCURRENCY, Math.max(1, Math.floor(MAX_UNPACKED_BYTES / largest)))
}

function withFileName(fault: unknown, files: readonly CollectedFile[]): unknown {
  if (!(fault instanceof ReadingFault) || fault.at === undefined) return fault
  const { path, source } = files[fault.at]!
  if (typeof source !== 'number') return unreadable(stripControlChars(path))
  return new UnpublishableError(
    `${stripControlChars(path)} is damaged in the ZIP.`,
    'Unzip it first, or create the ZIP again.',
  )
}

/** Errors after which the same files fail again. */
const NOT_REPEATED = [...FILE_CHANGED_CODES, 'SECRET_DETECTED'] as const

const HINT_AFTER_CHANGE = 'The file changed during the upload. Drop it again once it has been saved.'
const NETWORK_HINT = 'Check your connection, then try again.'

function toDropError(error: unknown): DisplayError {
  if (error instanceof UnpublishableError)
    return { title: error.message, hint: error.hint, code: 'OURS', fields: {} }
  if (error instanceof ReadingFault && error.kind === 'missing')
    return { title: "Can't reach the server.", hint: NETWORK_HINT, code: 'NETWORK', fields: {} }
  if (isSlipwayError(error, ...FILE_CHANGED_CODES))
    return { ...toDisplayError(error), hint: HINT_AFTER_CHANGE }
  return toDisplayError(error)
}

/** Milliseconds before the first estimate. */
const MIN_SAMPLE_MS = 1500

/** Estimates the remaining time. */
class EtaEstimator {
  readonly #began = performance.now()

  /** Undefined while it is too early. */
  secondsLeft({ bytes, bytesDone }: Progress, now: number): number | undefined {
    const elapsed = now - this.#began
    if (elapsed < MIN_SAMPLE_MS || bytesDone <= 0) return undefined
    return ((bytes - bytesDone) / bytesDone) * (elapsed / 1000)
  }
}
