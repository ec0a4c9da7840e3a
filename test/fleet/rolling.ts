import { setImmediate as turn } from 'node:timers/promises'
import { INDEX } from '../publishing/content.ts'
import { History } from '../publishing/history.ts'
import { Random } from '../support/random.ts'
import { Fleet, type Storage } from './fleet.ts'
import { createNextRelease } from './next-release.ts'
import { monitorOverload } from './overload-monitor.ts'
import { createPublisher, publishUntil } from './publishing.ts'
import { Report } from './report.ts'
import { Visitor } from './visitor.ts'

interface RollingOptions {
  seed: number
  nodes: number
  storage: Storage
  /** Ends after so many visits, and after the last restart. */
  visits: number
  visitors: number
  log?: (line: string) => void
}

/**
 * Restarts all nodes one by one under load, then upgrades them one by one to a release with one more migration. No visit
 * and no publish may fail.
 */
export async function runRollingRestart(options: RollingOptions): Promise<Report> {
  const report = new Report(options.log)
  const random = new Random(options.seed)
  await using release = await createNextRelease()
  await using fleet = await Fleet.open(options)
  await fleet.startNodes()
  const key = await fleet.signIn('owner@example.test')
  report.event(`${options.nodes} nodes are ready`)
  const history = new History()
  const parts = { fleet, history, report }
  const publisher = createPublisher({ ...parts, key, random: random.fork() })
  const restarts = new AbortController()
  const failed = new AbortController()
  const publishing = publishUntil(restarts.signal, publisher, random.fork())
  let visits = 0
  const visit = async () => {
    const visitor = new Visitor({ ...parts, random: random.fork() })
    while (!failed.signal.aborted && (visits < options.visits || !restarts.signal.aborted)) {
      const sites = [...history.sites.values()]
      if (sites.length > 0) {
        visits++
        await visitor.visit(random.pick(sites), INDEX)
      } else await turn()
    }
    visitor.close()
  }
  const visiting = Array.from({ length: options.visitors }, visit)
  const restarting = restartAll(fleet, report, release.root)
    .catch((error) => {
      failed.abort()
      throw error
    })
    .finally(() => restarts.abort())
  const monitoring = monitorOverload(fleet, report, restarts.signal)
  const ends = await Promise.allSettled([restarting, publishing, monitoring, ...visiting])
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  for (const [what, count] of report.counts)
    if (/connection failed$|: 5\d\d$|: [A-Z_]+$/.test(what)) report.violation(`${count} ${what}`)
  return report
}

async function restartAll(fleet: Fleet, report: Report, nextRelease: string): Promise<void> {
  for (const node of fleet.nodes) {
    await node.stop()
    await node.start()
    report.event(`${node.name} restarted`)
  }
  const [first, second] = fleet.nodes
  await first!.stop()
  await first!.start(nextRelease)
  report.event(`${first!.name} upgraded`)
  // In the middle of an upgrade a node of the release before may start again.
  await second!.stop()
  await second!.start()
  report.event(`${second!.name} restarted with the release before`)
  for (const node of fleet.nodes.slice(1)) {
    await node.stop()
    await node.start(nextRelease)
    report.event(`${node.name} upgraded`)
  }
}
