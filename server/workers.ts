import cluster, { type Worker } from 'node:cluster'
import type { Log } from './log.ts'

/** What processes of one machine say to each other. */
type Message =
  | { kind: 'changed'; id: number; slugs: readonly string[] }
  | { kind: 'forget'; id: number; slugs: readonly string[] }
  | { kind: 'forgotten'; id: number }
  | { kind: 'told'; id: number }
  | { kind: 'ready'; baseUrl: string }
  | { kind: 'stop' }

/** Milliseconds a change waits for siblings; one that hangs catches up through the store. */
const PATIENCE = 1000

/** Milliseconds before a worker that ended is started again: doubling, up to half a minute. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 30_000

interface SupervisorOptions {
  workers: number
  args: string[]
  log: Log
  onReady: (baseUrl: string) => void
}

/**
 * Keeps `workers` processes running that share the port, and carries word of changes between them: a change is
 * told once every sibling has forgotten what it knew. Resolves with an exit code after `stop`.
 */
export function supervise(options: SupervisorOptions): { stop(): void; ended: Promise<number> } {
  const { promise: ended, resolve: end } = Promise.withResolvers<number>()
  const waiting = new Map<number, { from: Worker; id: number; left: Set<Worker> }>()
  let stopping = false
  let nextId = 0
  let ready = 0
  let pause = FIRST_PAUSE
  let everReady = false
  let exitCode = 0

  cluster.setupPrimary({ args: options.args })
  for (let index = 0; index < options.workers; index++) start()

  function start(): void {
    const worker = cluster.fork()
    worker.on('message', (message: Message) => hear(worker, message))
    worker.on('exit', (code, signal) => {
      for (const id of [...waiting.keys()]) settle(id, worker)
      if (stopping) endAfterTheLast()
      else if (everReady) again(code, signal)
      else leave(code ?? 1)
    })
  }

  function again(code: number, signal: string): void {
    options.log.error('a worker ended and is started again', { code, signal, pause })
    setTimeout(() => !stopping && start(), pause)
    pause = Math.min(pause * 2, LONGEST_PAUSE)
  }

  /** A worker that never got ready would not get ready the next time either. */
  function leave(code: number): void {
    exitCode = code
    stop()
  }

  function stop(): void {
    stopping = true
    endAfterTheLast()
    for (const worker of workers()) {
      if (worker.isConnected()) worker.send({ kind: 'stop' } satisfies Message)
    }
  }

  function endAfterTheLast(): void {
    if (workers().length === 0) end(exitCode)
  }

  function hear(worker: Worker, message: Message): void {
    if (message.kind === 'changed') tell(worker, message)
    else if (message.kind === 'forgotten') settle(message.id, worker)
    else if (message.kind === 'ready') {
      pause = FIRST_PAUSE
      if (++ready === options.workers && !everReady) {
        everReady = true
        options.onReady(message.baseUrl)
      }
    }
  }

  function tell(from: Worker, { id, slugs }: { id: number; slugs: readonly string[] }): void {
    const others = workers().filter((one) => one !== from && one.isConnected())
    const own = ++nextId
    waiting.set(own, { from, id, left: new Set(others) })
    for (const other of others) other.send({ kind: 'forget', id: own, slugs } satisfies Message)
    setTimeout(() => waiting.delete(own), 2 * PATIENCE)
    settle(own, undefined)
  }

  function settle(id: number, worker: Worker | undefined): void {
    const change = waiting.get(id)
    if (!change) return
    if (worker) change.left.delete(worker)
    if (change.left.size > 0) return
    waiting.delete(id)
    if (change.from.isConnected()) change.from.send({ kind: 'told', id: change.id } satisfies Message)
  }

  return { ended, stop }
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}

/** A worker's end of the line to its siblings. Without its supervisor Node ends a worker at once. */
export class Siblings {
  readonly #waiting = new Map<number, () => void>()
  #nextId = 0
  #forget: (slugs: readonly string[]) => void = () => undefined

  constructor(onStop: () => void) {
    process.on('message', (message: Message) => {
      if (message.kind === 'stop') onStop()
      else if (message.kind === 'told') this.#waiting.get(message.id)?.()
      else if (message.kind === 'forget') {
        this.#forget(message.slugs)
        process.send?.({ kind: 'forgotten', id: message.id } satisfies Message)
      }
    })
  }

  ready(service: { baseUrl: string; forget(slugs: readonly string[]): void }): void {
    this.#forget = (slugs) => service.forget(slugs)
    process.send?.({ kind: 'ready', baseUrl: service.baseUrl } satisfies Message)
  }

  /** Resolves when every sibling has forgotten these sites, or after a second. */
  tell(slugs: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      const id = ++this.#nextId
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        resolve()
      }
      const timer = setTimeout(done, PATIENCE)
      this.#waiting.set(id, done)
      process.send?.({ kind: 'changed', id, slugs } satisfies Message)
    })
  }
}
