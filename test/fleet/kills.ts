import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { defaultRetryPolicy } from '../../client/sdk/retry.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { toFiles } from '../api/content.ts'
import { deterministicBytes } from '../blobs/bytes.ts'
import { Program, signal } from '../operator/program.ts'
import { numberedFiles } from '../publishing/content.ts'
import { sendRequest } from '../support/http-client.ts'
import { Random } from '../support/random.ts'
import type { CephClient } from '../tools/ceph.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { freePort } from '../tools/port.ts'
import type { PostgresClient } from '../tools/postgres.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'
import { Report } from './report.ts'

/** Of the database and the bucket of all nodes. */
interface Servers {
  postgres: PostgresClient
  ceph: CephClient
}

interface KillsOptions extends Servers {
  seed: number
  /** Kills of each kind of publish, at random events; by default at all of them. */
  kills?: number
  kinds?: readonly Kind[]
  /** Preloaded into the nodes that are killed. */
  modules?: string[]
  /** Requests within which another node, which polls for changes, shows a publish. */
  maxRequests?: number
  log?: (line: string) => void
}

/** A site and the number of its content, undefined before it is live. */
interface PublishedSite {
  slug?: string
  claimToken?: string | undefined
  content?: number
}

const MAX_REQUESTS = 5000

/** Publishes until one succeeds without a kill. */
const MAX_ATTEMPTS = 5

/** Statements that a node executes without a publish. */
const BACKGROUND = /pg_current_snapshot|"nodes"|"visits"|"job_cursors"|"checking_until"|"sweep /

/** The reason of a client that does not repeat what failed. */
const NOT_REPEATED = new Error('not repeated')

/** The first creates its site, the second updates the site of the one before. */
const KINDS = ['publish', 'update'] as const

type Kind = (typeof KINDS)[number]

/** Preloaded into a node that loses what it acknowledges. */
const UNSENT_COMMITS = join(import.meta.dirname, 'unsent-commits.ts')

/**
 * Kills a node with SIGKILL at the events of a publish: whenever it sends a part of a statement or of a request to the
 * bucket. On another node the publish is then finished or absent, and can be repeated there. One that was acknowledged is
 * finished, when its node is killed after the response too.
 */
export async function runKills({
  seed,
  log,
  kills,
  kinds = KINDS,
  ...options
}: KillsOptions): Promise<Report> {
  const report = new Report(log)
  const random = new Random(seed)
  await using fleet = await KilledFleet.open({ ...options, startsEarly: kills === undefined })
  let content = 0
  for (const kind of kinds) {
    let site: PublishedSite = {}
    if (kind === 'update') await fleet.repeat(site, ++content)
    const events = await fleet.countEvents(site, ++content)
    report.max(`${kind}: events`, events)
    if ((await fleet.show(site, [content])) !== content) report.violation(`${kind}: acknowledged, and lost`)
    const all = Array.from({ length: events }, (_, index) => index + 1)
    for (const killAt of kills === undefined ? all : random.shuffle(all).slice(0, kills)) {
      if (kind === 'publish') site = {}
      const before = site.content
      const { event, error } = await fleet.publishKilled(site, ++content, killAt)
      if (error !== undefined && !isTemporary(error))
        report.violation(`${kind}, killed at event ${killAt}: ${error}`)
      const shown = await fleet.show(site, error === undefined ? [content] : [before, content])
      const outcome = error === undefined ? 'acknowledged' : shown === content ? 'finished' : 'absent'
      report.count(`${kind}: ${outcome}`)
      report.event(`${kind}, killed at event ${killAt} of ${events}, ${event ?? 'after its end'}: ${outcome}`)
      if (shown === 'other') report.violation(`${site.slug} has neither content ${before} nor ${content}`)
      await fleet.repeat(site, content)
      if ((await fleet.show(site, [content])) !== content) report.violation(`${site.slug} cannot be repeated`)
    }
  }
  return report
}

/** The control: whether the check finds publishes that were acknowledged and lost. */
export async function runKillsControl(servers: Servers & { log: (line: string) => void }): Promise<Report> {
  const report = new Report(servers.log)
  const options = { seed: 0, kills: 0, modules: [UNSENT_COMMITS], maxRequests: 20 }
  const { violations } = await runKills({ ...servers, ...options })
  for (const kind of KINDS)
    if (!violations.includes(`${kind}: acknowledged, and lost`))
      report.violation(`${kind}: a node that loses what it acknowledges is not found`)
  return report
}

/** Whether a client would repeat what failed. */
function isTemporary(error: unknown): boolean {
  return error === NOT_REPEATED || isSlipwayError(error, 'NETWORK', 'UNAVAILABLE')
}

/** A node that is killed again and again, and another one, over PostgreSQL and S3. */
class KilledFleet implements AsyncDisposable {
  /** At the base URL: leads to the node that is published to. */
  readonly #balancer: TcpProxy
  readonly #otherPort: number
  readonly #startVictim: () => Promise<Victim>
  /** Starts while another one is published to, if many follow. */
  #next: Promise<Victim> | undefined
  readonly #startsEarly: boolean
  readonly #maxRequests: number
  readonly #owned: AsyncDisposableStack

  static async open(options: Omit<KillsOptions, 'seed'> & { startsEarly: boolean }): Promise<KilledFleet> {
    const { postgres, ceph, modules = [], maxRequests = MAX_REQUESTS, startsEarly } = options
    await using opened = new AsyncDisposableStack()
    const balancer = opened.use(await TcpProxy.open(postgres.port))
    const folder = opened.use(await memoryFolder())
    const database = opened.use(await postgres.borrowDatabase()).url
    // All nodes must name the same bucket.
    const bucketProxy = opened.use(await TcpProxy.open(Number(new URL(ceph.endpoint).port)))
    const bucket = ceph.storageUrl(`http://127.0.0.1:${bucketProxy.port}`)
    const start = async (databasePort: number, programOptions: { modules?: string[] } = {}) => {
      const url = new URL(database)
      url.port = `${databasePort}`
      const port = await freePort()
      const settings = {
        PORT: `${port}`,
        SECRET: 'a secret of all nodes of this test',
        SMTP_URL: 'smtp://127.0.0.1:1',
        BASE_URL: `http://localhost:${balancer.port}`,
        DATA: await mkdtemp(join(folder.path, 'node-')),
        DATABASE_URL: url.href,
        BLOBS_URL: bucket,
      }
      const program = await Program.serve(settings, { deadlines: 'production', ...programOptions })
      return { program, port }
    }
    const other = await start(postgres.port)
    opened.use(other.program)
    const startVictim = () =>
      Victim.start({
        databasePort: postgres.port,
        bucketProxy,
        start: (databasePort) => start(databasePort, { modules }),
      })
    const owned = opened.move()
    const { port: otherPort } = other
    return new KilledFleet({ balancer, otherPort, startVictim, startsEarly, maxRequests, owned })
  }

  private constructor(parts: {
    balancer: TcpProxy
    otherPort: number
    startVictim: () => Promise<Victim>
    startsEarly: boolean
    maxRequests: number
    owned: AsyncDisposableStack
  }) {
    this.#balancer = parts.balancer
    this.#otherPort = parts.otherPort
    this.#startVictim = parts.startVictim
    this.#startsEarly = parts.startsEarly
    this.#maxRequests = parts.maxRequests
    this.#owned = parts.owned
  }

  /**
   * Publishes to a node that is killed at an event, or after its response. Returns the event, the number of events, and the
   * error of the client, which tries nothing again.
   */
  async publishKilled(site: PublishedSite, content: number, killAt = Number.POSITIVE_INFINITY) {
    await using victim = await (this.#next ?? this.#startVictim())
    this.#next = this.#startsEarly ? this.#startVictim() : undefined
    this.#next?.catch(() => undefined)
    victim.watch(killAt)
    const wait = () => Promise.reject(NOT_REPEATED)
    const error = await this.#publish(victim.port, site, content, { ...defaultRetryPolicy, wait }).then(
      () => undefined,
      (failure: unknown) => failure,
    )
    return { error, ...victim.watched }
  }

  /** The number of events of a publish that succeeds. */
  async countEvents(site: PublishedSite, content: number): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      const { error, events } = await this.publishKilled(site, content)
      if (error === undefined) return events
      // The machine may be too slow for a node.
      if (attempt === MAX_ATTEMPTS || !isTemporary(error)) throw error
    }
  }

  /** Publishes to the other node. */
  repeat(site: PublishedSite, content: number): Promise<void> {
    return this.#publish(this.#otherPort, site, content)
  }

  async #publish(
    port: number,
    site: PublishedSite,
    content: number,
    retryPolicy = defaultRetryPolicy,
  ): Promise<void> {
    this.#balancer.upstreamPort = port
    const transport = nodeTransport()
    try {
      const baseUrl = `http://localhost:${this.#balancer.port}`
      await new Slipway({ baseUrl, send: transport.send, retryPolicy }).publish({
        files: toFiles(contentsOf(content)),
        slug: site.slug,
        claimToken: site.claimToken,
        onStaged: ({ slug, claimToken = site.claimToken }) => void Object.assign(site, { slug, claimToken }),
      })
      site.content = content
    } finally {
      transport.close()
    }
  }

  /** Resolves with the content that the other node shows at all paths, when it is one of these. */
  async show(
    { slug }: PublishedSite,
    contents: (number | undefined)[],
  ): Promise<number | undefined | 'other'> {
    if (slug === undefined) return undefined
    const paths = Object.keys(contentsOf(0))
    for (let requests = 0; requests < this.#maxRequests; requests++) {
      const responses = await Promise.all(
        paths.map((path) => sendRequest(this.#otherPort, { site: slug, path: `/${path}` })),
      )
      for (const content of contents) {
        const expected = content === undefined ? undefined : contentsOf(content)
        const isShown = responses.every(({ status, body }, index) =>
          expected ? status === 200 && expected[paths[index]!]!.equals(body) : status === 404,
        )
        if (isShown) return content
      }
    }
    return 'other'
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#next)?.[Symbol.asyncDispose]()
    await this.#owned.disposeAsync()
  }
}

/** A node behind proxies of its database and of the bucket, which kill it. */
class Victim implements AsyncDisposable {
  readonly port: number
  readonly #program: Program
  readonly #database: TcpProxy
  readonly #bucket: TcpProxy
  /** The events since `watch`, and the one at which it was killed. */
  readonly watched: { events: number; event: string | undefined } = { events: 0, event: undefined }

  static async start(options: {
    databasePort: number
    bucketProxy: TcpProxy
    start: (databasePort: number) => Promise<{ program: Program; port: number }>
  }): Promise<Victim> {
    const database = await TcpProxy.open(options.databasePort)
    const { program, port } = await options.start(database.port)
    return new Victim({ program, port, database, bucket: options.bucketProxy })
  }

  private constructor(parts: { program: Program; port: number; database: TcpProxy; bucket: TcpProxy }) {
    this.port = parts.port
    this.#program = parts.program
    this.#database = parts.database
    this.#bucket = parts.bucket
  }

  /** Counts events from now on, and kills the node at this one; what it sent is delivered. */
  watch(killAt: number): void {
    const onBytes: TcpProxy['onBytes'] = (direction, bytes) => {
      const text = bytes.toString('latin1')
      if (direction !== 'toServer' || BACKGROUND.test(text)) return
      if (++this.watched.events !== killAt) return
      signal(this.#program.pid, 'SIGKILL')
      this.watched.event = describe(text)
    }
    this.#database.onBytes = onBytes
    this.#bucket.onBytes = onBytes
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#bucket.onBytes = undefined
    await this.#program[Symbol.asyncDispose]()
    await this.#database[Symbol.asyncDispose]()
  }
}

/** The files of a version: bundled ones, one that needs a request of its own, one of several pieces, and one that stays. */
function contentsOf(content: number): Record<string, Buffer> {
  return {
    ...numberedFiles(content),
    'large.bin': deterministicBytes(content, 1_200_000),
    'same.txt': Buffer.from('the same in all versions'),
  }
}

/** The beginning of a statement, or of a request. */
function describe(bytes: string): string {
  const text = /(?:select|insert|update|delete|begin|commit|with) ?[ -~]{0,50}|(?:GET|PUT|POST) [^ ?]*/.exec(
    bytes,
  )
  return text?.[0] ?? `${bytes.length} bytes`
}
