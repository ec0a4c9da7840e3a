import { type EntityOf, integer, json, Table, text } from '../table.ts'

/** A process that serves, as it last reported itself. */
export const nodeTable = new Table({
  id: text,
  /** Name of its machine and its port. */
  host: text,
  release: text,
  startedAt: integer,
  seenAt: integer,
  /** Metrics and gauges by their names; see `server/lib/metrics.ts`. */
  numbers: json<Readonly<Record<string, number>>>(),
})

export type NodeReport = EntityOf<typeof nodeTable>
