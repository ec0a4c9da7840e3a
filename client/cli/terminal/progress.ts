import type { Progress } from '../../sdk/publish.ts'
import type { Terminal } from './terminal.ts'
import { size, span } from './words.ts'

/** A bar is drawn at most this often, in milliseconds. */
const FRAME_MS = 80
const BAR_WIDTH = 24

/** One line for how far it is, within `width` columns: bar, files, bytes, time left once it can be told. */
export function progressLine(verb: string, progress: Progress, elapsedMs: number, width: number): string {
  const share = progress.bytes === 0 ? 1 : progress.bytesDone / progress.bytes
  const figures = [
    `${progress.filesDone.toLocaleString('en-US')} of ${progress.files.toLocaleString('en-US')} files`,
    `${size(progress.bytesDone)} of ${size(progress.bytes)}`,
  ]
  if (share > 0.02 && share < 1 && elapsedMs > 1000) {
    figures.push(`${span((elapsedMs / 1000 / share) * (1 - share))} left`)
  }
  const line = `${verb} ${bar(share)} ${figures.join(' · ')}`
  return line.length < width ? line : `${verb} ${Math.floor(share * 100)}%`.slice(0, Math.max(width - 1, 0))
}

/** Shows how far something is: a bar where lines may be drawn over, else a line for every quarter. */
export class ProgressView {
  readonly #terminal: Terminal
  readonly #verb: string
  readonly #now: () => number
  readonly #began: number
  #drawnAt = Number.NEGATIVE_INFINITY
  #quarter = 0

  constructor(terminal: Terminal, verb: string, now: () => number) {
    this.#terminal = terminal
    this.#verb = verb
    this.#now = now
    this.#began = now()
  }

  show(progress: Progress): void {
    if (this.#terminal.live) this.#draw(progress)
    else this.#say(progress)
  }

  #draw(progress: Progress): void {
    const now = this.#now()
    if (now - this.#drawnAt < FRAME_MS) return
    this.#drawnAt = now
    this.#terminal.draw(progressLine(this.#verb, progress, now - this.#began, this.#terminal.width))
  }

  #say(progress: Progress): void {
    const quarter = Math.floor((progress.bytesDone / Math.max(progress.bytes, 1)) * 4)
    if (quarter <= this.#quarter || quarter > 3) return
    this.#quarter = quarter
    const done = `${progress.filesDone.toLocaleString('en-US')} of ${progress.files.toLocaleString('en-US')} files`
    this.#terminal.say(`  ${quarter * 25}%  ${done}, ${size(progress.bytesDone)} of ${size(progress.bytes)}`)
  }
}

function bar(share: number): string {
  const filled = Math.round(Math.min(share, 1) * BAR_WIDTH)
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled)
}
