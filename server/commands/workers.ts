import cluster, { type Worker } from 'node:cluster'
import type { ChangeEffect } from '../lib/loading-cache.ts'
import type { Log } from '../lib/log.ts'
import { Metrics, type MetricsSnapshot, type ProcessSnapshot } from '../lib/metrics.ts'
import type { ChangeEffects } from '../store/store.ts'

type Changes = readonly [name: string, effect: ChangeEffect][]

/** Changes to invalidate, for the other workers. Without them it requests the metrics of all. */
interface Question {
  id: number
  changes?: Changes | undefined
}

/** A worker asks its supervisor, which asks the workers and passes their answers on. */
type Message =
  | ({ kind: 'ask' | 'question' } & Question)
  | { kind: 'answer'; id: number; snapshot: MetricsSnapshot }
  | { kind: 'answers'; id: number; processes: ProcessSnapshot[] }
  | { kind: 'ready'; baseUrl: string }
  | { kind: 'ping' }
  | { kind: 'pong' }
  | { kind: 'stop' }

/** A worker that hangs catches up with changes through the store, and its metrics are missing. */
const ANSWER_TIMEOUT_MS = 1000

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
  const questions = new Map<number, { processes: ProcessSnapshot[]; left: Set<Worker>; end(): void }>()
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

  const { pingIntervalMs = PING_INTERVAL_MS } = options
  cluster.setupPrimary({ args: options.args })
  start(1)
  setInterval(pingAll, pingIntervalMs).unref()

  /** With `pausedMs`, it may leave pings of this time unanswered: on a busy machine a start takes longer. */
  function start(number: number, pausedMs = 0): void {
    if (stopping) return
    let worker: Worker
    try {
      worker = cluster.fork()
    } catch (error) {
      onEnd(number, { error })
      return
    }
    numbers.set(worker, number)
    if (ready >= options.workers) unanswered.set(worker, -Math.floor(pausedMs / pingIntervalMs))
    worker.on('message', (message: Message) => onMessage(worker, message))
    worker.on('exit', (code, signal) => remove(worker, { code, signal }))
    // A process that could not be started does not exit.
    worker.on('error', (error) => worker.process.pid === undefined && remove(worker, { error }))
  }

  function remove(worker: Worker, ended: Ended): void {
    const number = numbers.get(worker)!
    numbers.delete(worker)
    unanswered.delete(worker)
    for (const id of questions.keys()) addAnswer(id, worker, {})
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
        options.log.error('worker does not respond; killing it', { pid: worker.process.pid })
        worker.process.kill('SIGKILL')
      }
    }
  }

  function restart(number: number, ended: Ended): void {
    const event = ended.error ? 'worker could not be started; trying again' : 'worker exited; restarting it'
    options.log.error(event, { ...ended, pause })
    restarts.add()
    setTimeout(start, pause, number, pause)
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
    if (message.kind === 'ask') void relay(worker, message)
    else if (message.kind === 'answer') addAnswer(message.id, worker, message.snapshot)
    else if (message.kind === 'pong') unanswered.set(worker, 0)
    else if (message.kind === 'ready') {
      unanswered.set(worker, 0)
      pause = INITIAL_RESTART_DELAY_MS
      if (++ready === 1) for (let number = 2; number <= options.workers; number++) start(number)
      if (ready === options.workers) options.onReady(message.baseUrl)
    }
  }

  /** Answers when all workers have, or with the answers of those that have after a second. */
  async function relay(from: Worker, { id, changes }: Question): Promise<void> {
    const asked = [...numbers.keys()].filter((one) => one.isConnected() && (one !== from || !changes))
    const own = ++nextId
    const { promise: isComplete, resolve: end } = Promise.withResolvers<void>()
    const question = { processes: [] as ProcessSnapshot[], left: new Set(asked), end }
    questions.set(own, question)
    const timeout = setTimeout(end, ANSWER_TIMEOUT_MS)
    for (const one of asked) send(one, { kind: 'question', id: own, changes })
    if (asked.length === 0) end()
    await isComplete
    clearTimeout(timeout)
    questions.delete(own)
    const processes = changes ? [] : [{ snapshot: await metrics.collect() }, ...question.processes]
    send(from, { kind: 'answers', id, processes })
  }

  function addAnswer(id: number, worker: Worker, snapshot: MetricsSnapshot): void {
    const question = questions.get(id)
    if (!question?.left.delete(worker)) return
    question.processes.push({ worker: numbers.get(worker), snapshot })
    if (question.left.size === 0) question.end()
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
  readonly #waiting = new Map<number, (processes: ProcessSnapshot[]) => void>()
  #nextId = 0
  #service: Sibling | undefined

  constructor(onStop: () => void) {
    process.on('message', (message: Message) => {
      if (message.kind === 'stop') onStop()
      else if (message.kind === 'answers') this.#waiting.get(message.id)?.(message.processes)
      else if (message.kind === 'question') void this.#answer(message)
      else if (message.kind === 'ping') send(process, { kind: 'pong' })
    })
  }

  ready(service: Sibling): void {
    this.#service = service
    send(process, { kind: 'ready', baseUrl: service.baseUrl })
  }

  /** Resolves when every other worker has invalidated these sites, or after a second. */
  async broadcastInvalidation(effects: ChangeEffects): Promise<void> {
    await this.#ask([...effects])
  }

  /** The metrics of all workers that report them within a second, and those of their supervisor. */
  collectMetrics(): Promise<ProcessSnapshot[]> {
    return this.#ask()
  }

  /** Empty when the supervisor does not answer either. */
  #ask(changes?: Changes): Promise<ProcessSnapshot[]> {
    return new Promise((resolve) => {
      const id = ++this.#nextId
      const done = (processes: ProcessSnapshot[] = []) => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        resolve(processes)
      }
      const timer = setTimeout(done, 2 * ANSWER_TIMEOUT_MS)
      this.#waiting.set(id, done)
      send(process, { kind: 'ask', id, changes })
    })
  }

  /** Only after invalidated entries were reloaded where needed: a change is then visible here. */
  async #answer({ id, changes }: Question): Promise<void> {
    let snapshot: MetricsSnapshot | undefined
    try {
      const effects = new Map(changes)
      if (changes) await this.#service?.invalidate([...effects.keys()], effects)
      else snapshot = await this.#service?.metrics.collect()
    } finally {
      send(process, { kind: 'answer', id, snapshot: snapshot ?? {} })
    }
  }
}
