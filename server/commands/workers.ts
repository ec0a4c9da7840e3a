import cluster, { type Worker } from 'node:cluster'
import type { ChangeEffect } from '../lib/loading-cache.ts'
import type { Log } from '../lib/log.ts'
import { Metrics, type MetricsSnapshot, type ProcessSnapshot } from '../lib/metrics.ts'
import type { ChangeEffects } from '../store/store.ts'

type Changes = readonly [name: string, effect: ChangeEffect][]

type Message =
  | { kind: 'changed'; id: number; changes: Changes }
  | { kind: 'invalidate'; id: number; changes: Changes }
  | { kind: 'invalidated'; id: number }
  | { kind: 'acknowledged'; id: number }
  | { kind: 'collect'; id: number }
  | { kind: 'report'; id: number }
  | { kind: 'reported'; id: number; snapshot: MetricsSnapshot }
  | { kind: 'collected'; id: number; processes: ProcessSnapshot[] }
  | { kind: 'ready'; baseUrl: string }
  | { kind: 'ping' }
  | { kind: 'pong' }
  | { kind: 'stop' }

/** Milliseconds that a change waits for other workers; one that hangs catches up through the store. */
const INVALIDATION_TIMEOUT_MS = 1000

/** Milliseconds that a collection of metrics waits for other workers; one that hangs is missing in the result. */
const REPORT_TIMEOUT_MS = 1000

/** Between pings to a worker, and how many in a row may have no answer. */
const PING_INTERVAL_MS = 5000
const MAX_UNANSWERED_PINGS = 4

/** Doubles up to half a minute. */
const INITIAL_RESTART_DELAY_MS = 100
const MAX_RESTART_DELAY_MS = 30_000

/** How a worker ended; with an error, it was never started. */
interface Ended {
  code?: number
  signal?: string
  error?: unknown
}

interface SupervisorOptions {
  workers: number
  args: string[]
  log: Log
  onReady: (baseUrl: string) => void
  pingIntervalMs?: number
}

/**
 * Runs `workers` processes that share the port, the others when the first is ready: it may migrate the database, which
 * they would wait for. Relays invalidations: a change is acknowledged once every other worker has invalidated its caches.
 * Collects their metrics for the worker that has to show them. Kills and restarts a worker that does not answer: the
 * system would still give it connections. Resolves with an exit code after `stop`.
 */
export function supervise(options: SupervisorOptions): { stop(): void; ended: Promise<number> } {
  const { promise: ended, resolve: end } = Promise.withResolvers<number>()
  const waiting = new Map<number, { from: Worker; id: number; left: Set<Worker> }>()
  const collections = new Map<number, { processes: ProcessSnapshot[]; left: Set<Worker>; end(): void }>()
  /** All workers, from 1: a replacement has the number of the worker that it replaces, so that its metrics continue those. */
  const numbers = new Map<Worker, number>()
  const metrics = new Metrics()
  const restarts = metrics.counter('slipway_worker_restarts_total')
  /** Pings since the last answer. The first start may take long: it may migrate the database. */
  const unanswered = new Map<Worker, number>()
  let stopping = false
  let nextId = 0
  let ready = 0
  let pause = INITIAL_RESTART_DELAY_MS
  let exitCode = 0

  cluster.setupPrimary({ args: options.args })
  start(1)
  setInterval(pingAll, options.pingIntervalMs ?? PING_INTERVAL_MS).unref()

  function start(number: number): void {
    if (stopping) return
    let worker: Worker
    try {
      worker = cluster.fork()
    } catch (error) {
      onEnd(number, { error })
      return
    }
    numbers.set(worker, number)
    if (ready >= options.workers) unanswered.set(worker, 0)
    worker.on('message', (message: Message) => onMessage(worker, message))
    worker.on('exit', (code, signal) => remove(worker, { code, signal }))
    // A process that could not be started does not exit.
    worker.on('error', (error) => worker.process.pid === undefined && remove(worker, { error }))
  }

  function remove(worker: Worker, ended: Ended): void {
    const number = numbers.get(worker)!
    numbers.delete(worker)
    unanswered.delete(worker)
    for (const id of [...waiting.keys()]) settle(id, worker)
    for (const id of [...collections.keys()]) addReport(id, worker, {})
    onEnd(number, ended)
  }

  /** The first worker that could not start would fail again. */
  function onEnd(number: number, ended: Ended): void {
    if (stopping) endAfterTheLast()
    else if (ready > 0) restart(number, ended)
    else {
      exitCode = ended.code ?? 1
      if (ended.error) options.log.error('worker could not be started', { ...ended })
      stop()
    }
  }

  /** Counts pings, not time: a machine that was suspended has sent none. */
  function pingAll(): void {
    for (const [worker, count] of unanswered) {
      unanswered.set(worker, count + 1)
      if (count < MAX_UNANSWERED_PINGS) send(worker, { kind: 'ping' })
      else {
        options.log.error('worker does not respond; killing it', { pid: worker.process.pid, pings: count })
        worker.process.kill('SIGKILL')
      }
    }
  }

  function restart(number: number, ended: Ended): void {
    options.log.error(
      ended.error ? 'worker could not be started; trying again' : 'worker exited; restarting it',
      {
        ...ended,
        pause,
      },
    )
    restarts.add()
    setTimeout(start, pause, number)
    pause = Math.min(pause * 2, MAX_RESTART_DELAY_MS)
  }

  function stop(): void {
    stopping = true
    endAfterTheLast()
    for (const worker of numbers.keys()) {
      if (!unanswered.has(worker)) unanswered.set(worker, 0)
      send(worker, { kind: 'stop' })
    }
  }

  function endAfterTheLast(): void {
    if (numbers.size === 0) end(exitCode)
  }

  function onMessage(worker: Worker, message: Message): void {
    if (message.kind === 'changed') broadcast(worker, message)
    else if (message.kind === 'invalidated') settle(message.id, worker)
    else if (message.kind === 'collect') void collect(worker, message)
    else if (message.kind === 'reported') addReport(message.id, worker, message.snapshot)
    else if (message.kind === 'pong') unanswered.set(worker, 0)
    else if (message.kind === 'ready') {
      unanswered.set(worker, 0)
      pause = INITIAL_RESTART_DELAY_MS
      if (++ready === 1) for (let number = 2; number <= options.workers; number++) start(number)
      if (ready === options.workers) options.onReady(message.baseUrl)
    }
  }

  function connected(): Worker[] {
    return [...numbers.keys()].filter((worker) => worker.isConnected())
  }

  function broadcast(from: Worker, { id, changes }: { id: number; changes: Changes }): void {
    const others = connected().filter((one) => one !== from)
    const own = ++nextId
    waiting.set(own, { from, id, left: new Set(others) })
    for (const other of others) send(other, { kind: 'invalidate', id: own, changes })
    setTimeout(() => waiting.delete(own), 2 * INVALIDATION_TIMEOUT_MS)
    settle(own, undefined)
  }

  function settle(id: number, worker: Worker | undefined): void {
    const change = waiting.get(id)
    if (!change) return
    if (worker) change.left.delete(worker)
    if (change.left.size > 0) return
    waiting.delete(id)
    send(change.from, { kind: 'acknowledged', id: change.id })
  }

  /** Answers when all workers have reported, or with those that have after a second. */
  async function collect(from: Worker, { id }: { id: number }): Promise<void> {
    const all = connected()
    const own = ++nextId
    const { promise: isComplete, resolve: end } = Promise.withResolvers<void>()
    const collection = { processes: [] as ProcessSnapshot[], left: new Set(all), end }
    collections.set(own, collection)
    const timeout = setTimeout(end, REPORT_TIMEOUT_MS)
    for (const one of all) send(one, { kind: 'report', id: own })
    await isComplete
    clearTimeout(timeout)
    collections.delete(own)
    const processes = [{ snapshot: await metrics.collect() }, ...collection.processes]
    send(from, { kind: 'collected', id, processes })
  }

  function addReport(id: number, worker: Worker, snapshot: MetricsSnapshot): void {
    const collection = collections.get(id)
    if (!collection?.left.delete(worker)) return
    collection.processes.push({ worker: numbers.get(worker), snapshot })
    if (collection.left.size === 0) collection.end()
  }

  return { ended, stop }
}

/** Sends a message; it is dropped when the other process has closed the channel, as processes that end do. */
function send(to: Worker | NodeJS.Process, message: Message): void {
  to.send?.(message, undefined, undefined, () => undefined)
}

interface Sibling {
  baseUrl: string
  metrics: Metrics
  invalidate(names: readonly string[], effects: ChangeEffects): Promise<void>
}

/** A worker's IPC channel to the other workers. Node ends a worker when its supervisor has exited. */
export class WorkerChannel {
  readonly #waiting = new Map<number, (answer?: Message) => void>()
  #nextId = 0
  #service: Sibling | undefined

  constructor(onStop: () => void) {
    process.on('message', (message: Message) => {
      if (message.kind === 'stop') onStop()
      else if (message.kind === 'acknowledged' || message.kind === 'collected')
        this.#waiting.get(message.id)?.(message)
      else if (message.kind === 'invalidate') void this.#acknowledge(message)
      else if (message.kind === 'report') void this.#report(message)
      else if (message.kind === 'ping') send(process, { kind: 'pong' })
    })
  }

  ready(service: Sibling): void {
    this.#service = service
    send(process, { kind: 'ready', baseUrl: service.baseUrl })
  }

  /** Resolves when every other worker has invalidated these sites, or after a second. */
  async broadcastInvalidation(effects: ChangeEffects): Promise<void> {
    const changes = [...effects]
    await this.#request((id) => ({ kind: 'changed', id, changes }), INVALIDATION_TIMEOUT_MS)
  }

  /** The metrics of all workers that report them within a second, and those of their supervisor. */
  async collectMetrics(): Promise<ProcessSnapshot[]> {
    const answer = await this.#request((id) => ({ kind: 'collect', id }), 2 * REPORT_TIMEOUT_MS)
    return answer?.kind === 'collected' ? answer.processes : []
  }

  /** Sends a message to the supervisor; resolves with its answer, undefined after the time-out. */
  #request(message: (id: number) => Message, timeoutMs: number): Promise<Message | undefined> {
    return new Promise((resolve) => {
      const id = ++this.#nextId
      const done = (answer?: Message) => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        resolve(answer)
      }
      const timer = setTimeout(done, timeoutMs)
      this.#waiting.set(id, done)
      send(process, message(id))
    })
  }

  /** Acknowledges only after invalidated entries were reloaded where needed: the change is then visible here. */
  async #acknowledge({ id, changes }: { id: number; changes: Changes }): Promise<void> {
    try {
      const effects = new Map(changes)
      await this.#service?.invalidate([...effects.keys()], effects)
    } finally {
      send(process, { kind: 'invalidated', id })
    }
  }

  async #report({ id }: { id: number }): Promise<void> {
    send(process, { kind: 'reported', id, snapshot: (await this.#service?.metrics.collect()) ?? {} })
  }
}
