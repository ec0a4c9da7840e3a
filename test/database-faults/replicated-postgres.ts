import { postgresStore } from '../../server/store/postgres/postgres.ts'
import type { Store } from '../../server/store/store.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Postgres, startPostgres } from '../tools/postgres.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'
import type { StoreOptions } from './proxied-store.ts'

/** A primary that flushes each commit, and its synchronous standby. Nodes know both by addresses that stay. */
export class ReplicatedPostgres implements AsyncDisposable {
  primary: Postgres
  standby: Postgres
  /** The network from the primary to its standby. */
  replication: TcpProxy
  /** How nodes reach the servers. */
  readonly #hosts: readonly [TcpProxy, TcpProxy]

  private constructor(primary: Postgres, standby: Postgres, proxies: [TcpProxy, TcpProxy, TcpProxy]) {
    this.primary = primary
    this.standby = standby
    const [replication, ...hosts] = proxies
    this.replication = replication
    this.#hosts = hosts
  }

  static async start(): Promise<ReplicatedPostgres> {
    const primary = await startPostgres({ isDurable: true })
    const replication = await TcpProxy.open(primary.port)
    const standby = await primary.startStandby({ through: replication.port })
    const hosts = [await TcpProxy.open(primary.port), await TcpProxy.open(standby.port)] as const
    return new ReplicatedPostgres(primary, standby, [replication, ...hosts])
  }

  /** The URL of a new database, with both hosts. */
  async createDatabase(): Promise<string> {
    const url = new URL(await this.primary.createDatabase())
    const hosts = this.#hosts.map(({ port }) => `127.0.0.1:${port}`).join(',')
    return `postgres://slipway@${hosts}${url.pathname}`
  }

  openStore(url: string, { timeouts, ...options }: StoreOptions = {}): Promise<Store> {
    const patient = { ...PATIENT_TIMEOUTS, poll: 5000 }
    return postgresStore({ url, pollIntervalMs: 20, ...options, timeouts: { ...patient, ...timeouts } })
  }

  /** Runs SQL in the database of the URL on the primary. */
  async run(url: string, sql: string): Promise<Record<string, unknown>[]> {
    const database = new URL(url.replace(/@[^/]*/, '@127.0.0.1')).pathname.slice(1)
    return (await this.primary.run(this.primary.url(database), sql)).rows
  }

  /** Resolves with the process of the server whose commit waits for the standby. */
  async untilCommitWaits(url: string): Promise<number> {
    const waiting = `select pid from pg_stat_activity
      where datname = current_database() and wait_event = 'SyncRep'`
    let pid: unknown
    await waitFor(async () => {
      pid = (await this.run(url, waiting))[0]?.pid
      return pid !== undefined
    })
    return pid as number
  }

  /** Kills the primary, and promotes the standby. */
  async failOver(): Promise<void> {
    await this.primary.kill()
    await this.standby.promote()
    await this.primary[Symbol.asyncDispose]()
    this.primary = this.standby
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const proxy of [this.replication, ...this.#hosts]) await proxy[Symbol.asyncDispose]()
    if (this.standby !== this.primary) await this.standby[Symbol.asyncDispose]()
    await this.primary[Symbol.asyncDispose]()
  }
}
