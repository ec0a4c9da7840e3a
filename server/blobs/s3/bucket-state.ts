import type { Incidents } from '../../lib/incidents.ts'
import { toPlainLine } from '../../lib/plain-line.ts'
import type { Bucket } from './bucket-url.ts'
import type { HangWatch } from './hang-watch.ts'
import type { RequestOutcome } from './s3-error.ts'

/** Outcomes after which it is not known whether the bucket works. */
const UNREACHABLE: ReadonlySet<RequestOutcome> = new Set(['connection_lost', 'timeout', 'server_error'])

/** Outcomes that the bucket has nothing to do with. */
const UNSENT: ReadonlySet<RequestOutcome> = new Set(['queue_full', 'hanging', 'stopped'])

/** Requests in a row without an answer of the bucket. */
const MAX_FAILURES = 3

/** Readings without a refused request after which the bucket no longer throttles. */
const QUIET_READINGS = 10

const MAX_REASON_CHARACTERS = 300

export class BucketState {
  #failures = 0
  #reason = ''
  #throttled = 0
  #quietReadings = QUIET_READINGS

  watch(incidents: Incidents, { name, endpoint }: Bucket, hangs: Pick<HangWatch, 'isHanging'>): void {
    const bucket = `${endpoint.host}/${name}`
    incidents.watch('bucket-unreachable', (isActive) =>
      (this.#failures >= MAX_FAILURES && !hangs.isHanging) || (isActive && this.#failures > 0)
        ? { bucket, reason: this.#reason }
        : undefined,
    )
    incidents.watch('bucket-hangs', () => (hangs.isHanging ? { bucket } : undefined))
    let seen = 0
    incidents.watch('bucket-throttles', () => {
      this.#quietReadings = this.#throttled > seen ? 0 : this.#quietReadings + 1
      seen = this.#throttled
      return this.#quietReadings < QUIET_READINGS ? { bucket } : undefined
    })
  }

  succeed(): void {
    this.#failures = 0
  }

  fail(outcome: RequestOutcome, error: Error): void {
    if (outcome === 'throttled') this.#throttled++
    if (UNREACHABLE.has(outcome)) {
      this.#failures++
      this.#reason = toPlainLine(error.message, MAX_REASON_CHARACTERS)
    } else if (!UNSENT.has(outcome)) this.#failures = 0
  }
}
