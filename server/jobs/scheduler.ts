import { randomUUID } from 'node:crypto'
import type { AdminSweeps } from '../../protocol/api/admin/lists.schema.ts'
import { truncate } from '../../protocol/format.ts'
import { Component } from '../lib/component.ts'
import { firstError } from '../lib/errors.ts'
import { trace } from '../lib/telemetry.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS, toIso, toIsoOrNull } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { Store } from '../store/store.ts'
import type { SweepRun } from '../store/tables/jobs.ts'
import type { Lease } from '../store/tables/nodes.ts'
import { JobLease, LeaseLostError } from './job-lease.ts'
import type { Sweep, SweepParts } from './jobs.ts'

/** A scheduled run covers this more than its interval, so that a late run misses nothing. */
const LOOKBACK_MS = HOUR_MS

const MAX_MESSAGE_LENGTH = 500

/** Spreads the attempts of nodes that wait for the same lease. */
const MAX_JITTER_MS = 10 * SECOND_MS

/**
 * Runs every sweep at its interval on the node that holds its lease. A node that was refused a lease attempts it again
 * when it ends. A failed sweep is logged and counted, and runs again at its next interval. Disposal ends running sweeps at
 * their next step; another process runs them again.
 */
export class Scheduler implements AsyncDisposable {
  readonly #options: SweepParts
  readonly #holder = randomUUID()
  readonly #timers: NodeJS.Timeout[] = []
  readonly #running = new Set<Promise<unknown>>()
  readonly #refused = new Set<string>()
  readonly #runs: SweepRunRecorder
  #hasReportedOthers = false
  readonly #failures = new Map<string, number>()
  readonly #stop = new AbortController()

  constructor(options: SweepParts, table: readonly Sweep[]) {
    this.#options = options
    this.#runs = new SweepRunRecorder(options)
    for (const sweep of table)
      if (sweep.isEnabled?.(options) ?? true) this.#schedule(sweep, firstDelay(sweep))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    for (const timer of this.#timers) clearTimeout(timer)
    await Promise.allSettled(this.#running)
  }

  #schedule(sweep: Sweep, milliseconds: number): void {
    if (this.#stop.signal.aborted) return
    const timer = setTimeout(() => {
      this.#timers.splice(this.#timers.indexOf(timer), 1)
      const run = this.#tick(sweep).finally(() => this.#running.delete(run))
      this.#running.add(run)
      void run.then((delayMs) => this.#schedule(sweep, delayMs))
    }, milliseconds).unref()
    this.#timers.push(timer)
  }

  /** Logs once that another process runs: a lease that is held at two intervals was renewed in between. */
  #noticeHolder(name: string): void {
    const isRenewed = this.#refused.has(name)
    this.#refused.add(name)
    if (!isRenewed || this.#hasReportedOthers) return
    this.#hasReportedOthers = true
    this.#options.log.info('another process uses the same data: each sweep runs in one of them')
  }

  async #tick(sweep: Sweep): Promise<number> {
    const intervalMs = sweep.intervalSeconds * 1000
    try {
      if (sweep.runsOnAllNodes) await this.#run(sweep, this.#options)
      else {
        const lease = await JobLease.acquire({
          ...this.#options,
          name: sweep.name,
          holder: this.#holder,
          intervalMs,
          signal: this.#stop.signal,
        })
        if (!(lease instanceof JobLease)) return this.#waitForLease(sweep, lease)
        this.#refused.delete(sweep.name)
        await using held = lease
        await this.#run(sweep, { ...this.#options, store: held.store }, held.startedAt)
      }
    } catch (error) {
      if (!this.#isStop(firstError(error))) this.#logFailure(sweep, error)
    }
    return intervalMs
  }

  async #run(sweep: Sweep, options: SweepParts, startedAt = options.clock()): Promise<void> {
    const since = startedAt - sweep.intervalSeconds * 1000 - LOOKBACK_MS
    const { telemetry, clock } = options
    const { metrics } = telemetry
    const { name } = sweep
    const run = () => sweep.run(options, { since, signal: this.#stop.signal })
    const count = await this.#runs.run({ name, startedAt, isStop: (error) => this.#isStop(error) }, () =>
      trace(telemetry, { name: `sweep ${name}` }, run),
    )
    metrics.counter('slipway_sweep_runs_total', { sweep: name, outcome: 'ok' }).add()
    metrics.gauge('slipway_sweep_last_success_timestamp_seconds', { sweep: name }).set(clock() / 1000)
    if (count > 0) options.log.info('sweep finished', { sweep: sweep.name, count })
  }

  #isStop(error: unknown): boolean {
    const { aborted, reason } = this.#stop.signal
    return aborted && error === reason
  }

  #waitForLease({ name, intervalSeconds }: Sweep, { until }: Lease): number {
    this.#noticeHolder(name)
    const jitterMs = Math.random() * Math.min(intervalSeconds * 100, MAX_JITTER_MS)
    return Math.max(until - this.#options.clock(), SECOND_MS) + jitterMs
  }

  #logFailure({ name: sweep }: Sweep, thrown: unknown): void {
    const error = firstError(thrown)
    const { log, telemetry } = this.#options
    if (error instanceof LeaseLostError) {
      log.warn('sweep stopped: another node acquired its lease', { sweep })
      return
    }
    const failures = (this.#failures.get(sweep) ?? 0) + 1
    this.#failures.set(sweep, failures)
    telemetry.metrics.counter('slipway_sweep_runs_total', { sweep, outcome: 'failed' }).add()
    log.error('sweep failed; it runs again at its next interval', { sweep, failures, error })
  }
}

export function runOnce(sweep: Sweep, options: SweepParts, isNamed = true): Promise<number> {
  return sweep.run(options, { since: 0, isNamed })
}

/** The same for the operator, recorded as the scheduler does. */
export function runByHand(sweep: Sweep, options: SweepParts, isNamed = true): Promise<number> {
  const run = { name: sweep.name, startedAt: options.clock() }
  return new SweepRunRecorder(options).run(run, () => runOnce(sweep, options, isNamed))
}

function firstDelay(sweep: Sweep): number {
  return Math.min(sweep.intervalSeconds, 60) * 1000 * (0.1 + 0.4 * Math.random())
}

/** Between two records of a sweep whose outcome stays the same: some run every five seconds. */
const RECORD_INTERVAL_MS = MINUTE_MS

interface RecordedRun {
  name: string
  startedAt: number
  isStop?: (error: unknown) => boolean
}

/** Records the runs of sweeps for administrators. A run never fails because it cannot be recorded. */
export class SweepRunRecorder extends Component<Pick<Parts, 'store' | 'log' | 'telemetry'>> {
  readonly #recorded = new Map<string, { at: number; hasFailed: boolean }>()

  /** Runs and records a sweep, unless it ends with its process. */
  async run(
    { name, startedAt, isStop = () => false }: RecordedRun,
    work: () => Promise<number>,
  ): Promise<number> {
    const beganAt = performance.now()
    const record = (items: number, error: string | null) => {
      const durationMs = Math.round(performance.now() - beganAt)
      const { metrics } = this.parts.telemetry
      metrics.histogram('slipway_sweep_duration_seconds', { sweep: name }).observe(durationMs / 1000)
      return this.record({ name, startedAt, durationMs, items, error })
    }
    const count = await work().catch(async (error: Error) => {
      if (!isStop(error))
        await record(0, error instanceof LeaseLostError ? null : truncate(error.message, MAX_MESSAGE_LENGTH))
      throw error
    })
    await record(count, null)
    return count
  }

  async record(run: Pick<SweepRun, 'name' | 'startedAt' | 'durationMs' | 'items' | 'error'>): Promise<void> {
    const { store, log } = this.parts
    const { name, startedAt, error } = run
    const hasFailed = error !== null
    const last = this.#recorded.get(name)
    const isRepeated = last !== undefined && !last.hasFailed && !hasFailed
    // The clock may have been set back.
    if (isRepeated && Math.abs(startedAt - last.at) < RECORD_INTERVAL_MS) return
    this.#recorded.set(name, { at: startedAt, hasFailed })
    await store
      .execute('relaxed', ({ sweepRuns }) => sweepRuns.record(run))
      .catch((cause: unknown) =>
        log.debug('the run of a sweep could not be recorded', { name, error: cause }),
      )
  }
}

export class SweepList {
  readonly #store: Store
  readonly #sweeps: readonly Sweep[]

  constructor(options: SweepParts, table: readonly Sweep[]) {
    this.#store = options.store
    this.#sweeps = table.filter((sweep) => sweep.isEnabled?.(options) ?? true)
  }

  get names(): string[] {
    return this.#sweeps.map(({ name }) => name)
  }

  async show(): Promise<AdminSweeps> {
    const runs = new Map((await this.#store.read.sweepRuns.list()).map((run) => [run.name, run]))
    return {
      sweeps: this.#sweeps.map(({ name, description, intervalSeconds }) => {
        const run = runs.get(name)
        return {
          ...{ name, description, intervalSeconds },
          lastRun: run ? describeRun(run) : null,
          failures: run?.failures ?? 0,
          failedAt: toIsoOrNull(run?.failedAt ?? null),
        }
      }),
    }
  }
}

function describeRun({ startedAt, durationMs, items, error }: SweepRun) {
  return { startedAt: toIso(startedAt), durationMs, items, error }
}
