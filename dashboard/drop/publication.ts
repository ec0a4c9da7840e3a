import { mediaType } from '../../client/sdk/media-type.ts'
import type { Progress, PublishFile } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { harmless } from '../../client/words.ts'
import { type Failing, failing } from '../api/failing.ts'
import type { Kept } from '../api/kept.ts'
import { forget } from '../api/resource.ts'
import { rememberSignedIn, signedInAs } from '../api/session.ts'
import { type Delivered, deliver, forgetLost } from './delivery.ts'
import { type Destination, limitsOf } from './destination.ts'
import { type GatheredFile, gather } from './gather.ts'
import type { Job } from './jobs.ts'
import { hasQuestion, type Look, look, lookInside, MOST_UNPACKED } from './look.ts'
import { networkPatience } from './network-patience.ts'
import { Pace } from './pace.ts'
import type { Picked } from './picked.ts'
import { Reader, ReadingFault } from './reader/reader.ts'
import { Unfit } from './unfit.ts'
import { unreadable } from './walk.ts'

/** Where a publication is. */
export type Step =
  | { at: 'looking' }
  | { at: 'question'; look: Look }
  | { at: 'reading'; progress: Progress; secondsLeft: number | undefined }
  | { at: 'uploading'; progress: Progress; secondsLeft: number | undefined; waiting: Waiting | undefined }
  | { at: 'live'; look: Look; delivered: Delivered }
  | { at: 'stopped'; failing: Failing; again: boolean; asStranger: boolean }

/** Why nothing moves. */
export type Waiting = 'network' | 'server'

/** As many requests at a time as browsers have connections to one host. */
const PARALLEL = 6
/** How often the reader is asked for while the browser believes to have a network, and the milliseconds in between. */
const MOST_READERS = 5
const READER_PAUSE = 2000
/** Milliseconds between two drawings of the bar. */
const OFTEN = 100

/** One drop on its way to an address. It goes on when nobody looks, and asks before the tab is closed in the middle. */
export class Publication {
  readonly step: Kept<Step>
  readonly destination: Destination
  readonly #picked: Picked
  readonly #stop = new AbortController()
  #reader: Reader | undefined
  #look: Look | undefined
  #drawn = 0

  constructor({ picked, destination, step }: Job) {
    this.#picked = picked
    this.destination = destination
    this.step = step
    this.#begin()
  }

  /** Publishes what was looked at. */
  publish(found: Look): void {
    this.#look = found
    void this.#running(() => this.#publish(found))
  }

  /** Takes away what cannot be published, or all but one folder, and looks at the rest. */
  without(found: Look): void {
    this.#decide(look({ ...found, files: found.rest! }, limitsOf(this.destination)))
  }

  inside(found: Look, folder: string): void {
    this.#decide(lookInside(found, folder, limitsOf(this.destination)))
  }

  /** Tries again from where it stopped. */
  again(): void {
    if (this.#look) this.publish(this.#look)
    else this.#begin()
  }

  /** Nothing more is sent. What was sent is not seen by anybody, and is swept. */
  cancel(): void {
    this.#stop.abort(new DOMException('cancelled', 'AbortError'))
  }

  #begin(): void {
    void this.#running(async () => this.#decide(await this.#lookThrough()))
  }

  async #running(work: () => unknown): Promise<void> {
    const asks = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', asks)
    try {
      await this.#withReader(work)
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#fail(error)
    } finally {
      removeEventListener('beforeunload', asks)
    }
  }

  /** The reader is a script of its own, which has to come through the network, too. */
  async #withReader(work: () => unknown): Promise<void> {
    for (let failures = 0; ; failures++) {
      this.#reader ??= new Reader(this.#stop.signal)
      try {
        await work()
        return
      } catch (error) {
        const isMissing = error instanceof ReadingFault && error.kind === 'missing'
        if (!isMissing || failures === MOST_READERS) throw error
        this.#reader = undefined
        this.#wait(error)
        await networkPatience.wait(READER_PAUSE, this.#stop.signal)
      }
    }
  }

  async #lookThrough(): Promise<Look> {
    this.step.value = { at: 'looking' }
    const found = await gather(this.#picked, this.#reader!, this.#stop.signal)
    return look(found, limitsOf(this.destination))
  }

  #decide(found: Look): void {
    if (hasQuestion(found)) this.step.value = { at: 'question', look: found }
    else this.publish(found)
  }

  async #publish(found: Look): Promise<void> {
    const files = await this.#read(found.files)
    const digest = await this.#digestOf(files)
    const pace = new Pace()
    const asOwner = signedInAs.value !== null
    const delivered = await deliver({
      files,
      digest,
      destination: this.destination,
      parallel: parallelFor(found.files),
      signal: this.#stop.signal,
      onBegun: (paths) => this.#draw('uploading', beginning(paths, files), pace),
      onProgress: (progress) => this.#draw('uploading', progress, pace),
      onWaiting: (reason) => this.#wait(reason),
    })
    if (asOwner && delivered.anonymous && this.destination.kind === 'new') rememberSignedIn(null)
    forget('sites', `site/${delivered.published.slug}`)
    this.step.value = { at: 'live', look: found, delivered }
    this.#reader?.[Symbol.dispose]()
  }

  async #read(files: GatheredFile[]): Promise<PublishFile[]> {
    const pace = new Pace()
    const bytes = files.reduce((sum, file) => sum + file.size, 0)
    const draw = (done: { files: number; bytes: number }) =>
      this.#draw(
        'reading',
        { files: files.length, filesDone: done.files, bytes, bytesDone: done.bytes },
        pace,
      )
    draw({ files: 0, bytes: 0 })
    const sources = files.map(({ source }) => source)
    const { hashes, bytes: kept } = await this.#reader!.digest(sources, draw).catch((fault: unknown) => {
      throw named(fault, files)
    })
    return files.map((file, at) => this.#publishFile(file, hashes[at]!, kept[at]))
  }

  #publishFile({ path, size, source }: GatheredFile, hash: string, kept?: Uint8Array): PublishFile {
    const open = () => {
      if (kept) return kept
      return typeof source === 'number' ? this.#reader!.inflate(source) : source
    }
    return { path, size, contentType: mediaType(path), hash, open }
  }

  async #digestOf(files: PublishFile[]): Promise<string> {
    const entries = files.map(({ path, size, hash }) => [path, size, hash])
    const { hashes } = await this.#reader!.digest([new Blob([JSON.stringify(entries)])])
    return hashes[0]!
  }

  #draw(at: 'reading' | 'uploading', progress: Progress, pace: Pace): void {
    const now = performance.now()
    const isEnd = progress.filesDone === progress.files
    if (this.step.value.at === at && !isEnd && now - this.#drawn < OFTEN) return
    this.#drawn = now
    const secondsLeft = pace.secondsLeft(progress, now)
    this.step.value =
      at === 'reading' ? { at, progress, secondsLeft } : { at, progress, secondsLeft, waiting: undefined }
  }

  #wait(reason: unknown): void {
    const isNetwork = isSlipwayError(reason, 'NETWORK') || reason instanceof ReadingFault
    const waiting = isNetwork ? 'network' : 'server'
    const now = this.step.value
    const progress =
      now.at === 'uploading' || now.at === 'reading'
        ? now.progress
        : { files: 0, filesDone: 0, bytes: 0, bytesDone: 0 }
    this.step.value = { at: 'uploading', progress, secondsLeft: undefined, waiting }
  }

  #fail(error: unknown): void {
    forgetLost(this.destination, error)
    const again = !(error instanceof Unfit) && !isSlipwayError(error, ...CHANGED)
    this.step.value = { at: 'stopped', failing: said(error), again, asStranger: signedInAs.value === null }
  }
}

function beginning(paths: readonly string[], files: readonly PublishFile[]): Progress {
  const sizes = new Map(files.map(({ path, size }) => [path, size]))
  const bytes = paths.reduce((sum, path) => sum + sizes.get(path)!, 0)
  return { files: paths.length, filesDone: 0, bytes, bytesDone: 0 }
}

/** Files of a zip take memory while they are sent. */
function parallelFor(files: readonly GatheredFile[]): number {
  const unpacked = files.filter(({ source }) => typeof source === 'number').map(({ size }) => size)
  const largest = Math.max(1, ...unpacked)
  return Math.min(PARALLEL, Math.max(1, Math.floor(MOST_UNPACKED / largest)))
}

function named(fault: unknown, files: readonly GatheredFile[]): unknown {
  if (!(fault instanceof ReadingFault) || fault.at === undefined) return fault
  const { path, source } = files[fault.at]!
  if (typeof source !== 'number') return unreadable(harmless(path))
  return new Unfit(
    `${harmless(path)} is damaged in the zip.`,
    'Unpack the zip on this machine, or make it again.',
  )
}

/** What is answered when a file is no longer what it was when it was read. */
const CHANGED = ['FILE_CHANGED', 'SIZE_MISMATCH', 'HASH_MISMATCH'] as const

const WAY_AFTER_CHANGE = 'The file changed meanwhile. Drop it again when nothing writes to it any more.'
const WAY_BACK = 'Check your connection, then try again.'

function said(error: unknown): Failing {
  if (error instanceof Unfit) return { title: error.message, way: error.way, code: 'OURS', fields: {} }
  if (error instanceof ReadingFault && error.kind === 'missing')
    return { title: 'The server does not answer.', way: WAY_BACK, code: 'NETWORK', fields: {} }
  if (isSlipwayError(error, ...CHANGED)) return { ...failing(error), way: WAY_AFTER_CHANGE }
  return failing(error)
}
