import http from 'node:http'
import { join } from 'node:path'
import { openForOperator } from '../server/app.ts'
import { readConfig } from '../server/config/settings.ts'
import { makeLog } from '../server/lib/log.ts'
import { hashToken, newApiKey } from '../server/lib/tokens.ts'
import { accountRow } from '../test/store/rows.ts'
import { compareEach, type Measurement, median } from './figures.ts'
import { makeContent, publish } from './publish-flow.ts'
import { scratchFolder, startServer } from './server-process.ts'
import { SEEDED_OWNER, type SeededSite, seedSites } from './serving/many-sites.ts'

const SITES = { small: 100, large: 100_000, quick: 10_000 }
const ROUNDS = 9
/** Of each kind in a round; the smaller store has as many sites as there are cold visits. */
const REPEATED = 10

const MEASURED = {
  stage: 'stage 10 files',
  finalize: 'finalize 10 files',
  list: 'list the sites of their owner',
  visit: 'cold visit of a site',
}

/** Milliseconds. */
type Times = Record<keyof typeof MEASURED, number>

/** The embedded store with many sites, beside one with few. */
export const largeEmbedded: Measurement = {
  name: 'large-embedded',
  means: 'the embedded store with 100,000 sites of one account, beside one with 100',
  async run({ quick }) {
    const sites = quick ? SITES.quick : SITES.large
    await using scratch = await scratchFolder()
    await using small = await open(join(scratch.path, 'small'), SITES.small)
    await using large = await open(join(scratch.path, 'large'), sites)
    const rounds: [small: Times, large: Times][] = []
    for (let round = 0; round <= ROUNDS; round++) {
      const found: [Times, Times] = [await small.measure(), await large.measure()]
      if (round > 0) rounds.push(found)
    }
    const names = [`${SITES.small} sites`, `${sites} sites`] as const
    return compareEach(MEASURED, { unit: 'ms', names, target: 1.2 }, rounds)
  },
}

async function open(data: string, count: number) {
  const key = newApiKey()
  const sites = await seedSites(data, { sites: count, distinct: (ROUNDS + 1) * REPEATED })
  await addOwner(data, key)
  const server = await startServer(data, { settings: { RATE_FREE: '1000000000' } })
  return {
    measure: () => measure(server.baseUrl, key, sites.splice(0, REPEATED)),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function addOwner(data: string, key: string): Promise<void> {
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const config = readConfig({ SLIPWAY_DATA: data })
  await using context = await openForOperator(config, { log, version: 'bench' })
  const account = accountRow(SEEDED_OWNER, { keyHash: hashToken(key), createdAt: Date.now() })
  await context.store.write('durable', {}, (tx) => tx.rows.insert('accounts', account))
}

async function measure(baseUrl: string, key: string, sites: readonly SeededSite[]): Promise<Times> {
  const { port, host } = new URL(baseUrl)
  const taken: Times[] = []
  for (const { slug, index } of sites) {
    const { phases } = await publish(baseUrl, makeContent(10, 4096))
    const list = await timeRequest(port, '/api/v1/publishes', { host, authorization: `Bearer ${key}` })
    if (!list.body.includes('"slug"')) throw new Error(`the list has no sites: ${list.body}`)
    const visit = await timeRequest(port, '/', { host: `${slug}.${host}` })
    if (!visit.body.equals(index)) throw new Error(`${slug} is not as seeded`)
    taken.push({ stage: phases.create, finalize: phases.finalize, list: list.time, visit: visit.time })
  }
  const of = (name: keyof Times) => median(taken.map((one) => one[name]))
  return { stage: of('stage'), finalize: of('finalize'), list: of('list'), visit: of('visit') }
}

const agent = new http.Agent({ keepAlive: true })

function timeRequest(
  port: string,
  path: string,
  headers: http.OutgoingHttpHeaders,
): Promise<{ time: number; body: Buffer }> {
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    http
      .get({ agent, host: '127.0.0.1', port, path, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ time: performance.now() - startedAt, body: Buffer.concat(chunks) }),
        )
      })
      .on('error', reject)
  })
}
