import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { PostgresClient } from '../../server/store/postgres/client.ts'

/** A statement that waits until the schedule executes it, or that is being executed. */
interface Step {
  text: string
  execute(): void
  pid: number
}

/** Tells which of the calls that run next executes its next statement. */
export type Choose = (enabled: readonly Call[], executed: readonly string[]) => Call

const calls = new AsyncLocalStorage<Call>()

/** One of several concurrent calls of the service, whose statements are executed one at a time. */
export class Call {
  readonly name: string
  readonly outcome: Promise<string>
  readonly waiting: Step[] = []
  readonly executing = new Set<Step>()
  isDone = false
  #changed = Promise.withResolvers<void>()

  constructor(name: string, run: () => Promise<unknown>) {
    this.name = name
    this.outcome = calls.run(this, async () => {
      try {
        await run()
        return 'ok'
      } catch (error) {
        return describe(error)
      } finally {
        this.isDone = true
        this.#notify()
      }
    })
  }

  /** Resolves when a statement of the call begins to wait or ends, or when the call ends. */
  get changed(): Promise<void> {
    return this.#changed.promise
  }

  /** Executes a statement when the schedule says so. */
  async step<T>(pid: number, text: string, execute: () => Promise<T>): Promise<T> {
    const turnToExecute = Promise.withResolvers<void>()
    const step = { text, execute: turnToExecute.resolve, pid }
    this.waiting.push(step)
    this.#notify()
    await turnToExecute.promise
    try {
      return await execute()
    } finally {
      this.executing.delete(step)
      this.#notify()
    }
  }

  /** Starts the next statement. Returns its text. */
  next(): string {
    const step = this.waiting.shift()!
    this.executing.add(step)
    step.execute()
    return step.text
  }

  /** What it waits for. */
  describe(): string {
    const waiting = this.waiting.map(({ text }) => `waits for its turn to execute ${text}`)
    const executing = [...this.executing].map(({ pid, text }) => `session ${pid} executes ${text}`)
    const steps = this.isDone ? ['has ended'] : [...executing, ...waiting]
    return `${this.name}: ${steps.join('; ') || 'computes'}`
  }

  /** Lets it continue without turns. */
  release(): void {
    this.isDone = true
    while (this.waiting.length > 0) this.next()
  }

  #notify(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}

/** What the caller of a failed call can distinguish. */
function describe(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return typeof code === 'string' ? code : String(message ?? error)
}

/** Statements of the feed of changes, and of the search for the primary. */
const BACKGROUND = /^(notify|listen|select pg_is_in_recovery)/

const ENDS_TRANSACTION = /(?:^|;)(?:commit|rollback)$/

const TIME_LIMITS = /set local (lock_timeout|statement_timeout|idle_in_transaction_session_timeout) = \d+/g
const NO_TIMEOUT_MS = 2 ** 30

/** A statement that takes longer may wait for a lock. */
const MIN_LOCK_WAIT_MS = 2

/** More than ten times what two of the longest calls execute. */
const MAX_STATEMENTS = 10_000

/** Connections in a transaction, with the call that they work for. */
const transactions = new Map<PostgresClient, Call | undefined>()

/**
 * Lets the statements of calls wait for their turn until it is disposed, and as long as they need on the server; all
 * others are executed as usual.
 */
export function interceptStatements(): Disposable {
  const { query } = PostgresClient.prototype
  const pids = new WeakMap<PostgresClient, number>()
  PostgresClient.prototype.query = async function (given, timeoutMs) {
    const call = calls.getStore()
    if (given.text.startsWith('begin')) transactions.set(this, call)
    if (ENDS_TRANSACTION.test(given.text)) transactions.delete(this)
    if (!call || call.isDone || BACKGROUND.test(given.text))
      return query.call(this, given, timeoutMs) as never
    const pid = pids.get(this) ?? (await findPid(this))
    pids.set(this, pid)
    const unlimited = { ...given, text: given.text.replace(TIME_LIMITS, 'set local $1 = 0') }
    return call.step(pid, given.text, () => query.call(this, unlimited, NO_TIMEOUT_MS)) as never
  }
  return {
    [Symbol.dispose]: () => {
      PostgresClient.prototype.query = query
    },
  }

  async function findPid(client: PostgresClient): Promise<number> {
    const { rows } = await query.call(client, { text: 'select pg_backend_pid() as pid' }, NO_TIMEOUT_MS)
    return (rows[0] as { pid: number }).pid
  }
}

interface StepOptions {
  choose: Choose
  /** Sees the locks of the server. */
  observer: pg.Client
  /** Statements, of all calls. */
  most?: number | undefined
}

/**
 * Runs calls to their end, one statement at a time. A call whose statement waits for a lock is not enabled until it has
 * the lock. Returns the executed statements, each with the name of its call. Rejects with what each call waits for when
 * they cannot come to an end.
 */
export async function runInSteps(
  running: readonly Call[],
  { choose, observer, most = MAX_STATEMENTS }: StepOptions,
): Promise<string[]> {
  const executed: string[] = []
  while (executed.length < most) {
    await settle(running, observer)
    const enabled = running.filter((call) => call.waiting.length > 0 && call.executing.size === 0)
    if (enabled.length > 0) {
      const call = choose(enabled, executed)
      executed.push(`${call.name}: ${call.next()}`)
      continue
    }
    if (running.every((call) => call.isDone)) return executed
    const changed = Promise.race(running.filter((call) => !call.isDone).map((call) => call.changed))
    if (await isStuck(running, observer)) break
    // Calls that wait for each other: the server ends one of them.
    await changed
  }
  const states = running.map((call) => call.describe())
  const pids = running.flatMap(listPids)
  for (const call of running) call.release()
  await observer.query('select pg_cancel_backend(pid) from unnest($1::int[]) as pid', [pids])
  throw new Error(`The calls do not end; after ${executed.length} statements:\n${states.join('\n')}`)
}

const BLOCKING = `
  select pid, blocking, exists (select from pg_stat_activity as other where other.pid = any(blocking)
    and other.pid <> all($1) and state is distinct from 'idle in transaction') as "isBusy"
  from unnest($1::int[]) as pid, pg_blocking_pids(pid) as blocking`

/** Whether the calls wait for sessions that neither wait for them nor work, as autovacuum does. */
async function isStuck(running: readonly Call[], observer: pg.Client): Promise<boolean> {
  const { rows } = await observer.query<{ pid: number; blocking: number[]; isBusy: boolean }>(BLOCKING, [
    running.flatMap(listPids),
  ])
  if (rows.some(({ blocking, isBusy }) => blocking.length === 0 || isBusy)) return false
  // What follows a call that has ended.
  for (const [client, call] of transactions) if (!client.isClosed && call?.isDone !== false) return false
  let waiting = rows
  for (;;) {
    const inCycles = waiting.filter(({ blocking }) => waiting.some(({ pid }) => blocking.includes(pid)))
    if (inCycles.length === waiting.length) return waiting.length === 0
    waiting = inCycles
  }
}

/** Resolves when each call waits for its turn or for a lock, or has ended. */
async function settle(running: readonly Call[], observer: pg.Client): Promise<void> {
  let blocked = new Set<number>()
  for (;;) {
    const computing = running.find((call) => !call.isDone && call.executing.size + call.waiting.length === 0)
    if (computing) {
      await computing.changed
      continue
    }
    const executing = running.filter((call) => call.executing.size > 0)
    if (executing.length === 0) return
    // Most statements end sooner than a query for locks.
    if (!executing.every((call) => listPids(call).every((pid) => blocked.has(pid))))
      await Promise.race([...executing.map((call) => call.changed), pause(MIN_LOCK_WAIT_MS)])
    blocked = await findBlocked(observer, executing.flatMap(listPids))
    const isSettled = (call: Call) =>
      call.executing.size === 0
        ? call.isDone || call.waiting.length > 0
        : listPids(call).every((pid) => blocked.has(pid))
    if (running.every(isSettled)) return
  }
}

function listPids(call: Call): number[] {
  return [...call.executing].map(({ pid }) => pid)
}

async function findBlocked(observer: pg.Client, pids: readonly number[]): Promise<Set<number>> {
  if (pids.length === 0) return new Set()
  const text = 'select pid from unnest($1::int[]) as pid where cardinality(pg_blocking_pids(pid)) > 0'
  const { rows } = await observer.query<{ pid: number }>({ name: 'blocked', text, values: [pids] })
  return new Set(rows.map(({ pid }) => pid))
}
