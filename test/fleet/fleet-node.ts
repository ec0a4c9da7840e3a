import { mkdir, symlink } from 'node:fs/promises'
import { Agent, type ClientRequestArgs } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { Program, type Settings } from '../operator/program.ts'
import { version2 } from '../proxies/proxy-header.ts'
import { epochMs } from '../publishing/history.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'
import { Interruption } from './interruption.ts'

interface FleetNodeOptions {
  name: string
  port: number
  /** Its own folder. */
  folder: string
  /** A folder of blobs that all nodes share; undefined with S3. */
  sharedBlobs: string | undefined
  workers: number
  /** Ports of the servers of PostgreSQL, in the order of the URL. */
  databasePorts: readonly number[]
  database: string
  settings: Settings
}

/** A process, or several, with a data folder, ports and connections to PostgreSQL of its own. */
export class FleetNode implements AsyncDisposable {
  readonly name: string
  readonly port: number
  /** Between the node and each server of PostgreSQL. */
  readonly databases: readonly TcpProxy[]
  /** Connections of visitors, each with the header of the balancer. */
  readonly agent: Agent
  readonly workers: number
  readonly #settings: Settings
  #program: Program | undefined
  /** Counts its starts: caches are empty after each. */
  starts = 0
  /** When it cannot reach its database. */
  readonly cutOff = new Interruption()
  /** When a balancer may have found it closed for the last time: it was killed, or not started yet. */
  closedAt = Number.POSITIVE_INFINITY

  static async open(options: FleetNodeOptions): Promise<FleetNode> {
    const { folder, sharedBlobs } = options
    await mkdir(folder, { recursive: true })
    if (sharedBlobs !== undefined) await symlink(sharedBlobs, join(folder, 'blobs'))
    const databases = await Promise.all(options.databasePorts.map((port) => TcpProxy.open(port)))
    return new FleetNode(options, databases)
  }

  private constructor(options: FleetNodeOptions, databases: readonly TcpProxy[]) {
    const { name, port, folder, workers, database, settings } = options
    this.name = name
    this.port = port
    this.workers = workers
    // Each new connection may get another worker.
    this.agent = new ProxyHeaderAgent({ keepAlive: workers === 1, maxSockets: 16 })
    this.databases = databases
    const hosts = databases.map((proxy) => `127.0.0.1:${proxy.port}`).join(',')
    this.#settings = {
      PORT: String(port),
      DATA: folder,
      DATABASE_URL: `postgres://slipway@${hosts}/${database}`,
      WORKERS: String(workers),
      ...settings,
    }
  }

  /** Until it is stopped: connections that do not come from its balancer may then be refused. */
  get isRunning(): boolean {
    return this.#program !== undefined
  }

  /** Of its process, or of the supervisor of its workers. */
  get pid(): number {
    return this.#program!.pid
  }

  /** Starts it, by default with the release of this tree; resolves when it is ready. */
  async start(root?: string): Promise<void> {
    this.#program = await Program.serve(this.#settings, {
      deadlines: 'production',
      ...(root !== undefined && { root }),
    })
    this.starts++
    if (this.closedAt === Number.POSITIVE_INFINITY) this.closedAt = epochMs()
  }

  /** Stops it by SIGTERM: it serves until its balancer has noticed, and then drains. */
  async stop(): Promise<void> {
    const program = this.#program!
    this.#program = undefined
    await program.stop()
  }

  async kill(): Promise<void> {
    const program = this.#program!
    this.#program = undefined
    this.closedAt = Number.POSITIVE_INFINITY
    await program.kill()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.agent.destroy()
    await this.#program?.kill()
    for (const proxy of this.databases) await proxy[Symbol.asyncDispose]()
  }
}

/** Begins each connection with a PROXY protocol header, as the balancer of the nodes does. */
class ProxyHeaderAgent extends Agent {
  override createConnection(options: ClientRequestArgs): Socket {
    const socket = connect({ port: Number(options.port), host: '127.0.0.1', noDelay: true })
    socket.write(version2('203.0.113.7'))
    return socket
  }
}
