import type { Progress } from '../../sdk/publish.ts'
import { figure, size, span } from '../../words.ts'
import type { Terminal } from './terminal.ts'

/** A bar is drawn at most this often, in milliseconds. */
const FRAME_MS = 80
/** A plain line is said at most this often, in milliseconds. */
const LINE_MS = 5_000
const BAR_WIDTH = 24

/** One line for how far it is, within `width` columns: bar, files, bytes, time left once it can be told. */
export function progressLine(verb: string, progress: Progress, elapsedMs: number, width: number): string {
  const share = shareOf(progress)
  const line = `${verb} ${bar(share)} ${figures(progress, elapsedMs)}`
  return line.length < width ? line : `${verb} ${Math.floor(share * 100)}%`.slice(0, Math.max(width - 1, 0))
}

/** Shows how far something is: a bar where lines may be drawn over, else a line every few seconds. */
export class ProgressView {
  readonly #terminal: Terminal
  readonly #verb: string
  readonly #now: () => number
  readonly #began: number
  #shownAt: number
  #bytesDone = 0
  /** How many bytes were done when it came to a standstill. */
  #stalledAt: number | undefined

  constructor(terminal: Terminal, verb: string, now: () => number) {
    this.#terminal = terminal
    this.#verb = verb
    this.#now = now
    this.#began = now()
    this.#shownAt = terminal.live ? Number.NEGATIVE_INFINITY : this.#began
  }

  show(progress: Progress): void {
    this.#bytesDone = progress.bytesDone
    if (this.#stalledAt !== undefined && progress.bytesDone <= this.#stalledAt) return
    this.#stalledAt = undefined
    const now = this.#now()
    const { live, width } = this.#terminal
    if (now - this.#shownAt < (live ? FRAME_MS : LINE_MS)) return
    this.#shownAt = now
    const elapsed = now - this.#began
    if (live) this.#terminal.draw(progressLine(this.#verb, progress, elapsed, width))
    else this.#terminal.say(`  ${figures(progress, elapsed)}`)
  }

  /** Says why it stands still, until it goes on. */
  stall(reason: string): void {
    const { live, width } = this.#terminal
    const line = `${reason}; trying again`
    if (live) this.#terminal.draw(line.slice(0, Math.max(width - 1, 0)))
    else if (this.#stalledAt === undefined) this.#terminal.say(`  ${line}`)
    this.#stalledAt = this.#bytesDone
  }
}

/** "412 of 1,000 files · 3.9 MB of 10 MB · 4 s left" */
function figures({ files, filesDone, bytes, bytesDone }: Progress, elapsedMs: number): string {
  const known = [`${figure(filesDone)} of ${figure(files)} files`, `${size(bytesDone)} of ${size(bytes)}`]
  const share = shareOf({ bytes, bytesDone })
  if (share > 0.02 && share < 1 && elapsedMs > 1000) {
    known.push(`${span((elapsedMs / 1000 / share) * (1 - share))} left`)
  }
  return known.join(' · ')
}

function shareOf({ bytes, bytesDone }: Pick<Progress, 'bytes' | 'bytesDone'>): number {
  return bytes === 0 ? 1 : bytesDone / bytes
}

function bar(share: number): string {
  const filled = Math.round(Math.min(share, 1) * BAR_WIDTH)
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled)
}
