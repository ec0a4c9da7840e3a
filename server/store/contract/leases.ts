/** Leases with fencing tokens. At most one process holds a lease at a time, as long as the clocks agree. */
export interface LeaseQueries {
  /**
   * Takes the lease until `until` when it is free, expired, or the holder's own. Returns the fencing token,
   * which grows with every new holder, or undefined when another process holds it.
   */
  acquire(name: string, holder: string, now: number, until: number): Promise<number | undefined>

  /** Releases a lease. Idempotent; another holder's stays. */
  release(name: string, holder: string): Promise<void>

  /** Whether the holder of that fencing token still has the lease. */
  isHeld(name: string, holder: string, fence: number): Promise<boolean>
}
