import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { connect, type Socket } from 'node:net'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { Slipway } from '../client/sdk/slipway.ts'
import type { CreateResponse } from '../protocol/api/publish.schema.ts'
import { whatIsMissing } from '../scripts/test-dependencies.mjs'
import { newestCode } from '../test/support/service.ts'
import { freePort } from '../test/tools/port.ts'
import { startPostgres } from '../test/tools/postgres.ts'
import { startSmtp } from '../test/tools/smtp.ts'
import { type Figure, figure, type Measurement } from './figures.ts'
import { nodeSettings } from './fleet/settings.ts'
import { scratchFolder, startServer } from './server-process.ts'

const SECONDS = 10
const ROUNDS = 3
const FILES = 10

/** Publishers of the account whose rate is the capacity, each with one publish after another. */
const CLIENTS = 64

/** Between two requests of a reader, whose own processor time must not count. */
const INTERVAL_MS = 10

const READS = ['list of sites', 'site', 'visit'] as const

const PLANS = JSON.stringify({ free: { sites: 1_000_000, bytes: '100TB' } })
const SETTINGS = { PLANS, RATE_FREE: '1000000000', TRUSTED_PROXIES: '1' }

interface Service {
  where: string
  baseUrls: readonly string[]
  signIn(email: string): Promise<string>
}

/** What others wait while one account publishes at ten times the rate that the service completes. */
export const overloadAccount: Measurement = {
  name: 'overload-account',
  means: `reads of another account and visits, one at a time, while one account publishes at ten times the rate that the service completes for its ${CLIENTS} clients, ${SECONDS} s`,
  missing: () => whatIsMissing('postgres') ?? whatIsMissing('smtp'),
  async run({ quick }) {
    const rounds = quick ? 1 : ROUNDS
    return [...(await measureMachine(rounds)), ...(await measureNodes(rounds))]
  },
}

async function measureMachine(rounds: number): Promise<Figure[]> {
  await using scratch = await scratchFolder()
  const data = join(scratch.path, 'data')
  await using server = await startServer(data, { settings: SETTINGS })
  const signIn = (email: string) =>
    signInWith(server.baseUrl, email, () => newestCode(join(data, 'mail'), email))
  return await measure({ where: 'one machine', baseUrls: [server.baseUrl], signIn }, rounds)
}

async function measureNodes(rounds: number): Promise<Figure[]> {
  await using scratch = await scratchFolder()
  await using primary = await startPostgres()
  await using smtp = await startSmtp()
  const url = await primary.createDatabase()
  await using _standby = await primary.startStandby()
  const settings = { ...(await nodeSettings(url)), ...SETTINGS, SMTP_URL: smtp.url }
  await using one = await startServer(scratch.path, { settings })
  const PORT = String(await freePort())
  await using other = await startServer(scratch.path, { settings: { ...settings, PORT } })
  const readCode = async () => /\b[A-Z0-9]{4}-[A-Z0-9]{4}\b/.exec((await smtp.letters()).at(-1)!.text)![0]
  const signIn = (email: string) => signInWith(one.baseUrl, email, readCode)
  return await measure({ where: 'two nodes', baseUrls: [one.baseUrl, other.baseUrl], signIn }, rounds)
}

async function signInWith(baseUrl: string, email: string, readCode: () => Promise<string>): Promise<string> {
  const client = new Slipway({ baseUrl })
  await client.requestCode(email)
  return (await client.verifyCode(email, await readCode())).apiKey
}

async function measure({ where, baseUrls, signIn }: Service, rounds: number): Promise<Figure[]> {
  const flooding = await signIn('flooding@example.test')
  const reading = await signIn('reading@example.test')
  const reader = new Slipway({ baseUrl: baseUrls[0]!, key: reading })
  const { slug } = await reader.publishContents({ files: [{ path: 'index.html', content: 'of another' }] })
  const read = () => runApart<Read>('read', { baseUrls, key: reading, slug })
  const figures: Figure[] = []
  for (const kind of KINDS) {
    const publish = (perSecond: number) =>
      runApart<Published>('publish', { baseUrls, key: flooding, kind, perSecond })
    const name = `${where}, ${kind}`
    const { completed } = await publish(0)
    const perSecond = (10 * completed) / SECONDS
    const alone = await read()
    const beside: Read[] = []
    const published: Published[] = []
    for (let round = 0; round < rounds; round++) {
      const [seen, done] = await Promise.all([read(), publish(perSecond)])
      beside.push(seen)
      published.push(done)
    }
    figures.push(
      figure(`${name}: completed for ${CLIENTS} clients`, 'a second', [completed / SECONDS]),
      ...describePublished(`${name}, ten times as many`, published),
      ...describeReads(`${name}, reads of others alone`, [alone]),
      ...describeReads(`${name}, reads of others beside ten times as many`, beside, 1000),
    )
  }
  return figures
}

function describePublished(what: string, rounds: readonly Published[]): Figure[] {
  const seen = (unit: Figure['unit'], read: (round: Published) => number) => [unit, rounds.map(read)] as const
  return [
    figure(`${what}: offered`, ...seen('a second', ({ offered }) => offered / SECONDS)),
    figure(`${what}: completed in time`, ...seen('a second', ({ completed }) => completed / SECONDS)),
    figure(`${what}: refused`, ...seen('a second', ({ refused }) => refused.length / SECONDS)),
    figure(`${what}: 99 % of the refused within`, ...seen('ms', ({ refused }) => findWait(refused, 0.99))),
    figure(`${what}: refused after the first request`, ...seen('requests', ({ begun }) => begun)),
    figure(`${what}: without a response, or with another one`, ...seen('requests', ({ lost }) => lost)),
  ]
}

function describeReads(what: string, rounds: readonly Read[], target?: number): Figure[] {
  return [
    ...READS.flatMap((name) =>
      ([0.5, 0.99, 1] as const).map((share) =>
        figure(
          `${what}: ${name}, ${share === 1 ? 'slowest' : `${100 * share} % within`}`,
          'ms',
          rounds.map(({ waits }) => findWait(waits[name], share)),
          share === 1 ? target : undefined,
        ),
      ),
    ),
    figure(
      `${what}: refused`,
      'requests',
      rounds.map(({ refused }) => refused),
      target && 0,
    ),
  ]
}

function findWait(waits: readonly number[], share: number): number {
  const sorted = [...waits].sort((one, other) => one - other)
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0
}

/** In a process of its own: neither delays the other. */
async function runApart<T>(role: keyof typeof ROLES, given: object): Promise<T> {
  const child = fork(import.meta.filename, [role, JSON.stringify(given)])
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the process ended with ${code} before its report`)
  })
  const [report] = await Promise.race([once(child, 'message'), ended])
  return report as T
}

interface Read {
  waits: Record<(typeof READS)[number], number[]>
  refused: number
}

interface Reading {
  baseUrls: readonly string[]
  key: string
  slug: string
}

/** Each of the reads repeatedly, with a connection of its own, from one node after another. */
async function read({ baseUrls, key, slug }: Reading): Promise<Read> {
  // Without it the scheduler lets the reader wait for the publishers, which are not what is measured.
  if (process.getuid?.() === 0) setPriority(constants.priority.PRIORITY_HIGHEST)
  const until = performance.now() + SECONDS * 1000
  const own = { authorization: `Bearer ${key}`, 'x-forwarded-for': '10.1.0.1' }
  const { host } = new URL(baseUrls[0]!)
  const requests: Record<(typeof READS)[number], http.RequestOptions> = {
    'list of sites': { path: '/api/v1/publishes', headers: { ...own, host } },
    site: { path: `/api/v1/publish/${slug}`, headers: { ...own, host } },
    visit: { path: '/', headers: { 'x-forwarded-for': '10.1.0.2', host: `${slug}.${host}` } },
  }
  const waits: Read['waits'] = { 'list of sites': [], site: [], visit: [] }
  let refused = 0
  const repeat = async (name: (typeof READS)[number]) => {
    for (let number = 0; performance.now() < until; number++) {
      const { port } = new URL(baseUrls[number % baseUrls.length]!)
      const startedAt = performance.now()
      if ((await get({ ...requests[name], host: '127.0.0.1', port, agent: false })) !== 200) refused++
      waits[name].push(performance.now() - startedAt)
      await pause(INTERVAL_MS)
    }
  }
  await Promise.all(READS.map(repeat))
  return { waits, refused }
}

/** The status; 0 without a response. */
async function get(options: http.RequestOptions): Promise<number> {
  try {
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      http.get(options, resolve).once('error', reject)
    })
    await text(response)
    return response.statusCode!
  } catch {
    return 0
  }
}

interface Published {
  offered: number
  /** While publishes began. */
  completed: number
  /** How long each waited. */
  refused: number[]
  begun: number
  lost: number
}

const KINDS = ['one request', `${FILES} uploads`] as const

interface Publishing {
  baseUrls: readonly string[]
  key: string
  kind: (typeof KINDS)[number]
  /** 0: one after another for each of the clients. */
  perSecond: number
}

/** With less priority than the service, which it would otherwise keep from its processor. */
async function publish({ baseUrls, key, kind, perSecond }: Publishing): Promise<Published> {
  setPriority(10)
  const report: Published = { offered: 0, completed: 0, refused: [], begun: 0, lost: 0 }
  const publisher = new Publisher(baseUrls, key)
  const startedAt = performance.now()
  const until = startedAt + SECONDS * 1000
  const publishOne = async () => {
    const number = report.offered++
    const beganAt = performance.now()
    const { status, requests } = await publisher.publish(number, kind)
    const now = performance.now()
    if (status === 200 || status === 201) report.completed += Number(now < until)
    else if (status === 503) {
      report.refused.push(now - beganAt)
      if (requests > 1) report.begun++
    } else report.lost++
  }
  if (perSecond === 0) {
    const repeat = async () => {
      while (performance.now() < until) await publishOne()
    }
    await Promise.all(Array.from({ length: CLIENTS }, repeat))
  } else {
    const publishes: Promise<void>[] = []
    while (performance.now() < until) {
      const due = (perSecond * (performance.now() - startedAt)) / 1000
      while (report.offered < due) publishes.push(publishOne())
      await pause(1)
    }
    await Promise.all(publishes)
  }
  return report
}

/** After which a client gives up: beyond the deadline of every step. */
const MAX_WAIT_MS = 60_000

interface Answer {
  status: number
  body: string
}

/** Writes requests to sockets itself, which costs less than a client of HTTP. */
class Publisher {
  readonly #ports: readonly number[]
  readonly #host: string
  readonly #headers: string
  readonly #idle = new Map<number, Socket[]>()

  constructor(baseUrls: readonly string[], key: string) {
    this.#ports = baseUrls.map((url) => Number(new URL(url).port))
    this.#host = new URL(baseUrls[0]!).host
    this.#headers = `host: ${this.#host}\r\nx-forwarded-for: 10.2.0.1\r\n`
    this.#headers += `authorization: Bearer ${key}\r\n`
    for (const port of this.#ports) this.#idle.set(port, [])
  }

  async publish(number: number, kind: Publishing['kind']): Promise<{ status: number; requests: number }> {
    const port = this.#ports[number % this.#ports.length]!
    const send = (method: string, path: string, body: string, type = 'application/json') =>
      this.#send(port, `${method} ${path} HTTP/1.1\r\ncontent-type: ${type}\r\n`, body)
    const pages = createFiles(number)
    if (kind === 'one request') {
      const { status } = await send('POST', '/api/v1/publish', JSON.stringify({ files: pages }))
      return { status, requests: 1 }
    }
    const files = pages.map(({ path, content }) => {
      const hash = createHash('sha256').update(content).digest('hex')
      return { path, size: content.length, contentType: HTML, hash }
    })
    const plan = await send('POST', '/api/v1/publish', JSON.stringify({ files }))
    if (plan.status !== 201) return { status: plan.status, requests: 1 }
    const { uploads, finalizeUrl, versionId } = (JSON.parse(plan.body) as CreateResponse).upload
    const contents = new Map(pages.map(({ path, content }) => [path, content]))
    const target = (url: string) => url.slice(url.indexOf('/', 'http://'.length))
    const uploaded = await Promise.all(
      uploads.map(({ method, url, path }) => send(method, target(url), contents.get(path)!, HTML)),
    )
    const failed = uploaded.find(({ status }) => status !== 200)
    if (failed) return { status: failed.status, requests: 2 }
    const { status } = await send('POST', target(finalizeUrl), JSON.stringify({ versionId }))
    return { status, requests: 3 }
  }

  #send(port: number, head: string, body: string): Promise<Answer> {
    const socket = this.#idle.get(port)!.pop() ?? connect(port, '127.0.0.1')
    const { promise, resolve } = Promise.withResolvers<Answer>()
    let received = ''
    const end = (answer: Answer, isReusable: boolean) => {
      clearTimeout(timer)
      socket.removeAllListeners('data').removeAllListeners('close').removeAllListeners('error')
      if (isReusable) this.#idle.get(port)!.push(socket.once('close', () => this.#forget(port, socket)))
      else socket.destroy()
      socket.on('error', () => undefined)
      resolve(answer)
    }
    const lose = () => end({ status: 0, body: '' }, false)
    const timer = setTimeout(lose, MAX_WAIT_MS)
    const receive = (chunk: Buffer) => {
      received += chunk.toString('latin1')
      const headEnd = received.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1])
      const answered = received.slice(headEnd + 4)
      if (answered.length < length) return
      const isReusable = !/\r\nconnection: close/i.test(received.slice(0, headEnd))
      end({ status: Number(received.slice(9, 12)), body: answered }, isReusable)
    }
    socket.removeAllListeners('close').removeAllListeners('error')
    socket.on('data', receive).once('close', lose).once('error', lose)
    socket.write(`${head}${this.#headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    return promise
  }

  #forget(port: number, socket: Socket): void {
    const idle = this.#idle.get(port)!
    if (idle.includes(socket)) idle.splice(idle.indexOf(socket), 1)
  }
}

const HTML = 'text/html; charset=utf-8'

function createFiles(number: number) {
  return Array.from({ length: FILES }, (_, file) => ({
    path: file === 0 ? 'index.html' : `page-${file}.html`,
    content: `<!doctype html><title>Page ${file} of site ${number}, ${process.pid}</title>`,
  }))
}

const ROLES = { read, publish }

if (import.meta.main) {
  const [role, given] = process.argv.slice(2)
  const report = await ROLES[role as keyof typeof ROLES](JSON.parse(given!))
  process.send?.(report, () => process.exit())
}
