import type { Plain } from './plain-requests.ts'
import type { Seen } from './seen.ts'

/** A request and what both servers said to it. */
export interface Exchange {
  asked: Plain
  name: string
  nginx: Seen
  slipway: Seen
}

/** Why Slipway answers otherwise than nginx: each exchange that it is of shows each of these differences. */
export interface Difference {
  why: string
  of(exchange: Exchange): boolean
  /** What nginx and what Slipway says. */
  fields: Partial<Record<keyof Seen, [nginx: string | RegExp, slipway: string | RegExp]>>
}

export const DIFFERENCES: readonly Difference[] = []
