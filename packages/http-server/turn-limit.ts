/** What all connections with further input may take of one turn of the event loop, so that others do not wait for them. */
const MAX_TURN_MS = 10

/** Reading the clock costs up to a tenth of a small response. */
const STEPS_PER_CHECK = 8

/** Requests that begin in a turn without its clock: most of their work follows in microtasks, some milliseconds each. */
const MAX_BEGUN = 8

let steps = 0
let begun = 0
let began: number | undefined
let isOver = false
const waiting = new Set<() => void>()

/** Whether a connection must leave its further requests or frames to `continueInNextTurn`. */
export function isTurnOver(): boolean {
  if (isOver || ++steps % STEPS_PER_CHECK !== 0) return isOver
  const now = performance.now()
  isOver = now - beginTurn(now) > MAX_TURN_MS
  return isOver
}

/** Counts a request that begins in this turn. */
export function countBegun(): void {
  beginTurn(performance.now())
  isOver ||= ++begun >= MAX_BEGUN
}

/** Begins a request now, or in a later turn if this one has had enough, after those that wait already. */
export function beginInTurn(run: () => void): void {
  if (isOver) return void continueInNextTurn(() => beginInTurn(run))
  countBegun()
  run()
}

function beginTurn(now: number): number {
  if (began !== undefined) return began
  setImmediate(nextTurn)
  began = now
  return now
}

/** Runs after what other connections have left: each processes at least one request or frame in its turn. */
export function continueInNextTurn(run: () => void): void {
  waiting.add(run)
}

function nextTurn(): void {
  began = undefined
  isOver = false
  begun = 0
  if (waiting.size === 0) return
  began = performance.now()
  setImmediate(nextTurn)
  for (const run of waiting) {
    waiting.delete(run)
    run()
    if (isOver) return
  }
}
