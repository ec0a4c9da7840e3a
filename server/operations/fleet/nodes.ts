import { Component } from '../../lib/component.ts'
import type { Incidents } from '../../lib/incidents.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { shareRunning } from '../../lib/share-result.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../lib/time.ts'
import { newId } from '../../lib/tokens.ts'
import type { Parts } from '../../parts.ts'
import type { NodeReport } from '../../store/tables/nodes.ts'
import type { FleetSettings } from './fleet-settings.ts'

type NodeReporterParts = Pick<Parts, 'store' | 'log'> & {
  metrics: Metrics
  incidents: Incidents
  settings?: FleetSettings
  host: string
  release: string
  intervalMs?: number
  /** The clock of the machine, in milliseconds since 1970. */
  machineClock?: () => number
}

const REPORT_INTERVAL_MS = 10_000

/** Of the machine: requests to S3 are valid for 15 minutes. Everything else uses the clock of the database. */
export const MAX_CLOCK_OFFSET_MS = 5 * MINUTE_MS

/** The part of it at which the incident ends. */
const ENDING_SHARE = 1 / 2

/** The operator lists all nodes with `slipway-server nodes`. */
export class NodeReporter extends Component<NodeReporterParts> implements AsyncDisposable {
  readonly #startedAt = this.parts.store.clock()
  readonly #id = newId(this.#startedAt)
  readonly #timer: NodeJS.Timeout
  #reporting: Promise<void>
  #silent: string[] = []
  #different: string[] = []
  /** When a report of this node last failed, by the clock of the store: then the others could not report either. */
  #failedAt = 0
  /** By the clock of the store. */
  #fullAt: number | undefined
  #isReplaceable = false

  constructor(parts: NodeReporterParts) {
    super(parts)
    const { store, incidents, intervalMs = REPORT_INTERVAL_MS, machineClock = Date.now } = parts
    // Disposal waits for the only report in progress.
    const report = shareRunning(() => this.#report())
    this.#reporting = report()
    this.#timer = setInterval(() => {
      this.#reporting = report()
    }, intervalMs).unref()
    incidents.watch('node-silent', () =>
      this.#silent.length > 0 ? { nodes: this.#silent.join(', ') } : undefined,
    )
    incidents.watch('settings-differ', () =>
      this.#different.length > 0 ? { settings: this.#different.join(', ') } : undefined,
    )
    incidents.watch('clock-differs', (isActive) => {
      const offsetMs = machineClock() - store.clock()
      const isOver = Math.abs(offsetMs) <= MAX_CLOCK_OFFSET_MS * (isActive ? ENDING_SHARE : 1)
      return isOver ? undefined : { secondsAhead: Math.round(offsetMs / SECOND_MS) }
    })
  }

  /**
   * Whether another node can receive what this one refuses because its disk is full. It has reported that since then:
   * of several disks that become full, the last one never makes its node replaceable.
   */
  get isReplaceable(): boolean {
    return this.#isReplaceable
  }

  /** A process that ends without this stays in the list until one of its host runs again, or for a day. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#reporting
    await this.parts.store
      .execute('relaxed', ({ rows }) => rows.remove('nodes', { id: this.#id }))
      .catch(() => undefined)
  }

  async #report(): Promise<void> {
    const { store, metrics, log, host, release } = this.parts
    const node = { id: this.#id, host, release, startedAt: this.#startedAt, seenAt: store.clock() }
    const numbers = metrics.read()
    this.#fullAt = isDiskFull(numbers) ? (this.#fullAt ?? node.seenAt) : undefined
    try {
      await store.execute('relaxed', ({ rows }) => rows.put('nodes', { ...node, numbers }))
      const nodes = await store.read.nodes.list()
      this.#silent = listSilent(nodes, { now: store.clock(), since: this.#failedAt })
      this.#isReplaceable = nodes.some((other) => this.#canReplace(other))
      this.#different = await this.#compareSettings(nodes)
      for (const { id } of nodes.filter((other) => this.#hasEnded(other)))
        await store.execute('relaxed', ({ rows }) => rows.remove('nodes', { id }))
    } catch (error) {
      this.#isReplaceable = false
      this.#failedAt = store.clock()
      log.debug('this node could not report itself', { error })
    }
  }

  /** With the running node that started last, and after its stop the one before. `nodes` by their start. */
  async #compareSettings(nodes: readonly NodeReport[]): Promise<string[]> {
    const { store, settings } = this.parts
    if (!settings) return []
    const different = settings.findDifferent(await store.read.sharedSettings.list())
    const later = nodes.slice(nodes.findIndex(({ id }) => id === this.#id) + 1)
    const isRunning = ({ seenAt }: NodeReport) =>
      !isSilent({ seenAt: Math.max(seenAt, this.#failedAt) }, store.clock())
    if (different.length === 0 || later.some(isRunning)) return different
    await settings.store(store)
    return []
  }

  /** Killed a day ago, or before one of its host reported itself: one that did not end adds itself again. */
  #hasEnded({ host, seenAt }: NodeReport): boolean {
    const now = this.parts.store.clock()
    const isOld = seenAt < now - DAY_MS
    return isOld || (host === this.parts.host && isSilent({ seenAt: Math.max(seenAt, this.#failedAt) }, now))
  }

  /** Processes of one machine have the same disk. */
  #canReplace(other: NodeReport): boolean {
    if (this.#fullAt === undefined || isSilent(other, this.parts.store.clock())) return false
    if (machineOf(other.host) === machineOf(this.parts.host)) return false
    return other.seenAt >= this.#fullAt && !isDiskFull(other.numbers)
  }
}

/** A host has the port of the service. */
function machineOf(host: string): string {
  return host.replace(/:\d+$/, '')
}

function isDiskFull(numbers: NodeReport['numbers']): boolean {
  return numbers['slipway_incident{incident="disk-below-reserve"}'] === 1
}

/** A node reports itself every ten seconds. */
export const SILENT_MS = 30 * SECOND_MS

export function isSilent({ seenAt }: Pick<NodeReport, 'seenAt'>, now: number): boolean {
  return now - seenAt > SILENT_MS
}

/** The hosts of which no process reports itself any more, in order; all could do so from `since` on. */
function listSilent(nodes: readonly NodeReport[], times: { now: number; since: number }): string[] {
  const { now, since } = times
  const isReporting = (node: NodeReport) => !isSilent({ seenAt: Math.max(node.seenAt, since) }, now)
  const reporting = new Set(nodes.filter(isReporting).map(({ host }) => host))
  const hosts = new Set(nodes.map(({ host }) => host))
  return [...hosts.difference(reporting)].sort()
}

export function formatNodes(nodes: readonly NodeReport[], now: number): string[] {
  const hosts = Math.max(4, ...nodes.map(({ host }) => host.length))
  const releases = Math.max(7, ...nodes.map(({ release }) => release.length))
  const row = (cells: readonly [string, string, string, string, string]) => {
    const [host, release, started, seen, behind] = cells
    return `${host.padEnd(hosts)}  ${release.padEnd(releases)}  ${started.padEnd(10)}  ${seen.padEnd(19)}  ${behind}`
  }
  return [
    row(['NODE', 'RELEASE', 'RUNS FOR', 'LAST REPORT', 'BEHIND']),
    ...nodes.flatMap((node) => {
      const { host, release, startedAt, seenAt, numbers } = node
      const seen = `${formatAge(now - seenAt)} ago${isSilent(node, now) ? ' (silent)' : ''}`
      const lag = numbers.slipway_store_feed_lag_seconds
      const behind = lag === undefined ? '-' : `${lag.toFixed(1)} s`
      const values = Object.entries(numbers).filter(([, value]) => value !== 0)
      return [
        row([host, release, formatAge(seenAt - startedAt), seen, behind]),
        ...values.map(([name, value]) => `  ${name} ${value}`),
      ]
    }),
  ]
}

/** "42 s", "17 min", "5 h", "12 d": rounded down. */
function formatAge(milliseconds: number): string {
  const minutes = Math.floor(Math.max(0, milliseconds) / MINUTE_MS)
  if (minutes === 0) return `${Math.floor(Math.max(0, milliseconds) / SECOND_MS)} s`
  if (minutes < 60) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / (24 * 60))} d`
}
