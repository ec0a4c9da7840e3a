import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { Fleet } from '../../test/fleet/fleet.ts'
import type { FleetNode } from '../../test/fleet/fleet-node.ts'
import { type Figure, figure, type Measurement } from '../figures.ts'
import { cpuSeconds } from '../serving/processes.ts'

const NODES = 4

/** Sites that are updated at the same time, each again when all nodes show its last update: few, and as many as the cores allow. */
const FEW = 2
const MANY = 12
const SECONDS = 30

/** Between two visits of a node that still shows the version before. */
const VISIT_INTERVAL_MS = 5

/** Visits of each round, of one node and of two. */
const VISITS = 20_000

/** Visits of a node at the same time: one with fewer would handle fewer in a turn of its event loop. */
const CONCURRENCY = 8
const ROUNDS = 7

/** From the response of a publish until each node shows the new version, while other sites are published. */
export const spread: Measurement = {
  name: 'spread',
  means: `the time from the response of a publish until each of ${NODES} nodes shows it, and what a visit costs`,
  missing: () => whatIsMissing('postgres') ?? whatIsMissing('haproxy'),
  async run({ quick }) {
    await using fleet = await Fleet.open({ nodes: NODES, storage: 'folder' })
    await fleet.startNodes()
    const client = fleet.client(await fleet.signIn('owner@example.test'))
    const seconds = quick ? 10 : SECONDS
    return [
      ...(await measureDelays(fleet, client, { sites: FEW, seconds })),
      ...(await measureDelays(fleet, client, { sites: MANY, seconds })),
      await compareVisits(fleet, client, quick ? 3 : ROUNDS),
    ]
  },
}

async function measureDelays(
  fleet: Fleet,
  client: Slipway,
  { sites, seconds }: { sites: number; seconds: number },
): Promise<Figure[]> {
  const until = performance.now() + seconds * 1000
  const delays: number[] = []
  const publishes = await Promise.all(
    Array.from({ length: sites }, () => publishRepeatedly({ fleet, client, until, delays })),
  )
  const total = publishes.reduce((sum, count) => sum + count, 0)
  return describe(`${sites} clients`, delays, total / seconds)
}

interface Publisher {
  fleet: Fleet
  client: Slipway
  until: number
  delays: number[]
}

/** Updates a site of its own until then; returns how often. */
async function publishRepeatedly({ fleet, client, until, delays }: Publisher): Promise<number> {
  const contents = (number: number) => ({ files: [{ path: 'index.html', content: `version ${number}` }] })
  const { slug } = await client.publishContents(contents(0))
  await Promise.all(fleet.nodes.map((node) => waitForText(node, slug, 'version 0')))
  for (let number = 1; ; number++) {
    await client.publishContents(contents(number), slug)
    const publishedAt = performance.now()
    if (publishedAt > until) return number - 1
    await Promise.all(
      fleet.nodes.map(async (node) => {
        await waitForText(node, slug, `version ${number}`)
        delays.push(performance.now() - publishedAt)
      }),
    )
  }
}

/** CPU time of a visit of two nodes, over that of one; of the nodes with one process. */
async function compareVisits(fleet: Fleet, client: Slipway, rounds: number): Promise<Figure> {
  const { slug } = await client.publishContents({ files: [{ path: 'index.html', content: 'warm' }] })
  const [, one, other] = fleet.nodes
  for (const node of [one!, other!]) await measureVisits([node], slug)
  const ratios: number[] = []
  for (let round = 0; round < rounds; round++) {
    const ofOne = await measureVisits([one!], slug)
    ratios.push((await measureVisits([one!, other!], slug)) / ofOne)
  }
  return figure('CPU time of a warm visit, two nodes over one', 'times', ratios, 1.1)
}

/** CPU seconds of the nodes for as many visits together. */
async function measureVisits(nodes: readonly FleetNode[], slug: string): Promise<number> {
  const read = () => nodes.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0)
  const before = read()
  const atOnce = CONCURRENCY * nodes.length
  for (let visits = 0; visits < VISITS; visits += atOnce)
    await Promise.all(Array.from({ length: atOnce }, (_, index) => visit(nodes[index % nodes.length]!, slug)))
  return read() - before
}

async function waitForText(node: FleetNode, slug: string, expected: string): Promise<void> {
  while ((await visit(node, slug)) !== expected) await pause(VISIT_INTERVAL_MS)
}

async function visit({ port, agent }: FleetNode, slug: string): Promise<string> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { host: `${slug}.localhost` }
    get({ host: '127.0.0.1', port, agent, headers }, resolve).once('error', reject)
  })
  return text(response)
}

function describe(who: string, delays: readonly number[], publishesPerSecond: number): Figure[] {
  const sorted = delays.toSorted((one, other) => one - other)
  const at = (share: number) => [sorted[Math.floor(share * (sorted.length - 1))]!]
  return [
    figure(`${who}: publishes`, 'a second', [publishesPerSecond]),
    figure(`${who}: shown by a node after the response, median`, 'ms', at(0.5), 20),
    figure(`${who}: 99th percentile`, 'ms', at(0.99), 250),
    figure(`${who}: maximum`, 'ms', at(1), 1000),
  ]
}
