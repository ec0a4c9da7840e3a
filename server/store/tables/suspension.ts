/** Why the operator has taken a site, or all sites of an account, offline. */
export interface Suspension {
  /** For the owner. */
  reason: string
  /** For visitors; null for none. */
  publicReason: string | null
  /** For operators; null for none. */
  note: string | null
  since: number
}
