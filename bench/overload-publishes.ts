import { createHash } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import type { CreateResponse } from '../protocol/api/publish.schema.ts'
import { whatIsMissing } from '../scripts/test-dependencies.mjs'
import { freePort } from '../test/tools/port.ts'
import { startPostgres } from '../test/tools/postgres.ts'
import { type Figure, figure, type Measurement } from './figures.ts'
import { nodeSettings } from './fleet/settings.ts'
import { scratchFolder, startServer } from './server-process.ts'

/** Clients that publish one site after another, for the capacity. */
const CLIENTS = 64
const SECONDS = 10
const HEALTH_INTERVAL_MS = 200

/** Of the proxy that the service trusts. */
const NETWORKS = 1000

const FILES = 10
const PUBLISH_PATH = '/api/v1/publish'
const HTML = 'text/html; charset=utf-8'

/** After which a client gives up: beyond the deadline of every step. */
const MAX_WAIT_MS = 60_000

interface Answer {
  /** Of the last request; 0 without a response. */
  status: number
  requests: number
  milliseconds: number
  /** When it came. */
  at: number
}

/** The requests of one client; ends with the first that does not succeed. */
type Publish = (toUrl: (target: string) => string, number: number) => Promise<Response[]>

/** How publishes arrive that do not wait for each other, at ten times the rate that the service can complete. */
export const overloadPublishes: Measurement = {
  name: 'overload-publishes',
  means: `${SECONDS} s of publishes from ${NETWORKS} networks, as many as the service completes for ${CLIENTS} clients, and ten times as many`,
  missing: () => whatIsMissing('postgres'),
  async run({ quick }) {
    const seconds = quick ? 3 : SECONDS
    return [...(await measureMachine(seconds)), ...(await measureNodes(seconds))]
  },
}

async function measureMachine(seconds: number): Promise<Figure[]> {
  await using scratch = await scratchFolder()
  await using server = await startServer(scratch.path, { settings: { TRUSTED_PROXIES: '1' } })
  return await measure('one machine', [server.baseUrl], seconds)
}

/** Over PostgreSQL with a synchronous standby. */
async function measureNodes(seconds: number): Promise<Figure[]> {
  await using scratch = await scratchFolder()
  await using primary = await startPostgres()
  const url = await primary.createDatabase()
  await using _standby = await primary.startStandby()
  const settings = { TRUSTED_PROXIES: '1', ...(await nodeSettings(url)) }
  await using one = await startServer(scratch.path, { settings })
  const PORT = String(await freePort())
  await using other = await startServer(scratch.path, { settings: { ...settings, PORT } })
  return await measure('two nodes', [one.baseUrl, other.baseUrl], seconds)
}

async function measure(where: string, baseUrls: readonly string[], seconds: number): Promise<Figure[]> {
  const figures: Figure[] = []
  let number = 0
  let requests = 0
  // As behind a load balancer, the requests of a publish go to all nodes in turn.
  const toUrl = (target: string) => {
    const { pathname, search } = new URL(target, baseUrls[0])
    return `${baseUrls[requests++ % baseUrls.length]}${pathname}${search}`
  }
  for (const [what, publish] of [
    ['one request', publishContents],
    [`${FILES} uploads`, publishInSteps],
  ] as const) {
    const next = () => timed(publish(toUrl, number++))
    const until = performance.now() + seconds * 1000
    let completed = 0
    const publishRepeatedly = async () => {
      while (performance.now() < until) if (isSuccess(await next())) completed++
    }
    await Promise.all(Array.from({ length: CLIENTS }, publishRepeatedly))
    const capacity = completed / seconds
    const name = `${where}, ${what}`
    figures.push(figure(`${name}: completed for ${CLIENTS} clients`, 'a second', [capacity]))
    for (const times of [1, 10]) {
      const found = await offer(next, { baseUrl: baseUrls[0]!, perSecond: times * capacity, seconds })
      figures.push(...describe(`${name}, ${times} times as many`, found, seconds))
    }
  }
  return figures
}

interface Offered {
  publishes: Answer[]
  health: Answer[]
  startedAt: number
}

/** Begins publishes at a rate, whatever becomes of those before. */
async function offer(
  publish: () => Promise<Answer>,
  { baseUrl, perSecond, seconds }: { baseUrl: string; perSecond: number; seconds: number },
): Promise<Offered> {
  const startedAt = performance.now()
  const [publishes, health]: [Promise<Answer>[], Promise<Answer>[]] = [[], []]
  for (let elapsed = 0; elapsed < seconds * 1000; elapsed = performance.now() - startedAt) {
    while (publishes.length < (perSecond * elapsed) / 1000) publishes.push(publish())
    if (health.length < elapsed / HEALTH_INTERVAL_MS)
      health.push(timed(send({ method: 'GET', url: `${baseUrl}/health` }).then((response) => [response])))
    await pause(1)
  }
  return { publishes: await Promise.all(publishes), health: await Promise.all(health), startedAt }
}

function describe(what: string, { publishes, health, startedAt }: Offered, seconds: number): Figure[] {
  const accepted = publishes.filter(isSuccess)
  const refused = publishes.filter(({ status }) => status === 503)
  const inTime = accepted.filter(({ at }) => at < startedAt + seconds * 1000)
  const lost = publishes.length - accepted.length - refused.length
  const begun = refused.filter(({ requests }) => requests > 1)
  return [
    figure(`${what}: offered`, 'a second', [publishes.length / seconds]),
    figure(`${what}: completed`, 'a second', [inTime.length / seconds]),
    figure(`${what}: 99 % of the completed within`, 'ms', [findWait(accepted, 0.99)]),
    figure(`${what}: refused`, 'a second', [refused.length / seconds]),
    figure(`${what}: 99 % of the refused within`, 'ms', [findWait(refused, 0.99)]),
    figure(`${what}: refused after the first request`, 'requests', [begun.length]),
    figure(`${what}: without a response, or with another one`, 'requests', [lost], 0),
    figure(`${what}: slowest response of /health`, 'ms', [findWait(health, 1)]),
  ]
}

function isSuccess({ status }: { status: number }): boolean {
  return status === 200 || status === 201
}

function findWait(answers: readonly Answer[], share: number): number {
  const sorted = answers.map(({ milliseconds }) => milliseconds).sort((one, other) => one - other)
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0
}

async function timed(responses: Promise<Response[]>): Promise<Answer> {
  const startedAt = performance.now()
  const all = await responses
  const at = performance.now()
  return { status: all.at(-1)!.status, requests: all.length, milliseconds: at - startedAt, at }
}

const publishContents: Publish = async (toUrl, number) => [
  await send({
    method: 'POST',
    url: toUrl(PUBLISH_PATH),
    number,
    body: { files: createFiles(number) },
  }),
]

/** A plan, the uploads at the same time, and a finalize. */
const publishInSteps: Publish = async (toUrl, number) => {
  const pages = createFiles(number)
  const files = pages.map(({ path, content }) => {
    const hash = createHash('sha256').update(content).digest('hex')
    return { path, size: content.length, contentType: HTML, hash }
  })
  const plan = await send({ method: 'POST', url: toUrl(PUBLISH_PATH), number, body: { files } })
  if (!isSuccess(plan)) return [plan]
  const { uploads, finalizeUrl, versionId } = (JSON.parse(plan.text) as CreateResponse).upload
  const contents = new Map(pages.map(({ path, content }) => [path, content]))
  const uploaded = await Promise.all(
    uploads.map(({ method, url, path }) =>
      send({ method, url: toUrl(url), number, body: contents.get(path)! }),
    ),
  )
  const failed = uploaded.find((response) => !isSuccess(response))
  if (failed) return [plan, failed]
  return [
    plan,
    ...uploaded,
    await send({ method: 'POST', url: toUrl(finalizeUrl), number, body: { versionId } }),
  ]
}

function createFiles(number: number) {
  return Array.from({ length: FILES }, (_, file) => ({
    path: file === 0 ? 'index.html' : `page-${file}.html`,
    content: `<!doctype html><title>Page ${file} of site ${number}</title>`,
  }))
}

interface Sent {
  method: string
  url: string
  /** Of the client, which has a network. */
  number?: number
  body?: object | string
}

interface Response {
  status: number
  text: string
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

async function send({ method, url, number = 0, body }: Sent): Promise<Response> {
  const content = typeof body === 'object' ? JSON.stringify(body) : body
  const network = number % NETWORKS
  const outgoing = request(url, { method, agent, signal: AbortSignal.timeout(MAX_WAIT_MS) })
  outgoing.setHeader('x-forwarded-for', `10.${network >> 8}.${network & 255}.1`)
  if (content !== undefined) {
    outgoing.setHeader('content-type', typeof body === 'object' ? 'application/json' : HTML)
    outgoing.setHeader('content-length', content.length)
  }
  try {
    const responding = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject)
    })
    outgoing.end(content)
    const response = await responding
    return { status: response.statusCode!, text: await text(response) }
  } catch {
    return { status: 0, text: '' }
  }
}
