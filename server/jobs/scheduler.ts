import { randomUUID } from 'node:crypto'
import { DAY_MS } from '../lib/time.ts'
import { INDEPENDENT } from '../store/store.ts'
import type { Sweep, SweepOptions, SweepScope } from './jobs.ts'

/**
 * How much more than its interval a scheduled run covers, so that a late run misses nothing (milliseconds).
 */
const LOOKBACK_MS = DAY_MS

/**
 * Runs every sweep at its interval on the node that holds its lease. A failed sweep is logged and counted, and
 * runs again at its next interval.
 */
export class Scheduler implements AsyncDisposable {
  readonly #options: SweepOptions
  readonly #holder = randomUUID()
  readonly #timers: NodeJS.Timeout[] = []
  readonly #running = new Set<Promise<unknown>>()
  /** Sweeps whose lease another process held at the last interval. */
  readonly #refused = new Set<string>()
  #hasReportedOthers = false
  /** Failures of each sweep since the process started. */
  readonly #failures = new Map<string, number>()
  #stopped = false

  constructor(options: SweepOptions, table: readonly Sweep[]) {
    this.#options = options
    for (const sweep of table) {
      this.#schedule(sweep, firstDelay(sweep))
    }
  }

  /** Stops scheduling and waits for running sweeps. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers) clearTimeout(timer)
    await Promise.allSettled(this.#running)
  }

  #schedule(sweep: Sweep, milliseconds: number): void {
    if (this.#stopped) return
    const timer = setTimeout(() => {
      this.#timers.splice(this.#timers.indexOf(timer), 1)
      const run = this.#tick(sweep).finally(() => this.#running.delete(run))
      this.#running.add(run)
      void run.then(() => this.#schedule(sweep, sweep.intervalSeconds * 1000))
    }, milliseconds)
    timer.unref()
    this.#timers.push(timer)
  }

  /** Logs once that another process runs: a lease that is held at two intervals was renewed in between. */
  #noticeHolder(name: string): void {
    const isRenewed = this.#refused.has(name)
    this.#refused.add(name)
    if (!isRenewed || this.#hasReportedOthers) return
    this.#hasReportedOthers = true
    this.#options.log.info('another process uses the same data folder: each sweep runs in one of them')
  }

  async #tick(sweep: Sweep): Promise<void> {
    const { clock, log, store } = this.#options
    try {
      const now = clock()
      const until = now + sweep.intervalSeconds * 900
      const fence = await store.write('relaxed', INDEPENDENT, (tx) =>
        tx.leases.acquire(sweep.name, this.#holder, now, until),
      )
      if (fence === undefined) return this.#noticeHolder(sweep.name)
      this.#refused.delete(sweep.name)
      const count = await sweep.run(this.#options, {
        since: now - sweep.intervalSeconds * 1000 - LOOKBACK_MS,
      })
      if (count > 0) log.info('sweep finished', { sweep: sweep.name, count })
    } catch (error) {
      const failures = (this.#failures.get(sweep.name) ?? 0) + 1
      this.#failures.set(sweep.name, failures)
      log.error('sweep failed; it runs again at its next interval', { sweep: sweep.name, failures, error })
    }
  }
}

/** Runs a sweep now, over all data. */
export function runOnce(sweep: Sweep, options: SweepOptions): Promise<number> {
  const scope: SweepScope = { since: 0 }
  return sweep.run(options, scope)
}

/** Soon after the start, with jitter. */
function firstDelay(sweep: Sweep): number {
  return Math.min(sweep.intervalSeconds, 60) * 1000 * (0.1 + 0.4 * Math.random())
}
