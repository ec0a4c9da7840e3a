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
  timeoutMs: number
}

/** Versions that a run draws, the newest first: others become live while it runs. */
const VERSIONS_PER_RUN = 50

/** Among them are those that cannot be drawn, as long as their sites count as changed. */
const MAX_CANDIDATES = 1000

/** A run ends after these. */
const MAX_REFUSALS = 5

/** Bytes of files for one drawing. */
const MAX_PAGE_BYTES = 8 * 2 ** 20

/** One at a time; each process tries a version once. What cannot be drawn here, the dashboard of its owner draws. */
export class ThumbnailDrawer extends Component<ThumbnailDrawerParts> implements Disposable {
  #tried = new Set<string>()
  readonly #stop = new AbortController()

  /** Draws sites that have changed since that time, at 0 as many as it remembers. Returns their number; rejects at the end if the storage refused one. */
  async run(store: Store, since: number): Promise<number> {
    const candidates = await store.read.versions.withoutThumbnail(since, MAX_CANDIDATES)
    const untried = candidates.filter(({ id }) => !this.#tried.has(id))
    this.#tried = this.#tried.intersection(new Set(candidates.map(({ id }) => id)))
    let drawn = 0
    const refusals: unknown[] = []
    for (const { slug, id } of untried.slice(0, since === 0 ? undefined : VERSIONS_PER_RUN)) {
      if (this.#stop.signal.aborted || refusals.length === MAX_REFUSALS) break
      this.#tried.add(id)
      if (await this.#tryDraw(store, { slug, id }, refusals)) drawn++
    }
    if (refusals.length > 0) throw refusals[0]
    return drawn
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
  }

  async #tryDraw(
    store: Store,
    { slug, id }: { slug: string; id: string },
    refusals: unknown[],
  ): Promise<boolean> {
    const { log, telemetry } = this.parts
    const count = (outcome: string) =>
      telemetry.metrics.counter('slipway_thumbnails_total', { outcome }).add()
    try {
      if (!(await this.#draw(store, slug, id))) return false
      count('drawn')
      return true
    } catch (error) {
      if (this.#stop.signal.aborted) return false
      const isOfProgram = error instanceof ChromiumStartError || error instanceof LeaseLostError
      const isOfStorage = error instanceof ApiError && error.status >= 500 && !isDamage(error)
      if (isOfStorage || isOfProgram) this.#tried.delete(id)
      if (isOfProgram) throw error
      if (isOfStorage) refusals.push(error)
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
