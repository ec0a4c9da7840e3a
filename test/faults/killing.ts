import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway, SlipwayError } from '../../client/sdk/slipway.ts'
import type { Random } from '../support/random.ts'
import { KillPoint } from './instant.ts'
import { AckLog } from './ledger.ts'
import { ConsistencyReader } from './onlooker.ts'
import { Publisher } from './publisher.ts'
import { findOrphans } from './remains.ts'
import { lastingPort, ServerProcess, signal } from './server-process.ts'
import { StateVerifier } from './truth.ts'
import { SiteVisitor } from './visitor.ts'

const PUBLISHERS = 6
const ONLOOKERS = 2

/** What a kill hits: one worker, or everything. */
export interface Target {
  workers: number
  victim: 'worker' | 'service'
}

export interface Restart {
  workers: number
  /** From the start of a process on what a kill left to its first answer. */
  milliseconds: number
}

interface KillingOptions {
  data: string
  random: Random
  targets: readonly Target[]
  /** Steps of clients (see `KillPoint`) before a kill. */
  maxSteps: number
  /** Ends the service, whatever it is doing. */
  signal?: AbortSignal | undefined
}

interface Plan extends Target {
  /** Whether the clients outlive the service and go on when it is back. */
  clientsSurvive: boolean
  /** New clients, or those that survived the kill before. */
  newClients: boolean
}

/** One data folder and what it goes through: start, compare with the ledger, publish, kill. */
export class Killing {
  readonly ledger = new AckLog()
  readonly faults: string[] = []
  readonly restarts: Restart[] = []
  looks = 0
  readonly #options: KillingOptions
  readonly #random: Random
  readonly #port: number
  #publishers: Publisher[] = []
  #server: ServerProcess | undefined
  #back = Promise.withResolvers<void>()
  #instant: KillPoint
  #clients = new AbortController()
  #working: Promise<void> = Promise.resolve()

  static async begin(options: KillingOptions): Promise<Killing> {
    return new Killing(options, await lastingPort())
  }

  private constructor(options: KillingOptions, port: number) {
    this.#options = options
    this.#random = options.random
    this.#port = port
    this.#instant = new KillPoint(options.maxSteps, options.random)
  }

  /** Starts the service on what the last kill left, looks at that, publishes, kills; answers a line about it. */
  async once(): Promise<string> {
    const plan = this.#plan()
    const before = this.ledger.acknowledged
    await using server = await this.#start(plan.workers)
    await this.#working
    await this.#compare(server)
    await this.#publishUntilKilled(server, plan)
    const clients = plan.clientsSurvive ? 'which go on' : 'which end too'
    const told = this.ledger.acknowledged - before
    return `${plan.victim} of ${plan.workers}, clients ${clients}, ${told} facts, back in ${Math.round(this.restarts.at(-1)!.milliseconds)} ms`
  }

  /** A last look at everything, from outside and at what is in the folder. */
  async end(): Promise<void> {
    await using server = await this.#start(1)
    await this.#working
    this.ledger.touched = new Set(this.ledger.sites.values())
    await this.#compare(server)
    await server.stop()
    this.faults.push(...(await findOrphans(this.#options.data, this.ledger)))
    this.faults.push(...this.ledger.surprises.map(({ sentence }) => `refused: ${sentence}`))
  }

  #plan(): Plan {
    const random = this.#random
    const target = random.pick(this.#options.targets)
    const clientsSurvive = target.victim === 'worker' || random.chance(0.5)
    const newClients = this.#publishers.length === 0 || random.chance(0.3)
    return { ...target, clientsSurvive, newClients }
  }

  async #start(workers: number): Promise<ServerProcess> {
    const { data, signal } = this.#options
    const began = performance.now()
    const settings = { WORKERS: String(workers), PORT: String(this.#port), LOG: 'info' }
    const server = await ServerProcess.start({ data, settings, signal })
    await fetch(`${server.baseUrl}/health`)
    this.restarts.push({ workers, milliseconds: performance.now() - began })
    this.#server = server
    this.#back.resolve()
    return server
  }

  async #compare(server: ServerProcess): Promise<void> {
    using visitor = new SiteVisitor(this.#port)
    const transport = nodeTransport()
    const client = new Slipway({ baseUrl: server.baseUrl, send: transport.send })
    const truth = new StateVerifier({ ledger: this.ledger, client, visitor })
    const found = await truth.aboutTouched(this.#random)
    transport.close()
    if (found.length > 0)
      this.faults.push(...found, `the service said:\n${server.output.slice(-20).join('\n')}`)
  }

  async #publishUntilKilled(server: ServerProcess, plan: Plan): Promise<void> {
    if (plan.newClients) this.#publishers = this.#newPublishers(server)
    this.#instant = new KillPoint(this.#options.maxSteps, this.#random)
    let over = false
    const isOver = () => over || this.#options.signal?.aborted === true
    const lookingOn = this.#lookOn(isOver)
    const clients = this.#clients
    this.#working = allEnded(
      this.#publishers.map((one) => one.work(isOver).catch(unlessAborted(clients.signal))),
    )
    await Promise.race([this.#instant.reached, this.#working])
    if (plan.victim === 'worker') {
      signal(this.#random.pick(server.workers), 'SIGKILL')
      this.#instant = new KillPoint(this.#options.maxSteps, this.#random)
      await Promise.race([this.#instant.reached, this.#working])
    }
    over = true
    if (plan.victim === 'worker') await this.#working
    this.#back = Promise.withResolvers()
    if (!plan.clientsSurvive) this.#leaveClients()
    await server.kill()
    await lookingOn
  }

  #leaveClients(): void {
    this.#clients.abort(new Error('the client ends with the service'))
    this.#publishers = []
  }

  /** Clients with the patience of people: they wait until the service is back, however long that takes. */
  #newPublishers(server: ServerProcess): Publisher[] {
    this.#clients = new AbortController()
    const { signal } = this.#clients
    const { send } = nodeTransport()
    const client = new Slipway({
      baseUrl: server.baseUrl,
      signal,
      send: (request) => this.#instant.counting(send)(request),
      retryPolicy: { wait: () => this.#back.promise, random: Math.random, now: Date.now },
    })
    return Array.from({ length: PUBLISHERS }, () => {
      const options = { client, ledger: this.ledger, random: this.#random.fork() }
      return new Publisher({
        ...options,
        mailedCode: (email) => this.#mailedCode(email),
        recovery: () => this.#back.promise,
      })
    })
  }

  async #mailedCode(email: string): Promise<string> {
    try {
      return await this.#server!.mailedCode(email)
    } catch {
      throw new SlipwayError('the letter is lost with the service', { code: 'NETWORK' })
    }
  }

  async #lookOn(enough: () => boolean): Promise<void> {
    const options = { port: this.#port, ledger: this.ledger, random: this.#random.fork() }
    const onlookers = Array.from({ length: ONLOOKERS }, () => new ConsistencyReader(options))
    await Promise.all(onlookers.map((one) => one.look(enough)))
    for (const { faults, looks } of onlookers) {
      this.faults.push(...faults)
      this.looks += looks
    }
  }
}

/** Resolves when all have ended, and only then rejects with what one of them failed with. */
async function allEnded(all: Promise<void>[]): Promise<void> {
  await Promise.allSettled(all)
  await Promise.all(all)
}

function unlessAborted(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}
