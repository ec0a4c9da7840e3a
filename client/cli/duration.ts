import { formatDuration } from '../../protocol/format.ts'
import { UsageError } from './cli-error.ts'

const UNIT_SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

interface DurationOption {
  option: string
  /** In seconds. */
  bounds: { min: number; max: number }
  hint: string
}

/** Seconds of "3600", "10m", "24h" or "7d", the value of an option. Throws a UsageError with the hint. */
export function parseDuration(typed: string, { option, bounds: { min, max }, hint }: DurationOption): number {
  const [, amount, unit = 's'] = /^(\d{1,10})([smhd]?)$/.exec(typed) ?? []
  if (amount === undefined)
    throw new UsageError(`${option} must be a time such as 10m, 24h or 7d, not ${typed}`, hint)
  const seconds = Number(amount) * (UNIT_SECONDS[unit] ?? 1)
  if (seconds >= min && seconds <= max) return seconds
  throw new UsageError(
    `${option} must be from ${formatDuration(min)} to ${formatDuration(max)}, not ${typed}`,
    hint,
  )
}
