import { network } from '../../limits/limits.ts'
import type { Queries, Store } from '../../store/store.ts'

/**
 * Wrong passwords that are taken (contract, "Serving", 7): by address a minute, by site an hour. Right ones cost as much
 * work, and everybody can have a site to be right at.
 */
const A_MINUTE = { most: 5, mostRight: 60, milliseconds: 60_000 }
const AN_HOUR = { most: 100, mostRight: Number.POSITIVE_INFINITY, milliseconds: 3_600_000 }

/** A counter of guesses within one window. */
interface Window {
  key: string
  start: number
  end: number
  most: number
  mostRight: number
}

/** Leave for one guess. */
export interface Guess {
  windows: readonly Window[]
}

/**
 * Counts guesses at passwords, exactly over all processes: each is counted before it is looked at, and one
 * that was right is taken off again. So guesses under way count as wrong until they are known to be right.
 */
export class Guesses {
  readonly #store: Store
  readonly #clock: () => number

  constructor({ store, clock }: { store: Store; clock: () => number }) {
    this.#store = store
    this.#clock = clock
  }

  /** Leave to guess, or how long to wait for it. */
  async begin(address: string, slug: string): Promise<Guess | { retryAfterSeconds: number }> {
    const now = this.#clock()
    const windows = [
      windowOf(`address:${network(address)}`, A_MINUTE, now),
      windowOf(`site:${slug}`, AN_HOUR, now),
    ]
    // A look costs far less than a write, and those who guess too much are most of those who guess.
    const full =
      (await firstFull(this.#store.read, windows)) ??
      (await this.#store.write('soft', async (tx) => {
        const full = await firstFull(tx, windows)
        if (!full) for (const { key, start } of windows) await tx.counters.add(`guess:${key}`, start)
        return full
      }))
    return full ? { retryAfterSeconds: Math.max(1, Math.ceil((full.end - now) / 1000)) } : { windows }
  }

  /** The guess was right, so it does not count. */
  async right({ windows }: Guess): Promise<void> {
    await this.#store.write('soft', async (tx) => {
      for (const { key, start } of windows) await tx.counters.add(`right:${key}`, start)
    })
  }
}

function windowOf(key: string, { milliseconds, ...limits }: typeof A_MINUTE, now: number): Window {
  const start = Math.floor(now / milliseconds) * milliseconds
  return { key, start, end: start + milliseconds, ...limits }
}

/** The window that stays full longest, if one is. */
async function firstFull({ counters }: Queries, windows: readonly Window[]): Promise<Window | undefined> {
  for (const window of windows.toReversed()) {
    const { key, start, most, mostRight } = window
    const right = await counters.value(`right:${key}`, start)
    const wrong = (await counters.value(`guess:${key}`, start)) - right
    if (wrong >= most || right >= mostRight) return window
  }
  return undefined
}
