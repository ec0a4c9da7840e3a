import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { brotliDecompressSync } from 'node:zlib'
import {
  CHANGES,
  type ChangingNodes,
  changeBy,
  formerLabel,
  hostOf,
  listShown,
  PAGE_AND_STYLE,
} from '../database-faults/site-changes.ts'
import { freePort } from '../tools/port.ts'
import type { TcpProxy } from '../tools/tcp-proxy.ts'
import { Fleet } from './fleet.ts'
import type { FleetNode } from './fleet-node.ts'
import { publishAt } from './publishing-probe.ts'
import { Report } from './report.ts'

interface OutagesOptions {
  /** Of each outage. */
  seconds: number
  nodes: number
  log?: (line: string) => void
}

const SETTINGS = {
  ANONYMOUS_LIFETIME: '1h',
  RATE_ANONYMOUS: '1000000',
  RATE_FREE: '1000000',
}

/** Time in which every node has noticed all changes, and has the encodings of all files. */
const SETTLE_MS = 5000

/** After which each of several workers has probably served one. */
const WARMING_VISITS = 12

const VISIT_PAUSE_MS = 5

/** Sites that no node has served. */
const COLD_SITES = 20
const COLD_PAUSE_MS = 100
const LONG_WAIT_MS = 1000

const RETRY_MS = 200
const MAX_REQUEST_MS = 30_000

/** Begins an outage; the result ends it. */
type Outage = (fleet: Fleet, seconds: number) => Promise<() => Promise<void>>

const OUTAGES: Record<string, Outage> = {
  'a failover': async (fleet, seconds) => {
    const beforePromotion = () => pause(Math.min(seconds, 10) * 1000)
    const failing = fleet.failOver({ beforePromotion, afterPromotion: async () => {} })
    return () => failing
  },
  'the database away': (fleet) => refuse(databasesOf(fleet)),
  'the database hung': (fleet) => hang(databasesOf(fleet)),
  'the bucket away': (fleet) => refuse([fleet.bucket!]),
  'the bucket hung': (fleet) => hang([fleet.bucket!]),
}

const databasesOf = ({ nodes }: Fleet) => nodes.flatMap(({ databases }) => databases)

async function refuse(proxies: readonly TcpProxy[]): Promise<() => Promise<void>> {
  const ports = proxies.map(({ upstreamPort }) => upstreamPort)
  const closed = await freePort()
  for (const proxy of proxies) {
    proxy.upstreamPort = closed
    proxy.cut()
  }
  return async () => {
    for (const [index, proxy] of proxies.entries()) proxy.upstreamPort = ports[index]!
  }
}

async function hang(proxies: readonly TcpProxy[]): Promise<() => Promise<void>> {
  for (const proxy of proxies) proxy.stop()
  return async () => {
    for (const proxy of proxies) proxy.resume()
  }
}

/**
 * Changes warm sites in all ways, begins an outage before their next visit, and visits them at every node until its end.
 * Each response must be the one after the change.
 */
export async function runOutages({ seconds, nodes, log }: OutagesOptions): Promise<Report> {
  const report = new Report(log)
  await using fleet = await Fleet.open({ nodes, storage: 's3', settings: SETTINGS })
  await fleet.startNodes()
  report.event(`${nodes} nodes are ready`)
  let contents = ''
  const changing = await changeBy(fleet, () => contents)
  for (const [name, begin] of Object.entries(OUTAGES)) {
    contents = name
    const cold = await publishCold(changing, name)
    const pages = await changeSites(fleet, changing)
    report.event(`${name}: begins after ${pages.length} changes`)
    const end = await begin(fleet, seconds)
    const until = performance.now() + seconds * 1000
    const visiting = fleet.nodes.flatMap((node) => [
      visitUntil(until, { node, pages, name, report }),
      visitColdUntil(until, { node, cold, name, report }),
    ])
    await Promise.all(visiting)
    await end()
    report.event(`${name}: ended`)
    for (const node of fleet.nodes) while (!(await publishAt(node))) await pause(RETRY_MS)
    report.event('every node publishes')
  }
  return report
}

/** A page that is visited, and what the visitor must see. */
interface ExpectedPage {
  what: string
  label: string
  path: string
  coding: string
  status: number
  shows: string
}

/** Publishes a site for each kind of change, visits it everywhere, and changes it. */
async function changeSites(fleet: Fleet, changing: ChangingNodes): Promise<ExpectedPage[]> {
  const sites: string[] = []
  for (const { prepare } of CHANGES) {
    const { slug } = await changing.update(undefined, 'one')
    await prepare?.(changing, slug)
    sites.push(slug)
  }
  await pause(SETTLE_MS)
  const labels = CHANGES.map((one, index) => formerLabel(one, sites[index]!))
  for (const node of fleet.nodes)
    for (const label of labels)
      for (const [path, coding] of PAGE_AND_STYLE)
        for (let visits = 0; visits < (node.workers === 1 ? 1 : WARMING_VISITS); visits++)
          await visit(node, { label, path, coding })
  for (const [index, { change }] of CHANGES.entries()) await change(changing, sites[index]!)
  await pause(SETTLE_MS)
  return CHANGES.flatMap((one, index) => {
    const { what, status, shows = '', host = (site) => site } = one
    const label = host(sites[index]!)
    return listShown(one).map(([path, coding]) => ({ what, path, coding, status, shows, label }))
  })
}

interface Visits {
  node: FleetNode
  pages: readonly ExpectedPage[]
  name: string
  report: Report
}

async function visitUntil(until: number, { node, pages, name, report }: Visits): Promise<void> {
  while (performance.now() < until)
    for (const page of pages) {
      const startedAt = performance.now()
      const { status, text } = await visit(node, page)
      report.count(`${name}: visits`)
      report.max(`${name}: slowest visit, ms`, performance.now() - startedAt)
      const { what, path, coding } = page
      const place = `${name}: ${status} after ${what} at ${node.name}, ${path}, ${coding}`
      if (status >= 500 || status === 0) {
        report.count(`${name}: 5xx or no response`)
        report.violation(place)
      } else if (status !== page.status || !text.includes(page.shows))
        report.violation(`${place}, in place of ${page.status} with ${page.shows}`)
      await pause(VISIT_PAUSE_MS)
    }
}

/** Publishes sites that are visited at no node; the node that publishes one may have kept its file. */
async function publishCold({ client }: ChangingNodes, salt: string): Promise<string[]> {
  const slugs: string[] = []
  for (let number = 0; number < COLD_SITES; number++) {
    const content = `<p>cold ${number}, ${salt}`
    const { slug } = await client.publishContents({ files: [{ path: 'index.html', content }] })
    slugs.push(slug)
  }
  return slugs
}

/** Visits sites that the node cannot serve without the part that is away, one after the other: what matters is the wait. */
async function visitColdUntil(
  until: number,
  { node, cold, name, report }: Pick<Visits, 'node' | 'name' | 'report'> & { cold: readonly string[] },
): Promise<void> {
  while (performance.now() < until)
    for (const label of cold) {
      const startedAt = performance.now()
      const { status } = await visit(node, { label, path: '/', coding: 'identity' })
      const milliseconds = performance.now() - startedAt
      report.count(`${name}: cold visits with ${status}`)
      report.max(`${name}: slowest cold visit, ms`, milliseconds)
      if (milliseconds > LONG_WAIT_MS) report.count(`${name}: cold visits longer than ${LONG_WAIT_MS} ms`)
      await pause(COLD_PAUSE_MS)
    }
}

/** The status is 0 without a response. */
async function visit(
  { port, agent }: FleetNode,
  { label, path, coding }: Pick<ExpectedPage, 'label' | 'path' | 'coding'>,
): Promise<{ status: number; text: string }> {
  const headers = { host: hostOf(label), 'accept-encoding': coding }
  const signal = AbortSignal.timeout(MAX_REQUEST_MS)
  const outgoing = request({ host: '127.0.0.1', port, path, agent, headers, signal })
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject).end()
    })
    const body = await buffer(response)
    const isCoded = response.headers['content-encoding'] === 'br'
    return {
      status: response.statusCode ?? 0,
      text: (isCoded ? brotliDecompressSync(body) : body).toString(),
    }
  } catch (error) {
    return { status: 0, text: String(error) }
  }
}
