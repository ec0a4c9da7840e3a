import { randomUUID } from 'node:crypto'
import type { Span, Sweep, SweepOptions } from './sweeps.ts'

/** How much more than its interval a scheduled run looks back, so that a late one misses nothing (milliseconds). */
const LOOK_BACK = 86_400_000

/**
 * Runs every sweep at its interval on one node at a time: whoever holds its lease. A sweep that fails is logged and
 * counted, and tried again at its next turn.
 */
export class Scheduler implements AsyncDisposable {
  readonly #options: SweepOptions
  readonly #holder = randomUUID()
  readonly #timers: NodeJS.Timeout[] = []
  readonly #running = new Set<Promise<unknown>>()
  /** Failures of each sweep since the process started. */
  readonly #failures = new Map<string, number>()
  #stopped = false

  constructor(options: SweepOptions, table: readonly Sweep[]) {
    this.#options = options
    for (const sweep of table) {
      this.#plan(sweep, firstDelay(sweep))
    }
  }

  /** Stops planning and waits for what runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers) clearTimeout(timer)
    await Promise.allSettled(this.#running)
  }

  #plan(sweep: Sweep, milliseconds: number): void {
    if (this.#stopped) return
    const timer = setTimeout(() => {
      this.#timers.splice(this.#timers.indexOf(timer), 1)
      const run = this.#turn(sweep).finally(() => this.#running.delete(run))
      this.#running.add(run)
      void run.then(() => this.#plan(sweep, sweep.every * 1000))
    }, milliseconds)
    timer.unref()
    this.#timers.push(timer)
  }

  async #turn(sweep: Sweep): Promise<void> {
    const { clock, log, store } = this.#options
    try {
      const now = clock()
      const until = now + sweep.every * 900
      const fence = await store.write('soft', (tx) => tx.leases.take(sweep.name, this.#holder, now, until))
      if (fence === undefined) return
      const gone = await sweep.run(this.#options, { since: now - sweep.every * 1000 - LOOK_BACK })
      if (gone > 0) log.info('swept', { sweep: sweep.name, gone })
    } catch (error) {
      const failures = (this.#failures.get(sweep.name) ?? 0) + 1
      this.#failures.set(sweep.name, failures)
      log.error('a sweep failed; it runs again at its next turn', { sweep: sweep.name, failures, error })
    }
  }
}

/** Runs a sweep now, over all there is. */
export function runByHand(sweep: Sweep, options: SweepOptions): Promise<number> {
  const everything: Span = { since: 0 }
  return sweep.run(options, everything)
}

/** Soon after the start, but not all at once. */
function firstDelay(sweep: Sweep): number {
  return Math.min(sweep.every, 60) * 1000 * (0.1 + 0.4 * Math.random())
}
