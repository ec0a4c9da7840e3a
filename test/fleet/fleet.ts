import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import type { Settings } from '../operator/program.ts'
import { readRecipe } from '../proxies/recipe.ts'
import { startCeph } from '../tools/ceph.ts'
import { startHaproxy } from '../tools/haproxy.ts'
import { freePort } from '../tools/port.ts'
import { EMPTY, type Postgres, startPostgres } from '../tools/postgres.ts'
import { type SmtpServer, startSmtp } from '../tools/smtp.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'
import { temporaryFolder } from '../tools/temporary-folder.ts'
import { FleetNode } from './fleet-node.ts'
import { Interruption } from './interruption.ts'

/** A server of S3 (Ceph), or a folder that all nodes share. */
export type Storage = 's3' | 'folder'

interface FleetOptions {
  nodes: number
  storage: Storage
  settings?: Settings
}

interface FailoverSteps {
  beforePromotion(): Promise<void>
  /** Durable writes do not wait for a standby yet. */
  afterPromotion(): Promise<void>
}

/** Limits that no client reaches. */
const LIMITS: Settings = { RATE_SIGN_IN: '1000000000', DOMAINS_FREE: '1000' }

/** Nodes over one PostgreSQL with a synchronous standby and one store of blobs, behind HAProxy. */
export class Fleet implements AsyncDisposable {
  readonly nodes: readonly FleetNode[]
  /** The port of the balancer. */
  readonly port: number
  /** Between all nodes and the server of S3. */
  readonly bucket: TcpProxy | undefined
  readonly #database: string
  readonly #owned = new AsyncDisposableStack()
  readonly #smtp: SmtpServer
  readonly #transport = nodeTransport({ idleMs: 15_000 })
  /** When the machine is too slow for all nodes. */
  readonly overload = new Interruption()
  #primary: Postgres
  #standby: Postgres

  /** Starts everything but the nodes, of which the first has two workers. */
  static async open({ nodes: count, storage, settings = {} }: FleetOptions): Promise<Fleet> {
    await using opened = new AsyncDisposableStack()
    const { path: folder } = opened.use(await temporaryFolder('slipway-fleet-'))
    const sharedBlobs = storage === 'folder' ? join(folder, 'blobs') : undefined
    if (sharedBlobs !== undefined) await mkdir(sharedBlobs)
    const ceph = storage === 's3' ? opened.use(await startCeph()) : undefined
    const bucket = ceph && opened.use(await TcpProxy.open(Number(new URL(ceph.endpoint).port)))
    const primary = await startPostgres()
    await using servers = new AsyncDisposableStack()
    servers.use(primary)
    const url = await primary.createDatabase(EMPTY)
    const standby = servers.use(await primary.startStandby())
    const smtp = opened.use(await startSmtp())
    const ports: number[] = []
    while (ports.length < count) ports.push(await freePort())
    const balancer = opened.use(await startHaproxy(2, (own) => configureHaproxy(own, ports)))
    const common: Settings = {
      ...LIMITS,
      SECRET: 'the secret of all nodes of this fleet',
      SMTP_URL: smtp.url,
      BASE_URL: `http://localhost:${balancer.ports[0]}`,
      PROXY_PROTOCOL: 'private',
      READY_SECONDS: '3',
      ...(bucket && { BLOBS_URL: ceph.storageUrl(`http://127.0.0.1:${bucket.port}`) }),
      ...settings,
    }
    const nodes: FleetNode[] = []
    for (const [index, port] of ports.entries()) {
      const name = `node${index + 1}`
      const node = await FleetNode.open({
        name,
        port,
        folder: join(folder, name),
        sharedBlobs,
        workers: index === 0 ? 2 : 1,
        databasePorts: [primary.port, standby.port],
        database: new URL(url).pathname.slice(1),
        settings: common,
      })
      nodes.push(opened.use(node))
    }
    servers.move()
    const fleet = new Fleet({
      nodes,
      port: balancer.ports[0]!,
      bucket,
      smtp,
      primary,
      standby,
      database: new URL(url).pathname.slice(1),
    })
    fleet.#owned.use(opened.move())
    return fleet
  }

  private constructor(parts: {
    nodes: readonly FleetNode[]
    port: number
    bucket: TcpProxy | undefined
    smtp: SmtpServer
    primary: Postgres
    standby: Postgres
    database: string
  }) {
    this.nodes = parts.nodes
    this.port = parts.port
    this.bucket = parts.bucket
    this.#smtp = parts.smtp
    this.#primary = parts.primary
    this.#standby = parts.standby
    this.#database = parts.database
  }

  /** At the primary of now. */
  get databaseUrl(): string {
    return this.#primary.url(this.#database)
  }

  async startNodes(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.start()))
  }

  client(key?: string): Slipway {
    const baseUrl = `http://localhost:${this.port}`
    return new Slipway({ baseUrl, send: this.#transport.send, ...(key === undefined ? {} : { key }) })
  }

  /** Signs in with a code sent by email; returns the API key. */
  signIn(email: string): Promise<string> {
    return withRetry(async () => {
      await this.client().requestCode(email)
      const letter = (await this.#smtp.letters()).at(-1)!
      const code = /^ {4}([A-Z2-9]{4}-[A-Z2-9]{4})\r?$/m.exec(letter.text)![1]!
      return (await this.client().verifyCode(email, code)).apiKey
    })
  }

  /** Ends the standby: the primary confirms no durable commit until it is back. */
  stopStandby(): Promise<void> {
    return this.#standby.kill()
  }

  restartStandby(): Promise<void> {
    return this.#standby.restart()
  }

  async queryPrimary(): Promise<void> {
    await this.#primary.run(this.#primary.url(), 'select')
  }

  /** Kills the primary; its standby takes its place, and gets a standby of its own. */
  async failOver({ beforePromotion, afterPromotion }: FailoverSteps): Promise<void> {
    for (const { cutOff } of this.nodes) cutOff.begin()
    const former = this.#primary
    await former.kill()
    await beforePromotion()
    await this.#standby.promote()
    for (const { cutOff } of this.nodes) cutOff.end()
    this.#primary = this.#standby
    await afterPromotion()
    this.#standby = await this.#primary.startStandby()
    for (const node of this.nodes)
      for (const proxy of node.databases)
        if (proxy.upstreamPort === former.port) proxy.upstreamPort = this.#standby.port
    await former[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#transport.close()
    await this.#owned.disposeAsync()
    await this.#standby[Symbol.asyncDispose]()
    await this.#primary[Symbol.asyncDispose]()
  }
}

/** The SDK repeats publishes only. */
async function withRetry<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isSlipwayError(error, 'UNAVAILABLE', 'NETWORK')) throw error
    }
  }
}

/** The recipe of deploy/edge with these nodes, without HTTPS. */
function configureHaproxy([http, https]: number[], nodes: readonly number[]): string {
  const servers = nodes.map((port, index) => `    server node${index + 1} 127.0.0.1:${port}\n`).join('')
  return readRecipe('haproxy-tcp.cfg', [
    ['bind :80', `bind 127.0.0.1:${http}`],
    ['bind :443', `bind 127.0.0.1:${https}`],
    ['    server node1 10.0.0.11:8080\n    server node2 10.0.0.12:8080\n', servers],
    [
      '    server node1 10.0.0.11:8443 check port 8080\n    server node2 10.0.0.12:8443 check port 8080\n',
      servers,
    ],
  ])
}
