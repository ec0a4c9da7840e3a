import { setTimeout as pause } from 'node:timers/promises'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import type { History } from '../publishing/history.ts'
import { Publisher } from '../publishing/publisher.ts'
import type { Random } from '../support/random.ts'
import type { Fleet } from './fleet.ts'
import type { Report } from './report.ts'

/** What is published to a fleet, what visitors see, and what is reported. */
export interface FleetRun {
  fleet: Fleet
  history: History
  report: Report
}

const MAX_SITES = 6
const MAX_REQUEST_MS = 15_000
const MAX_PAUSE_MS = 120

/** Publishes to a fleet with the key of an account, and reports each failure that no client can repeat. */
export function createPublisher({
  fleet,
  history,
  report,
  key,
  random,
}: FleetRun & { key: string; random: Random }) {
  return new Publisher({
    client: fleet.client(),
    maxRequestMs: MAX_REQUEST_MS,
    history,
    random,
    account: { email: 'owner@example.test', key },
    // Others change what is cached of a site, not what its visitors see, so that it is warm no more.
    actions: ['update', 'archive', 'restore', 'claim', 'delete'],
    maxSites: MAX_SITES,
    timeToExpiry: MAX_REQUEST_MS,
    onDone(name, milliseconds) {
      report.count(`${name}: acknowledged`)
      report.max(`${name}: longest, ms`, milliseconds)
    },
    onError(error, name, milliseconds) {
      report.count(`${name}: ${isSlipwayError(error) ? error.code : error}`)
      report.max(`${name}: longest until it failed, ms`, milliseconds)
      if (!isTemporary(error) && !isTooLate(error, name)) report.violation(`${name}: ${error}`)
    },
  })
}

export async function publishUntil(signal: AbortSignal, publisher: Publisher, random: Random): Promise<void> {
  while (!signal.aborted) {
    await publisher.step()
    await pause(random.below(MAX_PAUSE_MS))
  }
}

/** Whether a new site without an account expired while it was published. */
function isTooLate(error: unknown, name: string): boolean {
  return name === 'publish' && isSlipwayError(error, 'SITE_EXPIRED')
}

/** Whether the service, or the network, says that it can be tried again. */
function isTemporary(error: unknown): boolean {
  return (error as Error).name === 'TimeoutError' || isSlipwayError(error, 'UNAVAILABLE', 'NETWORK')
}
