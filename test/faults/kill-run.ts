import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway, SlipwayError } from '../../client/sdk/slipway.ts'
import { lastingPort, Program, signal } from '../operator/program.ts'
import { ConsistencyReader } from '../publishing/consistency-reader.ts'
import { History } from '../publishing/history.ts'
import { Publisher, throwUnlessSlipwayError } from '../publishing/publisher.ts'
import { SiteVisitor } from '../publishing/site-visitor.ts'
import { StateVerifier } from '../publishing/verifier.ts'
import type { Random } from '../support/random.ts'
import { verifyDataFolder } from './data-folder.ts'
import { KillPoint } from './kill-point.ts'

const PUBLISHERS = 6
const READERS = 2

export interface Target {
  workers: number
  /** Kill one worker, or the server with all its workers. */
  victim: 'worker' | 'service'
}

export interface Restart {
  workers: number
  /** From process start on the data folder of the killed server to the first response. */
  milliseconds: number
}

interface KillRunOptions {
  data: string
  random: Random
  targets: readonly Target[]
  /** Maximum client steps (see `KillPoint`) before a kill. */
  maxSteps: number
  /** Kills the server. */
  signal?: AbortSignal | undefined
}

interface Plan extends Target {
  /** Whether the clients outlive the server and continue after the restart. */
  clientsSurvive: boolean
  /** Whether new clients replace those that survived the previous kill. */
  newClients: boolean
}

/** Repeated cycles on one data folder: start, verify against the log, publish, kill. */
export class KillRun {
  readonly history = new History()
  readonly faults: string[] = []
  readonly restarts: Restart[] = []
  reads = 0
  readonly #options: KillRunOptions
  readonly #random: Random
  readonly #port: number
  #publishers: Publisher[] = []
  #server: Program | undefined
  #kills = 0
  #restarted = Promise.withResolvers<void>()
  #killPoint: KillPoint
  #clients = new AbortController()
  #publishing: Promise<void> = Promise.resolve()

  static async begin(options: KillRunOptions): Promise<KillRun> {
    return new KillRun(options, await lastingPort())
  }

  private constructor(options: KillRunOptions, port: number) {
    this.#options = options
    this.#random = options.random
    this.#port = port
    this.#killPoint = new KillPoint(options.maxSteps, options.random)
  }

  /** Runs one cycle on the state that the last kill left; returns one line for the report. */
  async once(): Promise<string> {
    const plan = this.#plan()
    const before = this.history.acknowledged
    await using server = await this.#start(plan.workers)
    await this.#publishing
    await this.#compare(server)
    await this.#publishUntilKilled(server, plan)
    const clients = plan.clientsSurvive ? 'continue' : 'end too'
    const facts = this.history.acknowledged - before
    const restartMs = Math.round(this.restarts.at(-1)!.milliseconds)
    return `${plan.victim} of ${plan.workers}, clients ${clients}, ${facts} facts, restart in ${restartMs} ms`
  }

  /** Verifies every site over HTTP, then the data folder. */
  async end(): Promise<void> {
    await using server = await this.#start(1)
    await this.#publishing
    this.history.touched = new Set(this.history.sites.values())
    await this.#compare(server)
    await server.stop()
    this.faults.push(...(await verifyDataFolder(this.#options.data, this.history)))
    this.faults.push(...this.history.refusals.map(({ sentence }) => `refused: ${sentence}`))
  }

  #plan(): Plan {
    const random = this.#random
    const { targets } = this.#options
    const target = targets[this.#kills++ % targets.length]!
    const clientsSurvive = target.victim === 'worker' || random.chance(0.5)
    const newClients = this.#publishers.length === 0 || random.chance(0.3)
    return { ...target, clientsSurvive, newClients }
  }

  async #start(workers: number): Promise<Program> {
    const { data, signal } = this.#options
    const startedAt = performance.now()
    const settings = { DATA: data, WORKERS: String(workers), PORT: String(this.#port) }
    const server = await Program.serve(settings, { signal })
    await fetch(`${server.baseUrl}/health`)
    this.restarts.push({ workers, milliseconds: performance.now() - startedAt })
    this.#server = server
    this.#restarted.resolve()
    return server
  }

  async #compare(server: Program): Promise<void> {
    using visitor = new SiteVisitor(this.#port)
    const transport = nodeTransport()
    const client = new Slipway({ baseUrl: server.baseUrl, send: transport.send })
    const verifier = new StateVerifier({ history: this.history, client, visitor })
    const faults = await verifier.verifyTouched(this.#random)
    transport.close()
    if (faults.length > 0) this.faults.push(...faults, `server output:\n${server.output}`)
  }

  async #publishUntilKilled(server: Program, plan: Plan): Promise<void> {
    if (plan.newClients) this.#publishers = this.#newPublishers(server)
    this.#killPoint = new KillPoint(this.#options.maxSteps, this.#random)
    let stopped = false
    const isStopped = () => stopped || this.#options.signal?.aborted === true
    const reading = this.#readUntil(isStopped)
    const clients = this.#clients
    this.#publishing = settleAll(
      this.#publishers.map((one) => one.work(isStopped).catch(rethrowUnlessAborted(clients.signal))),
    )
    await Promise.race([this.#killPoint.reached, this.#publishing])
    if (plan.victim === 'worker') {
      signal(this.#random.pick(server.workers), 'SIGKILL')
      this.#killPoint = new KillPoint(this.#options.maxSteps, this.#random)
      await Promise.race([this.#killPoint.reached, this.#publishing])
    }
    stopped = true
    if (plan.victim === 'worker') await this.#publishing
    this.#restarted = Promise.withResolvers()
    if (!plan.clientsSurvive) this.#abortClients()
    await server.kill()
    await reading
  }

  #abortClients(): void {
    this.#clients.abort(new Error('the client ends with the service'))
    this.#publishers = []
  }

  /** Clients that retry after the restart, without a time limit. */
  #newPublishers(server: Program): Publisher[] {
    this.#clients = new AbortController()
    const { signal } = this.#clients
    const { send } = nodeTransport()
    const client = new Slipway({
      baseUrl: server.baseUrl,
      signal,
      send: (request) => this.#killPoint.countSteps(send)(request),
      retryPolicy: { wait: () => this.#restarted.promise, random: Math.random, now: Date.now },
    })
    return Array.from({ length: PUBLISHERS }, () => {
      const options = { client, history: this.history, random: this.#random.fork() }
      return new Publisher({
        ...options,
        mailedCode: (email) => this.#mailedCode(email),
        onError: (error) => {
          throwUnlessSlipwayError(error)
          return this.#restarted.promise
        },
      })
    })
  }

  async #mailedCode(email: string): Promise<string> {
    try {
      return await this.#server!.mailedCode(email)
    } catch {
      throw new SlipwayError('the server ended before it sent the code', { code: 'NETWORK' })
    }
  }

  async #readUntil(isDone: () => boolean): Promise<void> {
    const options = { port: this.#port, history: this.history, random: this.#random.fork() }
    const readers = Array.from({ length: READERS }, () => new ConsistencyReader(options))
    await Promise.all(readers.map((one) => one.run(isDone)))
    for (const { faults, reads } of readers) {
      this.faults.push(...faults)
      this.reads += reads
    }
  }
}

/** Waits for all, then rejects if one of them rejected. */
async function settleAll(all: Promise<void>[]): Promise<void> {
  await Promise.allSettled(all)
  await Promise.all(all)
}

function rethrowUnlessAborted(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}
