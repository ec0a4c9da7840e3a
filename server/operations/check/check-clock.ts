import { MINUTE_MS, SECOND_MS } from '../../lib/time.ts'
import { type CheckResult, failed, ok, warning } from './check-result.ts'

/** Signatures of requests to S3 are valid for 15 minutes; a certificate authority expects less. */
const MAX_CLOCK_OFFSET_MS = 5 * MINUTE_MS
const USUAL_CLOCK_OFFSET_MS = 2 * SECOND_MS

export function checkClock(other: string, offsetMs: number): CheckResult {
  const offset = Math.abs(offsetMs)
  const found = `this machine and ${other} differ by ${(offset / SECOND_MS).toFixed(1)} s`
  if (offset > MAX_CLOCK_OFFSET_MS)
    return failed(
      'clock',
      `${found}: synchronize both with NTP; S3 and certificate authorities refuse requests`,
    )
  if (offset > USUAL_CLOCK_OFFSET_MS) return warning('clock', `${found}: synchronize both with NTP`)
  return ok('clock', found)
}
