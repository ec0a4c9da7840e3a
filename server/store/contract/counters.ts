/** A window of a caller. */
export interface CounterWindow {
  caller: string
  windowStart: number
}

/** Counters of callers by window; exact over all processes. */
export interface CounterQueries {
  /** Adds one to a caller's window and returns the count. */
  add(caller: string, windowStart: number): Promise<number>

  /** Adds one to each of these windows, which differ. */
  addEach(windows: readonly CounterWindow[]): Promise<void>

  /** Reverts one `add`; without one it changes nothing. */
  decrement(caller: string, windowStart: number): Promise<void>

  /** 0 when the window does not exist. */
  value(caller: string, windowStart: number): Promise<number>

  /** The counts of windows, in their order. */
  values(windows: readonly CounterWindow[]): Promise<number[]>

  /** Deletes every window of a caller. */
  delete(caller: string): Promise<void>

  /** Deletes up to `limit` windows that begin before that time, and returns their number. */
  deleteBefore(windowStart: number, limit: number): Promise<number>
}
