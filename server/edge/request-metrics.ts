import type { HttpRequest } from '../../packages/http-server/http-handler.ts'
import type { Counter, Histogram, Metrics } from '../lib/metrics.ts'
import { bodyBytes, type EdgeResponse, type EdgeResult } from './response.ts'

const STATUS_CLASSES = [1, 2, 3, 4, 5]

/** Repeating a cached response costs three additions. */
export class RequestMetrics {
  readonly #requests: Record<'hit' | 'miss' | 'stale', Counter[]>
  readonly #rejected: Counter[]
  readonly #bytes: Counter
  readonly #duration: Histogram

  constructor({ metrics }: { metrics: Metrics }) {
    const find = (cache: string, side = 'edge') =>
      [0, ...STATUS_CLASSES].map((digit) =>
        metrics.counter('slipway_http_requests_total', { side, status: `${digit || 1}xx`, cache }),
      )
    this.#requests = { hit: find('hit'), miss: find('miss'), stale: find('stale') }
    this.#rejected = find('none', 'api')
    this.#bytes = metrics.counter('slipway_http_response_body_bytes_total', { side: 'edge' })
    this.#duration = metrics.histogram('slipway_http_request_duration_seconds', { side: 'edge' })
  }

  countRejected({ status }: EdgeResponse): void {
    this.#rejected[Math.trunc(status / 100)]!.value++
  }

  count({ isHead }: HttpRequest, { response, cache, startedAt }: EdgeResult): void {
    this.#requests[cache ?? 'hit'][Math.trunc(response.status / 100)]!.value++
    if (isHead !== true) this.#bytes.value += bodyBytes(response)
    // A response from memory takes less than the smallest bucket, and a measurement would take as long.
    this.#duration.observe(startedAt === undefined ? 0 : (performance.now() - startedAt) / 1000)
  }
}
