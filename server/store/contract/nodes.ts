/** A process that serves, as it last reported itself. */
export interface NodeReport {
  id: string
  /** Name of its machine and its port. */
  host: string
  /** Version of the program. */
  release: string
  startedAt: number
  seenAt: number
  /** Metrics and gauges by their names; see `server/lib/metrics.ts`. */
  numbers: Readonly<Record<string, number>>
}

export interface NodeQueries {
  /** Stores the report of a node in place of its earlier one. */
  report(node: NodeReport): Promise<void>

  /** All nodes, the first started first. */
  list(): Promise<NodeReport[]>

  /** Idempotent. */
  remove(id: string): Promise<void>

  /** Removes nodes that were last seen before that time. */
  removeUnseen(before: number): Promise<void>
}
