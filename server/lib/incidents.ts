import { Component } from './component.ts'
import type { Log, LogFields } from './log.ts'
import type { Metrics } from './metrics.ts'
import { SECOND_MS } from './time.ts'

interface Incident {
  level: 'warn' | 'error'
  /** The line of the log when it begins, or happens. */
  began: string
  /** The line when a state has ended; absent for an event. */
  ended?: string
}

/** What an operator has to know. docs/incidents.md has the alert of each, and what to do. */
export const INCIDENTS = {
  'database-unreachable': {
    level: 'error',
    began: 'the database is unreachable: cached sites are served, publishing waits for it',
    ended: 'the database is reachable again',
  },
  'database-read-only': {
    level: 'error',
    began: 'the database is read-only: publishing and sign-in fail',
    ended: 'the database accepts changes again',
  },
  'database-full': {
    level: 'error',
    began: 'the disk of the database is full: publishing is refused',
    ended: 'the disk of the database has space again',
  },
  'primary-changed': { level: 'warn', began: 'another host is the primary of the database' },
  'database-busy': {
    level: 'warn',
    began: 'requests got no connection to the database in time',
    ended: 'requests get connections to the database in time again',
  },
  'commits-hang': {
    level: 'error',
    began:
      'the database does not confirm commits, as when its standby or its disk does not answer: publishing is refused',
    ended: 'the database confirms commits again',
  },
  'changes-unheard': {
    level: 'warn',
    began: 'changes of other nodes are not heard: cached sites are checked before they are served',
    ended: 'changes of other nodes are heard again',
  },
  'serving-stale': {
    level: 'warn',
    began: 'cached sites are served although changes may have been missed',
    ended: 'cached sites are current again',
  },
  'bucket-unreachable': {
    level: 'error',
    began: 'the bucket is unreachable: cached files are served, publishing fails',
    ended: 'the bucket works again',
  },
  'bucket-hangs': {
    level: 'error',
    began: 'the bucket does not answer requests: cached files are served, others and publishing are refused',
    ended: 'the bucket answers requests again',
  },
  'bucket-throttles': {
    level: 'warn',
    began: 'the bucket refuses requests because there are too many',
    ended: 'the bucket accepts all requests again',
  },
  'storage-fails': {
    level: 'error',
    began: 'the data folder cannot be read or written: publishing is stopped',
    ended: 'the data folder can be read and written again',
  },
  'disk-below-reserve': {
    level: 'error',
    began: 'the disk has less free space than SLIPWAY_DISK_RESERVE: publishing to it is refused',
    ended: 'the disk has more free space than SLIPWAY_DISK_RESERVE again',
  },
  'lookups-fail': {
    level: 'warn',
    began: 'DNS lookups of this server fail: custom domains cannot be verified',
    ended: 'DNS lookups of this server succeed again',
  },
  'ca-unreachable': {
    level: 'warn',
    began: 'the certificate authority does not answer: no certificates are issued',
    ended: 'the certificate authority answers again',
  },
  'descriptors-short': {
    level: 'error',
    began: 'file descriptors run short: new connections will be closed',
    ended: 'there are enough file descriptors again',
  },
  'node-silent': {
    level: 'error',
    began: 'other nodes do not report themselves any more',
    ended: 'all nodes report themselves again, or have been stopped',
  },
  'settings-differ': {
    level: 'warn',
    began: 'this node and the one that started last have different settings',
    ended: 'the nodes have the same settings again',
  },
  'clock-differs': {
    level: 'error',
    began: 'the clock of this machine and that of the database differ',
    ended: 'the two clocks agree again',
  },
} as const satisfies Record<string, Incident>

export type IncidentName = keyof typeof INCIDENTS

export type StateName = {
  [Name in IncidentName]: (typeof INCIDENTS)[Name] extends { ended: string } ? Name : never
}[IncidentName]

type EventName = Exclude<IncidentName, StateName>

/** Fields of its line while the incident lasts. `isActive` is the last reading, so that limits can have hysteresis. */
export type ReadState = (isActive: boolean) => LogFields | undefined | Promise<LogFields | undefined>

interface Watched {
  read: ReadState
  isReading: boolean
  active: { since: Date; startedAt: number; fields: LogFields } | undefined
}

const INTERVAL_MS = SECOND_MS

/** Reads whether a count grows, or has grown in one of the last `readings`. */
export function watchGrowth(read: () => number, readings = 10): () => boolean {
  let [seen, quiet] = [0, readings]
  return () => {
    const count = read()
    quiet = count > seen ? 0 : quiet + 1
    seen = count
    return quiet < readings
  }
}

/** Tells the operator when a state begins and ends, and of events: one line of the log each, and the metrics. */
export class Incidents extends Component<{ log: Log; metrics: Metrics }> implements Disposable {
  readonly #watched = new Map<StateName, Watched>()
  #timer: NodeJS.Timeout | undefined

  constructor(parts: { log: Log; metrics: Metrics }) {
    super(parts)
    // From zero: Prometheus does not see the increase of a counter that begins with 1.
    for (const incident of Object.keys(INCIDENTS))
      parts.metrics.counter('slipway_incidents_total', { incident })
  }

  start(): void {
    this.#timer = setInterval(() => void this.check(), INTERVAL_MS).unref()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  /** A reading that rejects changes nothing. */
  watch(name: StateName, read: ReadState): void {
    const watched: Watched = { read, isReading: false, active: undefined }
    this.#watched.set(name, watched)
    this.parts.metrics.addRead('slipway_incident', () => (watched.active ? 1 : 0), { incident: name })
  }

  report(name: EventName, fields: LogFields): void {
    this.#begin(name, fields)
  }

  async check(): Promise<void> {
    await Promise.all([...this.#watched].map(([name, watched]) => this.#read(name, watched)))
  }

  async #read(name: StateName, watched: Watched): Promise<void> {
    if (watched.isReading) return
    watched.isReading = true
    try {
      const fields = await watched.read(watched.active !== undefined)
      this.#accept(name, watched, fields)
    } catch {
      // Whether the incident lasts is not known.
    } finally {
      watched.isReading = false
    }
  }

  #accept(name: StateName, watched: Watched, fields: LogFields | undefined): void {
    const { active } = watched
    if (fields && active) active.fields = fields
    else if (fields) {
      watched.active = { since: new Date(), startedAt: performance.now(), fields }
      this.#begin(name, fields)
    } else if (active) {
      watched.active = undefined
      const seconds = Math.round((performance.now() - active.startedAt) / 100) / 10
      const { since } = active
      this.parts.log.info(INCIDENTS[name].ended, { incident: name, since, seconds, ...active.fields })
    }
  }

  #begin(name: IncidentName, fields: LogFields): void {
    const { level, began } = INCIDENTS[name]
    this.parts.metrics.counter('slipway_incidents_total', { incident: name }).add()
    this.parts.log[level](began, { incident: name, ...fields })
  }
}
