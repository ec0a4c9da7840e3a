import { setTimeout as pause } from 'node:timers/promises'
import { epochMs } from '../publishing/history.ts'
import type { Fleet } from './fleet.ts'
import type { Report } from './report.ts'

const INTERVAL_MS = 200

/** The time-out of a poll for changes is 700 ms: a database that takes this long to answer may miss it. */
const MAX_LATENCY_MS = 350

/**
 * Measures whether the machine runs the fleet in time: PostgreSQL and this process, which gets as much CPU as a node. A
 * node that gets no CPU for a second cannot notice a change within a second.
 */
export async function monitorOverload(fleet: Fleet, report: Report, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const startedAt = epochMs()
    await pause(INTERVAL_MS)
    const delayMs = epochMs() - startedAt - INTERVAL_MS
    const isAnswered = await fleet.queryPrimary().then(
      () => true,
      () => false,
    )
    // Without an answer there is a fault, which the fleet knows.
    const latencyMs = isAnswered ? epochMs() - startedAt - INTERVAL_MS : delayMs
    if (latencyMs < MAX_LATENCY_MS) continue
    report.count('times that the machine was overloaded')
    report.max('longest delay by overload, ms', latencyMs)
    fleet.overload.begin(startedAt - latencyMs)
    fleet.overload.end()
  }
}
