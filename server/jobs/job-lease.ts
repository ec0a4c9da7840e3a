import { Component } from '../lib/component.ts'
import { MINUTE_MS } from '../lib/time.ts'
import { INDEPENDENT, type Store } from '../store/store.ts'
import type { Lease } from '../store/tables/nodes.ts'

interface JobLeaseOptions {
  store: Store
  clock: () => number
  name: string
  holder: string
  /** Interval between two runs over all nodes. */
  intervalMs: number
  signal?: AbortSignal
}

interface AcquiredLease extends JobLeaseOptions {
  lease: Lease
  startedAt: number
  durationMs: number
}

/** A node that crashed delays its job for this time. */
const MAX_DURATION_MS = MINUTE_MS

/** Runs of one job start at least this part of its interval apart. */
const MIN_INTERVAL_PART = 0.9

/** Another node has acquired the lease of a running job. */
export class LeaseLostError extends Error {
  constructor(name: string) {
    super(`another node holds the lease of ${name}`)
  }
}

/**
 * The lease of a running job: renewed until the job ends, and then kept until the next run is due, unless the job was
 * ended. `store` is the one for the job: no write succeeds in it after another node has acquired the lease, and neither a
 * read nor a write begins after the signal, so that the job ends at its next step.
 */
export class JobLease extends Component<AcquiredLease> implements AsyncDisposable {
  readonly store = this.#fence(this.parts.store)
  readonly startedAt = this.parts.startedAt
  #lease = this.parts.lease
  #timer: NodeJS.Timeout | undefined = this.#scheduleRenewal()

  /** Acquires the lease by one statement; returns that of the other node that holds it. */
  static async acquire(options: JobLeaseOptions): Promise<JobLease | Lease> {
    const { store, clock, name, holder, intervalMs } = options
    const now = clock()
    const durationMs = Math.min(MIN_INTERVAL_PART * intervalMs, MAX_DURATION_MS)
    const wanted = { name, holder, until: now + durationMs }
    const latest = now + Math.max(MAX_DURATION_MS, MIN_INTERVAL_PART * intervalMs)
    const lease = await store.execute('relaxed', ({ leases }) => leases.acquireOrFind(wanted, now, latest))
    return lease.holder === holder ? new JobLease({ ...options, lease, startedAt: now, durationMs }) : lease
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const { store, clock, intervalMs, signal } = this.parts
    const dueAt = signal?.aborted ? 0 : this.startedAt + MIN_INTERVAL_PART * intervalMs
    const until = Math.max(dueAt, clock())
    if (this.#lease.until !== until)
      await store.execute('relaxed', ({ leases }) => leases.extend({ ...this.#lease, until }))
  }

  #fence(store: Store): Store {
    const { signal } = this.parts
    const write: Store['write'] = async (durability, scope, work) => {
      signal?.throwIfAborted()
      return store.write(durability, scope, async (tx) => {
        if (!(await tx.leases.extend(this.#renewed()))) throw new LeaseLostError(this.#lease.name)
        return work(tx)
      })
    }
    return {
      ...store,
      get read() {
        signal?.throwIfAborted()
        return store.read
      },
      write,
      execute: (durability, statement) => write(durability, INDEPENDENT, statement),
    }
  }

  #renewed(): Lease {
    this.#lease = { ...this.#lease, until: this.parts.clock() + this.parts.durationMs }
    return this.#lease
  }

  #scheduleRenewal(): NodeJS.Timeout {
    return setTimeout(() => void this.#renew(), this.parts.durationMs / 3).unref()
  }

  /** After a failed renewal the next one may succeed; a lost lease stays lost. */
  async #renew(): Promise<void> {
    const lease = this.#renewed()
    const isHeld = await this.parts.store
      .execute('relaxed', ({ leases }) => leases.extend(lease))
      .catch(() => true)
    if (isHeld && this.#timer) this.#timer = this.#scheduleRenewal()
  }
}
