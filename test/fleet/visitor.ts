import { Agent, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { INDEX, SIBLING } from '../publishing/content.ts'
import type { History, SiteHistory } from '../publishing/history.ts'
import type { Random } from '../support/random.ts'
import type { Fleet } from './fleet.ts'
import type { FleetNode } from './fleet-node.ts'
import type { Report } from './report.ts'

/** What a visitor knows of a node. */
type VisitedNode = Pick<
  FleetNode,
  'agent' | 'closedAt' | 'cutOff' | 'isRunning' | 'name' | 'port' | 'starts' | 'workers'
>

interface VisitorOptions {
  fleet: Pick<Fleet, 'overload' | 'port'> & { nodes: readonly VisitedNode[] }
  history: Pick<History, 'now' | 'sites'>
  random: Random
  report: Report
}

/** A response, or the error of its connection. */
type Outcome = { status: number; content: string | null | 'other' } | { error: string }

/** A promise of the service: a change shows everywhere within a second. */
const MAX_AGE_MS = 1000

/** After a change, a cached response is reloaded; then it counts as warm again. */
const RELOAD_MS = 2000

/** Visits after which each of several workers has probably served one. */
const WARM_VISITS = 12

/** The balancer may give connections to a node that was killed for this long, and does not know a new one. */
const BALANCER_MS = 4000

const MAX_REQUEST_MS = 10_000
const MAX_PAUSE_MS = 12

const MAX_SOCKETS = 8

/** Recent sites are visited, deleted and expired ones as well. */
const VISITED_SITES = 60

/** Visits sites at single nodes and through the balancer, and checks what it sees. */
export class Visitor {
  readonly #options: VisitorOptions
  readonly #agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS })
  /** How often a node has served the newest content of a path of a site. */
  readonly #served = new Map<string, { changedAt: number; count: number }>()

  constructor(options: VisitorOptions) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { fleet, random, history } = this.#options
    while (!signal.aborted) {
      const running = fleet.nodes.filter((node) => node.isRunning)
      const node = running.length === 0 || random.chance(0.3) ? undefined : random.pick(running)
      const sites = [...history.sites.values()].slice(-VISITED_SITES)
      if (sites.length > 0) await this.visit(random.pick(sites), random.pick([INDEX, SIBLING]), node)
      await pause(random.below(MAX_PAUSE_MS))
    }
    this.close()
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Visits a site once, at a node or through the balancer; returns what it saw. */
  async visit(site: SiteHistory, path: typeof INDEX | typeof SIBLING, node?: VisitedNode): Promise<Outcome> {
    const { fleet, history, report } = this.#options
    const starts = node?.starts
    const startedAt = history.now()
    const place = node ? 'node' : 'balancer'
    const outcome = await this.#fetch(site, path, node ?? { port: fleet.port, agent: this.#agent })
    const endedAt = history.now()
    const visit = { site, path, node, starts, startedAt, endedAt }
    if ('error' in outcome) {
      report.count(`visits through the ${place}: connection failed`)
      if (!this.#mayFail(visit)) report.violation(`visit of ${site.slug} ${node?.name}: ${outcome.error}`)
      return outcome
    }
    report.count(`visits through the ${place}: ${outcome.status}`)
    if (outcome.status >= 500) this.#checkFailure(visit, outcome.status)
    else this.#checkContent(visit, outcome)
    return outcome
  }

  /** Repeats a request whose kept-alive connection had ended, as browsers do. */
  async #fetch(
    site: SiteHistory,
    path: string,
    { port, agent }: { port: number; agent: Agent },
  ): Promise<Outcome> {
    for (let attempt = 1; ; attempt++) {
      const outgoing = request({
        host: '127.0.0.1',
        port,
        path: path === INDEX ? '/' : `/${path}`,
        agent,
        headers: { host: `${site.slug}.localhost` },
        signal: AbortSignal.timeout(MAX_REQUEST_MS),
      })
      try {
        outgoing.end()
        const response = await new Promise<IncomingMessage>((resolve, reject) => {
          outgoing.once('response', resolve).once('error', reject)
        })
        const body = await buffer(response)
        const { statusCode: status = 0 } = response
        return { status, content: site.identify(path, { status, body }) }
      } catch (error) {
        if (attempt > MAX_SOCKETS || !outgoing.reusedSocket) return { error: String(error) }
        this.#options.report.count('visits repeated because their kept-alive connection was closed')
      }
    }
  }

  #checkContent(visit: Visit, { status, content }: Exclude<Outcome, { error: string }>): void {
    const { fleet, report } = this.#options
    const { site, path, node, startedAt, endedAt } = visit
    if (site.isUnknown) return
    const description = `${site.slug}/${path} at ${node?.name ?? 'the balancer'}`
    if (content === 'other') return void report.violation(`${status} of ${description}, with other bytes`)
    const interruptions = [fleet.overload, ...this.#nodesOf(visit).map(({ cutOff }) => cutOff)]
    const times = interruptions.map((one) => one.sinceWhen(endedAt) ?? startedAt)
    const reference = Math.min(startedAt, ...times)
    const isCutOff = reference < startedAt
    const age = site.age(content, reference, endedAt)
    const what = `${description}: ${content ?? 'nothing'}, ${Math.round(age)} ms old`
    if (age > MAX_AGE_MS)
      report.violation(isCutOff ? `${what} when changes could not be noticed any more` : what)
    else if (!isCutOff) report.max('oldest response, ms', age)
    const wait = `longest wait for a warm site${isCutOff ? ' without a database' : ''}, ms`
    if (this.#isWarm(visit)) report.max(wait, endedAt - startedAt)
    // An outdated content leaves the cache as soon as the node notices changes again.
    const isNewest = site.age(content, startedAt, endedAt) === 0
    if (node && content !== null && isNewest) this.#addServed(visit, node)
  }

  #checkFailure(visit: Visit, status: number): void {
    const { site, path, node } = visit
    if (this.#isWarm(visit)) {
      this.#options.report.violation(
        `${status} for the warm ${site.slug}/${path} at ${node?.name ?? 'the balancer'}`,
      )
      return
    }
    // What is not in a cache cannot be served without a database.
    this.#options.report.count('responses with 5xx for sites that were not warm')
  }

  /** Whether every process that may have responded has served the newest content since the last change. */
  #isWarm(visit: Visit): boolean {
    if (visit.site.isExpired()) return false
    return this.#nodesOf(visit).every((node) => {
      const { changedAt = 0, count = 0 } = this.#served.get(keyOf(visit, node)) ?? {}
      return changedAt === visit.site.changedAt && count >= (node.workers === 1 ? 1 : WARM_VISITS)
    })
  }

  #addServed(visit: Visit, node: VisitedNode): void {
    const { changedAt } = visit.site
    if (visit.startedAt < changedAt + RELOAD_MS) return
    const key = keyOf(visit, node)
    const served = this.#served.get(key)
    if (served?.changedAt === changedAt) served.count++
    else this.#served.set(key, { changedAt, count: 1 })
  }

  #nodesOf({ node }: Visit): readonly VisitedNode[] {
    return node ? [node] : this.#options.fleet.nodes
  }

  /** Whether a connection may have been lost: to a node that ended, or through the balancer shortly after a kill. */
  #mayFail(visit: Visit): boolean {
    if (visit.node) return !visit.node.isRunning || visit.node.starts !== visit.starts
    return this.#options.fleet.nodes.some(({ closedAt }) => closedAt > visit.startedAt - BALANCER_MS)
  }
}

interface Visit {
  site: SiteHistory
  path: string
  node: VisitedNode | undefined
  /** Starts of the node when the visit began. */
  starts: number | undefined
  startedAt: number
  endedAt: number
}

function keyOf({ site, path }: Visit, node: VisitedNode): string {
  return `${node.name} ${node.starts} ${site.slug}/${path}`
}
