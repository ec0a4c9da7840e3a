import { isDamage } from '../blobs/damage.ts'
import type { VersionFiles } from '../edge/version-files.ts'
import { type ChromiumProgram, ChromiumStartError } from '../lib/chromium.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import type { Parts } from '../parts.ts'
import { drawPage } from '../sites/draw-page.ts'
import type { Thumbnails } from '../sites/thumbnails.ts'
import { assertThumbnail } from '../sites/webp.ts'
import type { Store } from '../store/store.ts'
import { LeaseLostError } from './job-lease.ts'

type ThumbnailDrawerParts = Pick<Parts, 'addresses' | 'log' | 'telemetry'> & {
  program: ChromiumProgram
  files: VersionFiles
  thumbnails: Thumbnails
  /** Milliseconds of a drawing. */
  timeoutMs: number
}

/** Versions that a run draws, the newest first: others become live while it runs. */
const VERSIONS_PER_RUN = 50

/** Among them are those that cannot be drawn, as long as their sites count as changed. */
const MAX_CANDIDATES = 1000

/** Bytes of files for one drawing. */
const MAX_PAGE_BYTES = 8 * 2 ** 20

/** One at a time; each process tries a version once. What cannot be drawn here, the dashboard of its owner draws. */
export class ThumbnailDrawer extends Component<ThumbnailDrawerParts> implements Disposable {
  #tried = new Set<string>()
  readonly #stop = new AbortController()

  /** Draws sites that have changed since that time, with the store of the job; at 0 as many as it remembers. Returns their number. */
  async run(store: Store, since: number): Promise<number> {
    const candidates = await store.read.versions.withoutThumbnail(since, MAX_CANDIDATES)
    const untried = candidates.filter(({ id }) => !this.#tried.has(id))
    this.#tried = this.#tried.intersection(new Set(candidates.map(({ id }) => id)))
    let drawn = 0
    for (const { slug, id } of untried.slice(0, since === 0 ? undefined : VERSIONS_PER_RUN)) {
      if (this.#stop.signal.aborted) break
      this.#tried.add(id)
      if (await this.#tryDraw(store, slug, id)) drawn++
    }
    return drawn
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
  }

  /** Fails when the program or the storage is to blame, and not the version. */
  async #tryDraw(store: Store, slug: string, id: string): Promise<boolean> {
    const { log, telemetry } = this.parts
    const count = (outcome: string) =>
      telemetry.metrics.counter('slipway_thumbnails_total', { outcome }).add()
    try {
      if (!(await this.#draw(store, slug, id))) return false
      count('drawn')
      return true
    } catch (error) {
      if (this.#stop.signal.aborted) return false
      const isOfStorage = error instanceof ApiError && error.status >= 500 && !isDamage(error)
      if (isOfStorage || error instanceof ChromiumStartError || error instanceof LeaseLostError) {
        this.#tried.delete(id)
        throw error
      }
      count('failed')
      log.warn('a thumbnail cannot be drawn', { slug, version: id, error })
      return false
    }
  }

  async #draw(store: Store, slug: string, id: string): Promise<boolean> {
    const { program, files, thumbnails, addresses, timeoutMs } = this.parts
    const respond = await files.open(slug, id, MAX_PAGE_BYTES)
    if (!respond) return false
    const picture = await drawPage({
      program,
      url: addresses.site(slug),
      respond: (url, { Accept: accept, Range: range }) => respond(url, { accept, range }),
      timeoutMs,
      stop: this.#stop.signal,
    })
    assertThumbnail(picture)
    await thumbnails.store({ slug, versionId: id }, picture, store)
    return true
  }
}
