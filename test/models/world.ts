import { type Agent, Agent as HttpAgent, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { type Send, Slipway } from '../../client/sdk/slipway.ts'
import type { OperatorContext } from '../../server/app.ts'
import { prepareDataFolder } from '../../server/config/data-folder.ts'
import { DomainService } from '../../server/domains/domain.ts'
import { proofName } from '../../server/domains/name.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { EdgeFixture } from '../edge/fixture.ts'
import { openTestTables, writeEmptyDatabase } from '../support/engines.ts'
import { openOperator, type RunningService, startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

export const BASE_URL = 'http://localhost:8080'

const PROXY = 'domains.slipway-test.net'

const SETTINGS = {
  BASE_URL,
  PROXY_HOST: PROXY,
  LOG: 'warn',
  VERSIONS_KEPT: '2',
  DRAFTS_KEPT: '2',
  PREVIEW_LIFETIME: '7200',
  DOMAINS_FREE: '4',
  DISK_RESERVE: '0',
  DRAIN_SECONDS: '0',
  ANONYMOUS_NOTICE: 'off',
  // Those of a day that the test skips would be lost.
  VISITS: 'off',
}

export interface Visit {
  host: string
  path: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

export interface VisitResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

/**
 * Two nodes over one database and one place for blobs, the process of an operator beside them whose DNS the test
 * controls, and an edge that has cached nothing.
 */
export class World implements AsyncDisposable {
  readonly nodes: readonly RunningService[]
  readonly operator: OperatorContext
  readonly data: string
  readonly #domains: DomainService
  readonly #fresh: EdgeFixture
  readonly #zone: { pointed: Set<string>; proofs: Map<string, string[]> }
  readonly #transport = nodeTransport({})
  readonly #agent: Agent = new HttpAgent({ keepAlive: true })
  readonly #stack: AsyncDisposableStack

  static async start(now: number): Promise<World> {
    await using stack = new AsyncDisposableStack()
    const { path: data } = stack.use(await memoryFolder())
    await writeEmptyDatabase(data)
    const settings = { ...SETTINGS, DATA: data }
    const start = () => startTestService(settings, now, { scheduledSweeps: [] })
    const nodes = [stack.use(await start()), stack.use(await start())]
    const operator = stack.use(await openOperator(nodes[0]!, settings))
    const environment = Object.entries(SETTINGS).map(([name, value]) => [`SLIPWAY_${name}`, value])
    const fresh = stack.use(
      await EdgeFixture.start({
        folder: data,
        baseUrl: BASE_URL,
        siteDomain: 'localhost',
        environment: Object.fromEntries(environment),
      }),
    )
    fresh.options = { ...fresh.options, secret: prepareDataFolder(data, '').secret }
    return new World({ data, nodes, operator, fresh, stack: stack.move() })
  }

  private constructor(
    parts: Pick<World, 'data' | 'nodes' | 'operator'> & { fresh: EdgeFixture; stack: AsyncDisposableStack },
  ) {
    const { data, nodes, operator, fresh, stack } = parts
    this.data = data
    this.nodes = nodes
    this.operator = operator
    this.#fresh = fresh
    this.#stack = stack
    this.#zone = { pointed: new Set(), proofs: new Map() }
    const { pointed, proofs } = this.#zone
    this.#domains = stack.use(
      new DomainService({
        ...operator,
        dns: {
          cname: async (name) => ({ values: pointed.has(name) ? [PROXY] : [] }),
          addresses: async (name) => ({ values: name === PROXY || pointed.has(name) ? ['192.0.2.1'] : [] }),
          txt: async (name) => ({ values: proofs.get(name) ?? [] }),
          caa: async () => ({ records: [] }),
        },
        proxyHost: PROXY,
        siteDomain: 'localhost',
        baseUrl: BASE_URL,
        stopwatch: () => 0,
      } as ConstructorParameters<typeof DomainService>[0]),
    )
    this.now = nodes[0]!.clock.now
  }

  get now(): number {
    return this.nodes[0]!.clock.now
  }

  set now(now: number) {
    for (const { clock } of [...this.nodes, this.#fresh]) clock.now = now
  }

  /** The SDK at a node, whose pauses take no time. */
  client(node: number, change: { key?: string | undefined; reviewToken?: string } = {}): Slipway {
    const { port } = this.nodes[node]!
    const send: Send = (outgoing) =>
      this.#transport.send({ ...outgoing, url: outgoing.url.replace(BASE_URL, `http://127.0.0.1:${port}`) })
    const retryPolicy = { wait: async () => undefined, random: () => 0.5, now: () => this.now }
    return new Slipway({ baseUrl: BASE_URL, send, retryPolicy, ...change })
  }

  /** Signs in with a code sent by email; returns the API key. */
  async signIn(node: number, email: string): Promise<string> {
    await this.client(node).requestCode(email)
    const code = await this.nodes[0]!.mailedCode(email)
    return (await this.client(node).verifyCode(email, code)).apiKey
  }

  visit(node: number, visit: Visit): Promise<VisitResponse> {
    return this.#send(this.nodes[node]!.port, visit)
  }

  /** Requests from an edge with empty caches. */
  async visitFresh(visits: readonly Visit[]): Promise<VisitResponse[]> {
    this.#fresh.forgetAll()
    const responses: VisitResponse[] = []
    for (const visit of visits) responses.push(await this.#send(this.#fresh.port, visit))
    return responses
  }

  async #send(port: number, { host, path, method = 'GET', headers, body }: Visit): Promise<VisitResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<VisitResponse>()
    const given = { host, ...headers }
    const sent = request({ host: '127.0.0.1', port, path, method, headers: given, agent: this.#agent })
    sent.on('error', reject)
    sent.on('response', (response) => {
      const { statusCode, headers } = response
      const read = async () => ({
        status: statusCode!,
        headers,
        text: (await buffer(response)).toString('latin1'),
      })
      read().then(resolve, reject)
    })
    sent.end(body)
    return promise
  }

  /** Returns when all processes know of all changes, and no work is left that follows responses. */
  async settle(): Promise<void> {
    for (const { service } of this.nodes) {
      await service.pollChanges()
      await service.precompressor.onIdle()
    }
    for (const { service } of this.nodes) await service.pollChanges()
    await this.operator.store.pollChanges()
    await this.operator.precompressor.onIdle()
    await this.#fresh.store.real.pollChanges()
  }

  async sweep(...names: string[]): Promise<number> {
    const parts = { ...this.operator, domains: this.#domains }
    let affected = 0
    for (const sweep of sweeps.filter(({ name }) => names.includes(name)))
      affected += await runOnce(sweep, parts)
    return affected
  }

  /** Changes the records of a domain: all proofs of its owners, or none. */
  setRecords(domain: string, proofs: readonly string[] | undefined): void {
    const { pointed, proofs: known } = this.#zone
    if (proofs) pointed.add(domain)
    else pointed.delete(domain)
    known.set(proofName(domain), [...(proofs ?? [])])
  }

  openTables() {
    return openTestTables(this.data)
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    this.#transport.close()
    return this.#stack.disposeAsync()
  }
}
