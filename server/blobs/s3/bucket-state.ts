import type { S3Client, S3Observer } from '../../../packages/s3-client/client.ts'
import type { RequestOutcome } from '../../../packages/s3-client/errors.ts'
import { Component } from '../../lib/component.ts'
import { type Incidents, watchGrowth } from '../../lib/incidents.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { toPlainLine } from '../../lib/plain-line.ts'

/** Outcomes after which the bucket may not work for any request. */
const UNREACHABLE = new Set<RequestOutcome>(['connection_lost', 'timeout', 'server_error', 'refused'])

/** Outcomes that the bucket has nothing to do with. */
const UNSENT: ReadonlySet<RequestOutcome> = new Set(['queue_full', 'hanging', 'stopped'])

/** Requests in a row that the bucket did not answer, or refused, as with revoked credentials; counted over all requests. */
const MAX_FAILURES = 3

/** The same for each operation, in tries: a refusal is final, other errors of a request come three times. */
const MAX_TRIES = 9
const TRIES: Partial<Record<RequestOutcome, number>> = { refused: 3, server_error: 1 }

/** Readings without another error of an operation, when others work, after which it counts as working again. */
const MAX_ERROR_READINGS = 600

const MAX_REASON_CHARACTERS = 300

/** What the requests say of the bucket: metrics, and incidents for operators. */
export class BucketState extends Component<{ metrics: Metrics }> implements S3Observer {
  #client: Pick<S3Client, 'bucket' | 'isHanging'> | undefined
  #failures = 0
  #reason = ''
  /** By operation: requests in a row that the bucket answered with an error, whatever it answers to others. */
  readonly #errors = new Map<string, { tries: number; reason: string; readings: number }>()
  #throttled = 0

  watch(incidents: Incidents, client: Pick<S3Client, 'bucket' | 'isHanging'>): void {
    this.#client = client
    const bucket = `${client.bucket.endpoint.host}/${client.bucket.name}`
    incidents.watch('bucket-unreachable', (isActive) => {
      for (const [operation, error] of this.#errors)
        if (error.readings++ >= MAX_ERROR_READINGS) this.#errors.delete(operation)
      if (this.#failures >= MAX_FAILURES || (isActive && this.#failures > 0))
        return { bucket, reason: this.#reason }
      const failing = this.#errors.values().find(({ tries }) => tries >= MAX_TRIES)
      return failing && { bucket, reason: failing.reason }
    })
    incidents.watch('bucket-hangs', () => (client.isHanging ? { bucket } : undefined))
    const throttles = watchGrowth(() => this.#throttled)
    incidents.watch('bucket-throttles', () => (throttles() ? { bucket } : undefined))
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
    if (outcome === 'ok') this.#errors.delete(operation)
    // Other operations may work, such as listings of a full bucket. The service can do without deletions for a while.
    if (TRIES[outcome] === undefined || /delete|abort/.test(operation)) return
    const tries = (this.#errors.get(operation)?.tries ?? 0) + TRIES[outcome]
    this.#errors.set(operation, { tries, reason: this.#reason, readings: 0 })
  }
}
