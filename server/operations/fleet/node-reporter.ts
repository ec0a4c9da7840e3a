import type { Incidents } from '../../lib/incidents.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { DAY_MS } from '../../lib/time.ts'
import { newId } from '../../lib/tokens.ts'
import type { Parts } from '../../parts.ts'
import type { NodeReport } from '../../store/tables/nodes.ts'
import type { FleetSettings } from './fleet-settings.ts'
import { isSilent, listSilent, SILENT_MS } from './node-list.ts'

type NodeReporterParts = Pick<Parts, 'store' | 'log'> & {
  metrics: Metrics
  incidents: Incidents
  settings?: FleetSettings
  host: string
  release: string
  intervalMs?: number
}

const REPORT_INTERVAL_MS = 10_000

/** The operator lists all nodes with `slipway-server nodes`. */
export class NodeReporter implements AsyncDisposable {
  readonly #parts: NodeReporterParts
  readonly #id: string
  readonly #startedAt: number
  readonly #timer: NodeJS.Timeout
  #reporting: Promise<void>
  #silent: string[] = []
  /** When a report of this node last failed, by the clock of the store: then the others could not report either. */
  #failedAt = 0
  /** By the clock of the store. */
  #fullAt: number | undefined
  #isReplaceable = false

  constructor(parts: NodeReporterParts) {
    const { store, incidents, intervalMs = REPORT_INTERVAL_MS } = parts
    this.#parts = parts
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

  /**
   * Whether another node can receive what this one refuses because its disk is full. It has reported that since then:
   * of several disks that become full, the last one never makes its node replaceable.
   */
  get isReplaceable(): boolean {
    return this.#isReplaceable
  }

  /** A process that ends without this stays in the list until one of its host ends, or another starts a day later. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#reporting
    const { store, host } = this.#parts
    const before = store.clock() - SILENT_MS
    await store.execute('relaxed', ({ nodes }) => nodes.remove(this.#id)).catch(() => undefined)
    // Otherwise the host, which was restarted, would be silent while it is restarted again.
    await store.execute('relaxed', ({ nodes }) => nodes.removeUnseen(before, host)).catch(() => undefined)
  }

  async #begin(): Promise<void> {
    const { store } = this.#parts
    const before = this.#startedAt - DAY_MS
    await store.execute('relaxed', ({ nodes }) => nodes.removeUnseen(before)).catch(() => undefined)
    await this.#report()
  }

  async #report(): Promise<void> {
    const { store, metrics, settings, log, host, release } = this.#parts
    const node = { id: this.#id, host, release, startedAt: this.#startedAt, seenAt: store.clock() }
    const numbers = metrics.read()
    this.#fullAt = isDiskFull(numbers) ? (this.#fullAt ?? node.seenAt) : undefined
    try {
      await store.execute('relaxed', ({ nodes }) => nodes.report({ ...node, numbers }))
      await settings?.warn(store, log)
      const nodes = await store.read.nodes.list()
      this.#silent = listSilent(nodes, { now: store.clock(), since: this.#failedAt })
      this.#isReplaceable = nodes.some((other) => this.#canReplace(other))
    } catch (error) {
      this.#isReplaceable = false
      this.#failedAt = store.clock()
      log.debug('this node could not report itself', { error })
    }
  }

  #canReplace(other: NodeReport): boolean {
    if (this.#fullAt === undefined || isSilent(other, this.#parts.store.clock())) return false
    return other.seenAt >= this.#fullAt && !isDiskFull(other.numbers)
  }
}

function isDiskFull(numbers: NodeReport['numbers']): boolean {
  return numbers['slipway_incident{incident="disk-below-reserve"}'] === 1
}
