import { Kept } from './kept.ts'

/** Where the caller stands in this hour (spec 8.1), as the last answer said; `resetsAt` in milliseconds since 1970. */
export interface Standing {
  limit: number
  remaining: number
  resetsAt: number
}

export const standing = new Kept<Standing | undefined>(undefined)

export function notice(header: (name: string) => string | null): void {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    header(`x-ratelimit-${name}`),
  )
  if (limit == null || remaining == null || reset == null) return
  standing.value = { limit: Number(limit), remaining: Number(remaining), resetsAt: Number(reset) * 1000 }
}
