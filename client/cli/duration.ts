import { UsageError } from './cli-error.ts'

const UNIT_SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Seconds of "3600", "10m", "24h" or "7d", the value of an option. Throws a UsageError with the hint. */
export function parseDuration(option: string, typed: string, hint: string): number {
  const [, amount, unit = 's'] = /^(\d{1,10})([smhd]?)$/.exec(typed) ?? []
  if (amount !== undefined) return Number(amount) * (UNIT_SECONDS[unit] ?? 1)
  throw new UsageError(`${option} must be a time such as 10m, 24h or 7d, not ${typed}`, hint)
}
