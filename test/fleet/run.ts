import { setTimeout as pause } from 'node:timers/promises'
import type { Settings } from '../operator/program.ts'
import { History } from '../publishing/history.ts'
import { SiteVisitor } from '../publishing/site-visitor.ts'
import { StateVerifier } from '../publishing/verifier.ts'
import { Random } from '../support/random.ts'
import { causeFaults, type FaultKinds } from './faults.ts'
import { Fleet, type Storage } from './fleet.ts'
import { monitorOverload } from './overload-monitor.ts'
import { createPublisher, type FleetRun, publishUntil } from './publishing.ts'
import { Report } from './report.ts'
import { Visitor } from './visitor.ts'

interface RunOptions {
  /** The end of the run: a time, or the number of times that all faults come. */
  seconds?: number
  rounds?: number
  seed: number
  nodes: number
  storage: Storage
  publishers: number
  visitors: number
  /** Between two faults. */
  pauseMs: number
  /** All by default. */
  faults?: FaultKinds
  log?: (line: string) => void
}

/** Anonymous sites expire within a run. */
const SETTINGS: Settings = {
  ANONYMOUS_LIFETIME: '40s',
  TRASH_LIFETIME: '0',
  BLOB_GRACE: '60s',
}

/** Time in which every node has noticed all changes after the last fault. */
const SETTLE_MS = 5000

/** Publishes to a fleet and visits it while faults come, then checks that every node has all that was acknowledged. */
export async function runFleet(options: RunOptions): Promise<Report> {
  const { seconds, rounds = Number.POSITIVE_INFINITY, pauseMs, seed, log, faults: kinds = 'all' } = options
  const report = new Report(log)
  const random = new Random(seed)
  await using fleet = await Fleet.open({ ...options, settings: SETTINGS })
  await fleet.startNodes()
  report.event(`${options.nodes} nodes are ready`)
  const key = await fleet.signIn('owner@example.test')
  const history = new History()
  const parts = { fleet, history, report }
  const publishers = Array.from({ length: options.publishers }, () =>
    createPublisher({ ...parts, key, random: random.fork() }),
  )
  const visitors = Array.from(
    { length: options.visitors },
    () => new Visitor({ ...parts, random: random.fork() }),
  )
  const stop = new AbortController()
  const faults = causeFaults({ fleet, report, random: random.fork(), pauseMs, rounds, kinds }, stop.signal)
  const loads = [
    ...publishers.map((one) => publishUntil(stop.signal, one, random.fork())),
    ...visitors.map((one) => one.run(stop.signal)),
  ]
  const ended = Promise.all([faults, monitorOverload(fleet, report, stop.signal), ...loads])
  await Promise.race([faults, ...loads, ...(seconds === undefined ? [] : [pause(seconds * 1000)])])
  stop.abort()
  await ended
  await pause(SETTLE_MS)
  report.event('checking that nothing is lost')
  await checkAll(parts, key)
  return report
}

/**
 * Visits of hundreds of sites that were deleted exceed the limit of lookups of unknown names, until the service says that
 * more are possible.
 */
const MAX_REPEATS = 60

/** Every site has its acknowledged content on every node, and the account has its sites. */
async function checkAll({ fleet, history, report }: FleetRun, key: string): Promise<void> {
  const client = fleet.client()
  const sites = [...history.sites.values()]
  for (const { name, port, agent } of fleet.nodes) {
    using visitor = new SiteVisitor(port, { agent, maxRepeats: MAX_REPEATS })
    const faults = await new StateVerifier({ history, client, visitor }).verifySites(sites)
    for (const fault of faults) report.violation(`at ${name}: ${fault}`)
  }
  const listed = new Set<string>()
  for await (const { slug } of fleet.client(key).sites()) listed.add(slug)
  for (const { slug, email, isUnknown, isLive, isDeleted } of sites)
    if (email && !isUnknown && (isLive || isDeleted) && isDeleted === listed.has(slug))
      report.violation(`${slug} is ${isDeleted ? '' : 'not '}in the list of its account`)
  report.max('sites', sites.length)
}
