import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../support/random.ts'
import type { Fleet } from './fleet.ts'
import type { FleetNode } from './fleet-node.ts'
import { measureRecovery } from './publishing-probe.ts'
import type { Report } from './report.ts'

const UPDATED = 'update: acknowledged'
const UPDATE_INTERVAL_MS = 50

interface FaultsOptions {
  fleet: Fleet
  random: Random
  report: Report
  /** Time between two faults. */
  pauseMs: number
  rounds: number
  kinds: FaultKinds
}

/** Faults of all parts, or of the database only. */
export type FaultKinds = 'all' | 'failovers'

const FAULTS = {
  all: [killNode, stopNode, cutOffNode, failOver],
  failovers: [failOver],
}

/**
 * Kills and stops nodes, cuts them off from their database, and lets the database fail over: one at a time, each kind once
 * before any of them again. Resolves after `rounds` of all kinds, or when the signal is aborted.
 */
export async function causeFaults(options: FaultsOptions, signal: AbortSignal): Promise<void> {
  const { fleet, random, report, pauseMs, rounds, kinds } = options
  const faults = [...FAULTS[kinds]]
  if (kinds === 'all' && fleet.bucket) faults.push(cutOffStorage)
  for (let round = 0; round < rounds; round++) {
    for (const fault of random.shuffle(faults)) {
      await pause(pauseMs, undefined, { signal }).catch(() => undefined)
      await untilUpdated(report, signal)
      if (signal.aborted) return
      report.count(`faults: ${fault.name}`)
      await fault({ fleet, node: random.pick(fleet.nodes), random, report })
    }
  }
  await untilUpdated(report, signal)
}

/** Resolves when a site has been updated since the call: a fault without a load proves nothing. */
async function untilUpdated({ counts }: Report, signal: AbortSignal): Promise<void> {
  const before = counts.get(UPDATED)
  while (counts.get(UPDATED) === before && !signal.aborted) await pause(UPDATE_INTERVAL_MS)
}

interface Fault {
  fleet: Fleet
  node: FleetNode
  random: Random
  report: Report
}

async function killNode({ node, random, report }: Fault): Promise<void> {
  report.event(`kill -9 of ${node.name}`)
  await node.kill()
  await pause(random.below(2000))
  await node.start()
  report.event(`${node.name} is ready`)
}

async function stopNode({ node, report }: Fault): Promise<void> {
  report.event(`SIGTERM to ${node.name}`)
  await node.stop()
  await node.start()
  report.event(`${node.name} is ready`)
}

/** Silent as a network that loses packets, or with connections that are reset. */
async function cutOffNode({ node, random, report }: Fault): Promise<void> {
  const isSilent = random.chance(0.5)
  report.event(`${node.name} cut off from its database, ${isSilent ? 'silently' : 'with resets'}`)
  node.cutOff.begin()
  for (const proxy of node.databases) {
    proxy.stop()
    if (!isSilent) proxy.reset()
  }
  await pause(random.between(500, 5000))
  for (const proxy of node.databases) proxy.resume()
  node.cutOff.end()
  report.event(`${node.name} has its database`)
}

async function cutOffStorage({ fleet, random, report }: Fault): Promise<void> {
  const bucket = fleet.bucket!
  report.event('the bucket is cut off from all nodes')
  bucket.stop()
  if (random.chance(0.5)) bucket.reset()
  await pause(random.between(500, 3000))
  bucket.resume()
  report.event('the bucket is back')
}

async function failOver({ fleet, random, report }: Fault): Promise<void> {
  report.event('the primary is killed')
  await fleet.failOver({
    beforePromotion: () => pause(random.below(2000)),
    afterPromotion: () => measureRecovery(fleet, report),
  })
  report.event('the former standby is the primary, with a new standby')
}
