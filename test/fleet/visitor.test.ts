import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Random } from '../support/random.ts'
import { Interruption } from './interruption.ts'
import { Report } from './report.ts'
import { filesOf } from './site-files.ts'
import { SiteHistory } from './site-history.ts'
import { Visitor } from './visitor.ts'

/** Longer than a change takes to be visible and cached everywhere. */
const LATER_MS = 60_000

test('a node without a database must serve a site once it has served its newest content, not an outdated one', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  let served: number | undefined = 1
  const server = createServer((_, response) => {
    if (served === undefined) response.writeHead(503).end()
    else response.end(filesOf(served)['index.html'])
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const agent = new Agent({ keepAlive: true })
  const { port } = server.address() as AddressInfo
  const cutOff = new Interruption()
  const node = { name: 'node1', port, agent, workers: 1, starts: 1, isRunning: true, closedAt: 0, cutOff }
  const report = new Report()
  const fleet = { nodes: [node], port, overload: new Interruption() }
  const visitor = new Visitor({ fleet, sites: [], random: new Random(0), report })
  const site = new SiteHistory({ slug: 'bakery', claimToken: undefined, expiresAt: undefined })
  const visit = async (content: number | undefined) => {
    now += LATER_MS
    served = content
    await visitor.visit(site, '/', node)
  }
  try {
    await site.change(1, async () => undefined)
    cutOff.begin()
    now += LATER_MS
    await site.change(2, async () => undefined)
    await visit(1)
    await visit(undefined)
    assert.deepEqual(report.violations, [])
    await visit(2)
    await visit(undefined)
    assert.deepEqual(report.violations, ['503 for the warm bakery/ at node1'])
  } finally {
    visitor.close()
    agent.destroy()
    server.close()
  }
})
