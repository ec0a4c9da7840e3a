import { setTimeout as pause } from 'node:timers/promises'
import { Component } from '../../lib/component.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Incidents } from '../../lib/incidents.ts'
import type { Metrics } from '../../lib/metrics.ts'
import type { AnswerWatch } from './answer-watch.ts'
import { PostgresClient } from './client.ts'
import type { Cluster } from './connection-url.ts'
import { MIN_SERVER_VERSION, unavailable } from './errors.ts'

interface SearchOptions {
  cluster: Cluster
  answers: AnswerWatch
  /** How long a connection may take; then UNAVAILABLE. */
  timeoutMs: number
  /** The oldest server that is accepted, as `server_version_num`. */
  minVersion?: number | undefined
  metrics: Metrics
  incidents?: Incidents | undefined
  /** Called with the host that is the primary in place of another one. */
  onChange: (primary: Cluster['hosts'][number]) => void
}

/** How long the host that was the primary has to answer before the next one is tried at the same time. */
const NEXT_HOST_DELAY_MS = 150

type SearchFailure = { hosts: string; reason: string }

export class PrimarySearch extends Component<SearchOptions> {
  /** Connections to hosts of which it is not known yet whether they are the primary. */
  readonly #unproven = new Set<PostgresClient>()
  #preferred: number | undefined
  #failure: SearchFailure | undefined
  #isClosed = false

  get failure(): SearchFailure | undefined {
    return this.#failure
  }

  close(): void {
    this.#isClosed = true
    for (const client of this.#unproven) client.destroy()
  }

  /** The host that was the primary comes first; the next is tried when that one fails, or does not answer soon. */
  async connect(): Promise<PostgresClient> {
    const { cluster, timeoutMs } = this.parts
    const deadline = performance.now() + timeoutMs
    const { length } = cluster.hosts
    const search = { clients: new Set<PostgresClient>(), isDone: false }
    const attempts: Promise<PostgresClient>[] = []
    for (let turn = 0; turn < length; turn++) {
      const index = ((this.#preferred ?? 0) + turn) % length
      attempts.push(this.#attempt(index, { search, deadline, previous: attempts.at(-1) }))
    }
    try {
      const found = await Promise.any(attempts)
      this.parts.metrics.counter('slipway_store_pool_connects_total', { outcome: 'ok' }).add()
      this.#failure = undefined
      return found
    } catch (error) {
      this.parts.metrics.counter('slipway_store_pool_connects_total', { outcome: 'failed' }).add()
      const { errors } = error as { errors: Error[] }
      const cause = errors.find((one) => !(one instanceof StandbyError)) ?? errors[0]!
      this.#failure = { hosts: cluster.hosts.map(formatHost).join(', '), reason: cause.message }
      throw cause instanceof ApiError ? cause : unavailable(cause)
    } finally {
      for (const client of search.clients) {
        this.#unproven.delete(client)
        client.destroy()
      }
    }
  }

  async #attempt(index: number, { search, deadline, previous }: Attempt): Promise<PostgresClient> {
    if (previous) {
      const failed = previous.then(
        () => undefined,
        () => undefined,
      )
      await Promise.race([failed, pause(NEXT_HOST_DELAY_MS, undefined, { ref: false })])
    }
    if (search.isDone || this.#isClosed) throw new StandbyError('another host is the primary')
    const client = new PostgresClient(this.parts.cluster, index, this.parts.answers)
    search.clients.add(client)
    this.#unproven.add(client)
    const { minVersion = MIN_SERVER_VERSION } = this.parts
    const isPrimary = await client.connectToPrimary(deadline - performance.now(), minVersion)
    if (!isPrimary || search.isDone) throw new StandbyError('no host of the database URL is a primary')
    search.isDone = true
    search.clients.delete(client)
    this.#unproven.delete(client)
    const { hosts } = this.parts.cluster
    const [primary, before] = [hosts[index]!, hosts[this.#preferred ?? index]!]
    this.#preferred = index
    if (primary !== before) this.#tellOfChange(primary, before)
    return client
  }

  #tellOfChange(primary: Cluster['hosts'][number], before: Cluster['hosts'][number]): void {
    const { incidents, onChange } = this.parts
    incidents?.report('primary-changed', { primary: formatHost(primary), before: formatHost(before) })
    onChange(primary)
  }
}

function formatHost({ host, port }: Cluster['hosts'][number]): string {
  return `${host}:${port}`
}

interface Attempt {
  search: { clients: Set<PostgresClient>; isDone: boolean }
  deadline: number
  previous: Promise<PostgresClient> | undefined
}

class StandbyError extends Error {}
