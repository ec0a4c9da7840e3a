import { Component } from '../../lib/component.ts'

/** What a connection is used for, by how long it may be: a durable transaction may wait for a standby. */
export type Use = 'read' | 'statement' | 'transaction' | 'durable'

/** Connections that are kept for uses that take less time. */
const KEPT_CONNECTIONS: Readonly<Record<Use, number>> = { read: 0, statement: 2, transaction: 3, durable: 4 }

/** The uses that each counts against: a durable transaction is also a transaction, and so on. */
const USES: readonly Use[] = ['read', 'statement', 'transaction', 'durable']

/** How much of the mean is the last use. */
const MEAN_SHARE = 1 / 16

interface ConnectionUsesParts {
  maxConnections: number
  /** A clock in milliseconds that is never set. */
  clock: () => number
}

export class ConnectionUses extends Component<ConnectionUsesParts> {
  readonly #used: Record<Use, number> = { read: 0, statement: 0, transaction: 0, durable: 0 }
  /** Zero at first, so that no single use decides. */
  readonly #meanMs: Record<Use, number> = { read: 0, statement: 0, transaction: 0, durable: 0 }

  /** Whether a connection is left for this use: each counts against those that take less time, too. */
  mayBegin(use: Use): boolean {
    let used = 0
    return USES.toReversed().every((each) => {
      used += this.#used[each]
      return USES.indexOf(each) > USES.indexOf(use) || used < this.#getLimit(each)
    })
  }

  /** Begins a use; returns its end. The time of one that waits for a standby says nothing about the next. */
  begin(use: Use): (isTypical: boolean) => void {
    this.#used[use]++
    const startedAt = this.parts.clock()
    return (isTypical) => {
      this.#used[use]--
      const heldMs = this.parts.clock() - startedAt
      if (isTypical) this.#meanMs[use] += MEAN_SHARE * (heldMs - this.#meanMs[use])
    }
  }

  estimateWaitMs(use: Use, waiting: number): number {
    return (waiting * this.#meanMs[use]) / this.#getLimit(use)
  }

  #getLimit(use: Use): number {
    return Math.max(1, this.parts.maxConnections - KEPT_CONNECTIONS[use])
  }
}
