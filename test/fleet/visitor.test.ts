import assert from 'node:assert/strict'
import { Agent, createServer } from 'node:http'
import { test } from 'node:test'
import { firstSite, generateBytes, INDEX, type MadeSite } from '../publishing/content.ts'
import { History } from '../publishing/history.ts'
import { listen } from '../support/listen.ts'
import { Random } from '../support/random.ts'
import { Interruption } from './interruption.ts'
import { Report } from './report.ts'
import { Visitor } from './visitor.ts'

/** Longer than a change takes to be visible and cached everywhere. */
const LATER_MS = 60_000

test('a node without a database must serve a site once it has served its newest content, not an outdated one', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const sites = ['1', '2'].map((name) => firstSite(name, new Random(1)))
  let served: MadeSite | undefined
  const server = createServer((_, response) => {
    if (served === undefined) response.writeHead(503).end()
    else response.end(generateBytes(served[INDEX]!))
  })
  const port = await listen(server)
  const agent = new Agent({ keepAlive: true })
  const cutOff = new Interruption()
  const node = { name: 'node1', port, agent, workers: 1, starts: 1, isRunning: true, closedAt: 0, cutOff }
  const report = new Report()
  const fleet = { nodes: [node], port, overload: new Interruption() }
  const history = new History()
  history.add({ kind: 'site', slug: 'bakery' })
  const site = history.sites.get('bakery')!
  const visitor = new Visitor({ fleet, history, random: new Random(0), report })
  const publish = (state: MadeSite) =>
    history.add({ kind: 'live', slug: site.slug, versionId: `${now}`, state })
  const visit = async (state: MadeSite | undefined) => {
    now += LATER_MS
    served = state
    await visitor.visit(site, INDEX, node)
  }
  const [first, second] = sites as [MadeSite, MadeSite]
  try {
    publish(first)
    cutOff.begin()
    now += LATER_MS
    publish(second)
    await visit(first)
    await visit(undefined)
    assert.deepEqual(report.violations, [])
    await visit(second)
    await visit(undefined)
    assert.deepEqual(report.violations, ['503 for the warm bakery/index.html at node1'])
  } finally {
    visitor.close()
    agent.destroy()
    server.close()
  }
})
