import type { Incidents } from '../../lib/incidents.ts'
import type { Log } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { DAY_MS } from '../../lib/time.ts'
import { newId } from '../../lib/tokens.ts'
import type { Store } from '../../store/store.ts'
import type { FleetSettings } from './fleet-settings.ts'
import { listSilent } from './node-list.ts'

interface NodeReporterOptions {
  store: Store
  metrics: Metrics
  incidents: Incidents
  settings?: FleetSettings
  log: Log
  host: string
  release: string
  intervalMs?: number
}

const REPORT_INTERVAL_MS = 10_000

/** Reports this process to the operator, who lists all nodes with `slipway-server nodes`. */
export class NodeReporter implements AsyncDisposable {
  readonly #options: NodeReporterOptions
  readonly #id: string
  readonly #startedAt: number
  readonly #timer: NodeJS.Timeout
  #reporting: Promise<void>
  #silent: string[] = []

  constructor(options: NodeReporterOptions) {
    const { store, incidents, intervalMs = REPORT_INTERVAL_MS } = options
    this.#options = options
    this.#startedAt = store.clock()
    this.#id = newId(this.#startedAt)
    this.#reporting = this.#begin()
    this.#timer = setInterval(() => {
      this.#reporting = this.#report()
    }, intervalMs)
    this.#timer.unref()
    incidents.watch('node-silent', () =>
      this.#silent.length > 0 ? { nodes: this.#silent.join(', ') } : undefined,
    )
  }

  /** A node that ends without this stays in the list until another one starts a day later. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#reporting
    const { store } = this.#options
    await store.execute('relaxed', ({ nodes }) => nodes.remove(this.#id)).catch(() => undefined)
  }

  async #begin(): Promise<void> {
    const { store } = this.#options
    const before = this.#startedAt - DAY_MS
    await store.execute('relaxed', ({ nodes }) => nodes.removeUnseen(before)).catch(() => undefined)
    await this.#report()
  }

  async #report(): Promise<void> {
    const { store, metrics, settings, log, host, release } = this.#options
    const node = { id: this.#id, host, release, startedAt: this.#startedAt, seenAt: store.clock() }
    try {
      await store.execute('relaxed', ({ nodes }) => nodes.report({ ...node, numbers: metrics.read() }))
      await settings?.warn(store, log)
      this.#silent = listSilent(await store.read.nodes.list(), store.clock())
    } catch (error) {
      log.debug('this node could not report itself', { error })
    }
  }
}
