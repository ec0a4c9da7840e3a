import { type FSWatcher, statSync, watch } from 'node:fs'
import { RefusedError } from '../cli-error.ts'

/** Programs write several files in a row: a change is reported when no further one follows for this time. */
const QUIET_MS = 10
/** A change is reported after this time, even if further ones follow. */
const MAX_DELAY_MS = 500

/** Where one watcher sees a folder with everything below. */
const RECURSIVE_PLATFORMS = new Set(['darwin', 'win32'])

interface FolderWatcherOptions {
  platform: string
  signal: AbortSignal
}

/** Watches folders for changes of any kind. */
export class FolderWatcher implements Disposable {
  readonly #isRecursive: boolean
  readonly #signal: AbortSignal
  /** By the path and the identity of the folder: one that was made again needs another watcher. */
  readonly #watchers = new Map<string, FSWatcher>()
  #changedAt: number | undefined
  #timer: NodeJS.Timeout | undefined
  #wake: (() => void) | undefined

  constructor({ platform, signal }: FolderWatcherOptions) {
    this.#isRecursive = RECURSIVE_PLATFORMS.has(platform)
    this.#signal = signal
    signal.addEventListener('abort', this.#stop)
  }

  /**
   * Watches these folders, of which the first contains the others, in place of earlier ones. Returns whether there are
   * new ones, in which files may have changed before. Throws a RefusedError when the system watches no more folders.
   */
  watch(folders: readonly string[]): boolean {
    const wanted = new Map(
      (this.#isRecursive ? folders.slice(0, 1) : folders).map((folder) => [identify(folder), folder]),
    )
    for (const [key, watcher] of this.#watchers) {
      if (wanted.has(key)) continue
      watcher.close()
      this.#watchers.delete(key)
    }
    const added = [...wanted].filter(([key]) => !this.#watchers.has(key))
    for (const [key, folder] of added) this.#add(key, folder)
    return added.length > 0
  }

  /** Resolves after a change, once no further one follows; with false when the signal aborts. */
  async next(): Promise<boolean> {
    while (!this.#signal.aborted) {
      const since = this.#changedAt
      if (since !== undefined && this.#timer === undefined) {
        this.#changedAt = undefined
        return true
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return false
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#signal.removeEventListener('abort', this.#stop)
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #add(key: string, folder: string): void {
    try {
      const watcher = watch(folder, { recursive: this.#isRecursive }, this.#onChange)
      watcher.on('error', () => {
        watcher.close()
        this.#watchers.delete(key)
        this.#onChange()
      })
      this.#watchers.set(key, watcher)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toWatchError(error)
    }
  }

  readonly #onChange = (): void => {
    const now = performance.now()
    this.#changedAt ??= now
    if (this.#timer !== undefined && now - this.#changedAt > MAX_DELAY_MS) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#wake?.()
    }, QUIET_MS)
  }

  readonly #stop = (): void => this.#wake?.()
}

/** The number of a deleted folder may be that of the next one. */
function identify(folder: string): string {
  const { dev, ino, birthtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? {}
  return [dev, ino, birthtimeMs, folder].join(' ')
}

function toWatchError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ENOSPC' && code !== 'EMFILE') return error
  return new RefusedError(
    'The system watches no more folders',
    'Exclude folders in .slipwayignore, or raise fs.inotify.max_user_watches',
  )
}
