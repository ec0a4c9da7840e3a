import { Signal } from './signal.ts'

/**
 * The caller's rate limit state (spec 8.1) according to the latest response; `resetsAt` in milliseconds since
 * 1970.
 */
export interface RateLimitState {
  limit: number
  remaining: number
  resetsAt: number
}

export const rateLimit = new Signal<RateLimitState | undefined>(undefined)

export function recordRateLimit(header: (name: string) => string | null): void {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    header(`x-ratelimit-${name}`),
  )
  if (limit == null || remaining == null || reset == null) return
  rateLimit.value = { limit: Number(limit), remaining: Number(remaining), resetsAt: Number(reset) * 1000 }
}
