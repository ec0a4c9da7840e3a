import type { S3Client, S3Observer } from '../../../packages/s3-client/client.ts'
import type { RequestOutcome } from '../../../packages/s3-client/errors.ts'
import { Component } from '../../lib/component.ts'
import type { Incidents } from '../../lib/incidents.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { toPlainLine } from '../../lib/plain-line.ts'

/** Outcomes after which the bucket may not work for any request. */
const UNREACHABLE = new Set<RequestOutcome>(['connection_lost', 'timeout', 'server_error', 'refused'])

/** Outcomes that the bucket has nothing to do with. */
const UNSENT: ReadonlySet<RequestOutcome> = new Set(['queue_full', 'hanging', 'stopped'])

/** Requests in a row that the bucket did not answer, or refused, as with revoked credentials. */
const MAX_FAILURES = 3

/** Readings without a refused request after which the bucket no longer throttles. */
const QUIET_READINGS = 10

const MAX_REASON_CHARACTERS = 300

/** What the requests say of the bucket: metrics, and incidents for operators. */
export class BucketState extends Component<{ metrics: Metrics }> implements S3Observer {
  #client: Pick<S3Client, 'bucket' | 'isHanging'> | undefined
  #failures = 0
  #reason = ''
  #throttled = 0
  #quietReadings = QUIET_READINGS

  watch(incidents: Incidents, client: Pick<S3Client, 'bucket' | 'isHanging'>): void {
    this.#client = client
    const bucket = `${client.bucket.endpoint.host}/${client.bucket.name}`
    incidents.watch('bucket-unreachable', (isActive) =>
      this.#failures >= MAX_FAILURES || (isActive && this.#failures > 0)
        ? { bucket, reason: this.#reason }
        : undefined,
    )
    incidents.watch('bucket-hangs', () => (client.isHanging ? { bucket } : undefined))
    let seen = 0
    incidents.watch('bucket-throttles', () => {
      this.#quietReadings = this.#throttled > seen ? 0 : this.#quietReadings + 1
      seen = this.#throttled
      return this.#quietReadings < QUIET_READINGS ? { bucket } : undefined
    })
  }

  onRetry(): void {
    this.parts.metrics.counter('slipway_s3_retries_total').add()
  }

  onRequest(operation: string, outcome: RequestOutcome, error?: Error): void {
    this.parts.metrics.counter('slipway_s3_requests_total', { operation, outcome }).add()
    if (outcome === 'throttled') this.#throttled++
    // A bucket that hangs is an incident of its own.
    if (this.#client?.isHanging) this.#failures = 0
    else if (UNREACHABLE.has(outcome)) {
      this.#failures++
      this.#reason = toPlainLine(error?.message ?? '', MAX_REASON_CHARACTERS)
    } else if (!UNSENT.has(outcome)) this.#failures = 0
  }
}
