import { formatBytes, formatDuration, formatNumber, pluralize } from '../../../protocol/format.ts'
import type { UploadProgress } from '../../sdk/publish.ts'
import type { Terminal } from './terminal.ts'

/** Minimum interval between two frames of a bar, in milliseconds. */
const MIN_FRAME_INTERVAL_MS = 80
/** Minimum interval between two plain lines, in milliseconds. */
const MIN_LINE_INTERVAL_MS = 5_000
const BAR_WIDTH = 24

/** A progress line within `width` columns: bar, files, bytes, and the remaining time once it is known. */
export function progressLine(
  verb: string,
  progress: UploadProgress,
  elapsedMs: number,
  width: number,
): string {
  const share = completedShare(progress)
  const line = `${verb} ${renderBar(share)} ${formatFigures(progress, elapsedMs)}`
  return line.length < width ? line : `${verb} ${Math.floor(share * 100)}%`.slice(0, Math.max(width - 1, 0))
}

/** Shows progress: a bar on a terminal, otherwise a line every few seconds. */
export class ProgressView {
  readonly #terminal: Terminal
  readonly #verb: string
  readonly #now: () => number
  readonly #began: number
  #shownAt: number
  #bytesDone = 0
  /** Bytes done when progress stalled. */
  #stalledAt: number | undefined

  constructor(terminal: Terminal, verb: string, now: () => number) {
    this.#terminal = terminal
    this.#verb = verb
    this.#now = now
    this.#began = now()
    this.#shownAt = terminal.live ? Number.NEGATIVE_INFINITY : this.#began
  }

  show(progress: UploadProgress): void {
    this.#bytesDone = progress.bytesDone
    if (this.#stalledAt !== undefined && progress.bytesDone <= this.#stalledAt) return
    this.#stalledAt = undefined
    const now = this.#now()
    const { live, width } = this.#terminal
    if (now - this.#shownAt < (live ? MIN_FRAME_INTERVAL_MS : MIN_LINE_INTERVAL_MS)) return
    this.#shownAt = now
    const elapsed = now - this.#began
    if (live) this.#terminal.draw(progressLine(this.#verb, progress, elapsed, width))
    else this.#terminal.printNote(`  ${this.#verb} ${formatFigures(progress, elapsed)}`)
  }

  /** Shows why progress stalled, until it continues. */
  stall(reason: string): void {
    const { live, width } = this.#terminal
    const line = `${reason}. Retrying…`
    if (live) this.#terminal.draw(line.slice(0, Math.max(width - 1, 0)))
    else if (this.#stalledAt === undefined) this.#terminal.printNote(`  ${line}`)
    this.#stalledAt = this.#bytesDone
  }
}

/** "412 of 1,000 files · 3.9 MB of 10 MB · 4 s left" */
function formatFigures({ files, filesDone, bytes, bytesDone }: UploadProgress, elapsedMs: number): string {
  const known = [
    `${formatNumber(filesDone)} of ${pluralize(files, 'file')}`,
    `${formatBytes(bytesDone)} of ${formatBytes(bytes)}`,
  ]
  const share = completedShare({ bytes, bytesDone })
  if (share > 0.02 && share < 1 && elapsedMs > 1000) {
    known.push(`${formatDuration((elapsedMs / 1000 / share) * (1 - share))} left`)
  }
  return known.join(' · ')
}

function completedShare({ bytes, bytesDone }: Pick<UploadProgress, 'bytes' | 'bytesDone'>): number {
  return bytes === 0 ? 1 : bytesDone / bytes
}

function renderBar(share: number): string {
  const filled = Math.round(Math.min(share, 1) * BAR_WIDTH)
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled)
}
