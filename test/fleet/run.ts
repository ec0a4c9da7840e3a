import { setTimeout as pause } from 'node:timers/promises'
import type { Settings } from '../operator/program.ts'
import { Random } from '../support/random.ts'
import { causeFaults, type FaultKinds } from './faults.ts'
import { Fleet, type Storage } from './fleet.ts'
import { monitorOverload } from './overload-monitor.ts'
import { PublishingClient } from './publishing-client.ts'
import { Report } from './report.ts'
import { PATHS } from './site-files.ts'
import type { SiteHistory } from './site-history.ts'
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
  const sites: SiteHistory[] = []
  let contents = 0
  const nextContent = () => ++contents
  const parts = { fleet, sites, report }
  const publishers = Array.from(
    { length: options.publishers },
    () => new PublishingClient({ ...parts, key, random: random.fork(), nextContent }),
  )
  const visitors = Array.from(
    { length: options.visitors },
    () => new Visitor({ ...parts, random: random.fork() }),
  )
  const stop = new AbortController()
  const faults = causeFaults({ fleet, report, random: random.fork(), pauseMs, rounds, kinds }, stop.signal)
  const loads = [...publishers, ...visitors].map((one) => one.run(stop.signal))
  const ended = Promise.all([faults, monitorOverload(fleet, report, stop.signal), ...loads])
  await Promise.race([faults, ...loads, ...(seconds === undefined ? [] : [pause(seconds * 1000)])])
  stop.abort()
  await ended
  await pause(SETTLE_MS)
  report.event('checking that nothing is lost')
  await checkAll({ fleet, sites, report, key })
  return report
}

/** Every site has its acknowledged content on every node, and the account has its sites. */
async function checkAll(run: {
  fleet: Fleet
  sites: readonly SiteHistory[]
  report: Report
  key: string
}): Promise<void> {
  const { fleet, sites, report } = run
  const visitor = new Visitor({ ...run, random: new Random(0) })
  for (const site of sites) {
    const seen = new Set<unknown>()
    for (const node of fleet.nodes)
      for (const path of PATHS) {
        const outcome = await visitor.visit(site, path, node)
        if ('error' in outcome || outcome.status >= 500)
          report.violation(
            `${site.slug}${path} cannot be visited at ${node.name} after the last fault: ${JSON.stringify(outcome)}`,
          )
        else seen.add(outcome.content)
      }
    if (seen.size > 1 && !site.isExpired()) report.violation(`${site.slug} differs: ${[...seen].join(', ')}`)
  }
  const listed = new Set<string>()
  for await (const { slug } of fleet.client(run.key).sites()) listed.add(slug)
  for (const site of sites) {
    const isOwned = site.claimToken === undefined && !site.isUnknown
    if (isOwned && !site.mayBeDeleted && site.isDeleted === listed.has(site.slug))
      report.violation(`${site.slug} is ${site.isDeleted ? '' : 'not '}in the list of its account`)
  }
  report.max('sites', sites.length)
}
