import cluster, { type Worker } from 'node:cluster'
import type { Log } from './lib/log.ts'

/** Messages between the processes of one machine. */
type Message =
  | { kind: 'changed'; id: number; slugs: readonly string[] }
  | { kind: 'invalidate'; id: number; slugs: readonly string[] }
  | { kind: 'invalidated'; id: number }
  | { kind: 'acknowledged'; id: number }
  | { kind: 'ready'; baseUrl: string }
  | { kind: 'stop' }

/** Milliseconds that a change waits for other workers; one that hangs catches up through the store. */
const INVALIDATION_TIMEOUT_MS = 1000

/** Delay before a worker that ended is started again, in milliseconds: doubles up to half a minute. */
const INITIAL_RESTART_DELAY_MS = 100
const MAX_RESTART_DELAY_MS = 30_000

interface SupervisorOptions {
  workers: number
  args: string[]
  log: Log
  onReady: (baseUrl: string) => void
}

/**
 * Runs `workers` processes that share the port, and relays invalidations between them: a change is
 * acknowledged once every other worker has invalidated its caches. Resolves with an exit code after `stop`.
 */
export function supervise(options: SupervisorOptions): { stop(): void; ended: Promise<number> } {
  const { promise: ended, resolve: end } = Promise.withResolvers<number>()
  const waiting = new Map<number, { from: Worker; id: number; left: Set<Worker> }>()
  let stopping = false
  let nextId = 0
  let ready = 0
  let pause = INITIAL_RESTART_DELAY_MS
  let everReady = false
  let exitCode = 0

  cluster.setupPrimary({ args: options.args })
  for (let index = 0; index < options.workers; index++) start()

  function start(): void {
    const worker = cluster.fork()
    worker.on('message', (message: Message) => onMessage(worker, message))
    worker.on('exit', (code, signal) => {
      for (const id of [...waiting.keys()]) settle(id, worker)
      if (stopping) endAfterTheLast()
      else if (everReady) restart(code, signal)
      else exit(code ?? 1)
    })
  }

  function restart(code: number, signal: string): void {
    options.log.error('worker exited; restarting it', { code, signal, pause })
    setTimeout(() => !stopping && start(), pause)
    pause = Math.min(pause * 2, MAX_RESTART_DELAY_MS)
  }

  /** A worker that could not start would fail again. */
  function exit(code: number): void {
    exitCode = code
    stop()
  }

  function stop(): void {
    stopping = true
    endAfterTheLast()
    for (const worker of workers()) {
      send(worker, { kind: 'stop' })
    }
  }

  function endAfterTheLast(): void {
    if (workers().length === 0) end(exitCode)
  }

  function onMessage(worker: Worker, message: Message): void {
    if (message.kind === 'changed') broadcast(worker, message)
    else if (message.kind === 'invalidated') settle(message.id, worker)
    else if (message.kind === 'ready') {
      pause = INITIAL_RESTART_DELAY_MS
      if (++ready === options.workers && !everReady) {
        everReady = true
        options.onReady(message.baseUrl)
      }
    }
  }

  function broadcast(from: Worker, { id, slugs }: { id: number; slugs: readonly string[] }): void {
    const others = workers().filter((one) => one !== from && one.isConnected())
    const own = ++nextId
    waiting.set(own, { from, id, left: new Set(others) })
    for (const other of others) send(other, { kind: 'invalidate', id: own, slugs })
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

  return { ended, stop }
}

/** Sends a message; it is dropped when the other process has closed the channel, as processes that end do. */
function send(to: Worker | NodeJS.Process, message: Message): void {
  to.send?.(message, undefined, undefined, () => undefined)
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}

/** A worker's IPC channel to the other workers. Node ends a worker when its supervisor has exited. */
export class WorkerChannel {
  readonly #waiting = new Map<number, () => void>()
  #nextId = 0
  #invalidate: (slugs: readonly string[]) => Promise<void> | undefined = () => undefined

  constructor(onStop: () => void) {
    process.on('message', (message: Message) => {
      if (message.kind === 'stop') onStop()
      else if (message.kind === 'acknowledged') this.#waiting.get(message.id)?.()
      else if (message.kind === 'invalidate') void this.#acknowledge(message)
    })
  }

  ready(service: { baseUrl: string; invalidate(slugs: readonly string[]): Promise<void> | undefined }): void {
    this.#invalidate = (slugs) => service.invalidate(slugs)
    send(process, { kind: 'ready', baseUrl: service.baseUrl })
  }

  /** Resolves when every other worker has invalidated these sites, or after a second. */
  broadcastInvalidation(slugs: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      const id = ++this.#nextId
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        resolve()
      }
      const timer = setTimeout(done, INVALIDATION_TIMEOUT_MS)
      this.#waiting.set(id, done)
      send(process, { kind: 'changed', id, slugs })
    })
  }
  /** Acknowledges only after invalidated entries were reloaded where needed: the change is then visible here. */
  async #acknowledge({ id, slugs }: { id: number; slugs: readonly string[] }): Promise<void> {
    try {
      await this.#invalidate(slugs)
    } finally {
      send(process, { kind: 'invalidated', id })
    }
  }
}
