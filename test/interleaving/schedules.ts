import { CALLS } from './calls.ts'
import { Call, type Choose, runInSteps } from './steps.ts'
import type { World, Wrap } from './world.ts'

/** The final state of two concurrent calls, and what their callers saw. */
interface Outcome {
  responses: readonly string[]
  state: readonly string[]
  executed: readonly string[]
}

/** An interleaving whose outcome is that of neither order of the two calls. */
export interface Violation {
  calls: Pair
  executed: readonly string[]
  /** Rows and responses that differ from the more similar of the two orders. */
  differs: readonly string[]
}

export type Pair = readonly [first: string, second: string]

/** The wrappers of the stores of the two nodes. */
export type Wraps = readonly [Wrap?, Wrap?]

/** All pairs of calls of which one changes what the other is about, each call also with itself. */
export function listPairs(): Pair[] {
  const names = Object.keys(CALLS)
  const affects = (one: string, other: string) =>
    CALLS[one]!.changes.some((subject) =>
      [...CALLS[other]!.changes, ...(CALLS[other]!.reads ?? [])].includes(subject),
    )
  return names.flatMap((first, index) =>
    names
      .slice(index)
      .flatMap((second): Pair[] =>
        affects(first, second) || affects(second, first) ? [[first, second]] : [],
      ),
  )
}

/**
 * Runs two calls in both orders and then interleaved: one of them stops before each of its statements in turn, while the
 * other one runs until its end or until it waits for a lock of the first. Returns `most` outcomes of neither order. Between
 * the writes of a divisible call the other one may come. A stop that only lets the first call execute a statement more
 * that touches nothing of the other is left out: its outcome is that of the stop before.
 */
export async function explore(
  world: World,
  pair: Pair,
  { wraps = [], most = Infinity }: { wraps?: Wraps; most?: number } = {},
): Promise<Violation[]> {
  const runSchedule = (choose: Choose) => run(world, pair, wraps, choose)
  const orders = [await runSchedule(preempt(0, [Infinity])), await runSchedule(preempt(1, [Infinity]))]
  const statements = orders.map(({ executed }, call) => ofCall(executed, call))
  const isDivisible = pair.some((name) => CALLS[name]!.isDivisible)
  const allowed = isDivisible ? new AllowedOutcomes(runSchedule, orders, statements) : undefined
  const violations: Violation[] = []
  for (const first of [0, 1]) {
    const own = statements[first]!
    let others: readonly string[] | undefined
    for (let count = 1; count < own.length && violations.length < most; ) {
      if (others && isIndependent(own[count - 1]!, others, world.tables)) {
        count++
        continue
      }
      const outcome = await runSchedule(preempt(first, [count]))
      others = ofCall(outcome.executed, 1 - first)
      const isAllowed = orders.some((order) => isSame(order, outcome)) || (await allowed?.includes(outcome))
      if (!isAllowed) violations.push(describe(pair, orders, outcome))
      count = isBlockedAtBegin(outcome, first, count) ? findEnd(own, count) + 1 : count + 1
    }
  }
  return violations
}

/** A write of the first call of a pair, and the number of its statements that are executed before the second call. */
export interface StopPoint {
  /** Of the writes of the call, by default the first one, 0. */
  write?: number
  /** By default all up to the first one that changes rows. */
  after?: number
}

const CHANGES_ROWS = /: (?:with .*)?(?:insert|update|delete)\b/s

/**
 * Runs the first call of a pair until one point of one of its writes, then the second one until its end or until it waits
 * for a lock, then the rest of the first. Returns whether the outcome is that of an order of whole writes.
 */
export async function isSerialized(
  world: World,
  pair: Pair,
  { write = 0, after }: StopPoint,
  wraps: Wraps = [],
): Promise<boolean> {
  const orders = await runOrders(world, pair)
  const own = ofCall(orders[0]!.executed, 0)
  const begins = own.flatMap((text, index) => (/^\d: begin/.test(text) ? [index] : []))
  const begin = begins[write]
  if (begin === undefined) throw new Error(`${pair[0]} has no write ${write}`)
  const changing = own.findIndex((text, index) => index > begin && CHANGES_ROWS.test(text))
  const count = after === undefined ? (changing < 0 ? begin + 1 : changing) : begin + after
  const outcome = await run(world, pair, wraps, preempt(0, [count]))
  if (orders.some((order) => isSame(order, outcome))) return true
  if (!pair.some((name) => CALLS[name]!.isDivisible)) return false
  const runSchedule = (choose: Choose) => run(world, pair, [], choose)
  const statements = orders.map(({ executed }, call) => ofCall(executed, call))
  return new AllowedOutcomes(runSchedule, orders, statements).includes(outcome)
}

const knownOrders = new Map<string, Promise<Outcome[]>>()

/** The outcomes of both orders of two calls, which several of their writes are compared with. */
function runOrders(world: World, pair: Pair): Promise<Outcome[]> {
  const known = knownOrders.get(`${pair}`) ?? runBothOrders(world, pair)
  knownOrders.set(`${pair}`, known)
  return known
}

async function runBothOrders(world: World, pair: Pair): Promise<Outcome[]> {
  const first = await run(world, pair, [], preempt(0, [Infinity]))
  return [first, await run(world, pair, [], preempt(1, [Infinity]))]
}

/** Runs one call alone. */
export async function runAlone(world: World, name: string, wrap?: Wrap): Promise<Omit<Outcome, 'executed'>> {
  await world.reset()
  const node = world.node(0, wrap)
  const call = new Call('0', () => CALLS[name]!.run(node))
  return { responses: [await call.outcome], state: await world.readState() }
}

/** The outcomes of schedules in which no write is interrupted, as far as they are needed. */
class AllowedOutcomes {
  readonly #outcomes: Outcome[] = []
  readonly #schedules: Generator<Choose>
  readonly #run: (choose: Choose) => Promise<Outcome>

  constructor(
    runSchedule: (choose: Choose) => Promise<Outcome>,
    orders: readonly Outcome[],
    statements: readonly (readonly string[])[],
  ) {
    this.#run = runSchedule
    this.#outcomes.push(...orders)
    this.#schedules = wholeWrites(statements)
  }

  async includes(outcome: Outcome): Promise<boolean> {
    if (this.#outcomes.some((one) => isSame(one, outcome))) return true
    // Not by a loop over the generator, whose end would close it.
    for (let next = this.#schedules.next(); !next.done; next = this.#schedules.next()) {
      const allowed = await this.#run(next.value)
      this.#outcomes.push(allowed)
      if (isSame(allowed, outcome)) return true
    }
    return false
  }
}

/** Schedules in which the calls take turns up to twice, between their writes. */
function* wholeWrites(statements: readonly (readonly string[])[]): Generator<Choose> {
  for (const first of [0, 1])
    for (const count of boundaries(statements[first]!)) {
      yield preempt(first, [count], { betweenWrites: true })
      for (const other of boundaries(statements[1 - first]!))
        yield preempt(first, [count, other], { betweenWrites: true })
    }
}

/** Whether a statement, which neither begins nor ends a write, has the same effect before the others and after them. */
function isIndependent(statement: string, others: readonly string[], tables: readonly string[]): boolean {
  if (/\b(?:begin|commit|rollback)\b/.test(statement)) return false
  const touched = findTables(statement, tables)
  const changing = CHANGES.test(statement) ? others : others.filter((one) => CHANGES.test(one))
  return !changing.some((one) => findTables(one, tables).some((name) => touched.includes(name)))
}

/** Also rows that are locked `for update`. */
const CHANGES = /\b(?:insert|update|delete|share)\b/

function findTables(statement: string, tables: readonly string[]): string[] {
  return tables.filter((name) => statement.includes(name))
}

/** The numbers of statements after which a call is in no transaction. */
function boundaries(statements: readonly string[]): number[] {
  return statements.flatMap((_, index) =>
    index === statements.length - 1 || isInTransaction(statements.slice(0, index + 1)) ? [] : [index + 1],
  )
}

function isInTransaction(statements: readonly string[]): boolean {
  const begun = statements.findLastIndex((one) => /^\d: begin/.test(one))
  return begun >= 0 && !statements.slice(begun).some(isEnd)
}

/**
 * The calls execute their next statements in turns, beginning with `first`, each turn of the given number; after these
 * the other call continues as long as it can. With `betweenWrites` a turn ends after the write that it is in.
 */
function preempt(first: number, turns: readonly number[], { betweenWrites = false } = {}): Choose {
  let turn = 0
  let count = 0
  return (enabled, executed) => {
    const current = () => (turn % 2 === 0 ? first : 1 - first)
    while (count >= (turns[turn] ?? Infinity)) {
      if (betweenWrites && isInTransaction(ofCall(executed, current()))) break
      turn++
      count = 0
    }
    const call = enabled.find(({ name }) => name === `${current()}`)
    if (call) count++
    return call ?? enabled[0]!
  }
}

async function run(world: World, pair: Pair, wraps: Wraps, choose: Choose): Promise<Outcome> {
  await world.reset()
  const nodes = pair.map((_, number) => world.node(number, wraps[number]))
  const calls = pair.map((name, number) => new Call(`${number}`, () => CALLS[name]!.run(nodes[number]!)))
  const executed = await runInSteps(calls, { choose, observer: world.observer })
  const responses = await Promise.all(calls.map(({ outcome }) => outcome))
  return { responses, executed, state: await world.readState() }
}

function ofCall(executed: readonly string[], call: number): string[] {
  return executed.filter((one) => one.startsWith(`${call}: `))
}

/** Whether the other call came no further than the begin of a write: it waits for the transaction of the first. */
function isBlockedAtBegin({ executed }: Outcome, first: number, count: number): boolean {
  const resumed = executed.findIndex((_, index) => ofCall(executed.slice(0, index + 1), first).length > count)
  return (
    ofCall(executed.slice(0, resumed), 1 - first)
      .at(-1)
      ?.includes(': begin') ?? false
  )
}

/** The index of the statement that ends the transaction of statement `index`. */
function findEnd(statements: readonly string[], index: number): number {
  const found = statements.findIndex((one, at) => at >= index && isEnd(one))
  return found < 0 ? statements.length : found
}

function isEnd(statement: string): boolean {
  return /(?:^\d: |;)(?:commit|rollback)$/.test(statement)
}

function isSame(one: Outcome, other: Outcome): boolean {
  return JSON.stringify([one.responses, one.state]) === JSON.stringify([other.responses, other.state])
}

function describe(calls: Pair, orders: readonly Outcome[], outcome: Outcome): Violation {
  const differences = orders.map((order) => [
    `${outcome.responses} instead of ${order.responses}`,
    ...outcome.state.filter((row) => !order.state.includes(row)).map((row) => `+ ${row}`),
    ...order.state.filter((row) => !outcome.state.includes(row)).map((row) => `- ${row}`),
  ])
  const [differs] = differences.toSorted((one, other) => one.length - other.length)
  return { calls, executed: outcome.executed, differs: differs! }
}
