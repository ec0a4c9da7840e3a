import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Counter, Histogram, Metrics } from '../lib/metrics.ts'
import { RequestMessage } from './request-message.ts'

/** Counts the requests of the service itself: the API, its pages, and requests that are rejected before either. */
export class ServiceRequests {
  readonly #metrics: Metrics
  readonly #duration: Histogram
  readonly #requestBytes: Counter
  readonly #responseBytes: Counter

  constructor({ metrics }: { metrics: Metrics }) {
    this.#metrics = metrics
    this.#duration = metrics.histogram('slipway_http_request_duration_seconds', { side: 'api' })
    this.#requestBytes = metrics.counter('slipway_http_request_body_bytes_total')
    this.#responseBytes = metrics.counter('slipway_http_response_body_bytes_total', { side: 'api' })
  }

  /** Counts a request when its response ends, or the connection does. */
  observe(request: IncomingMessage, response: ServerResponse): void {
    const startedAt = performance.now()
    response.once('close', () => {
      if (request instanceof RequestMessage) this.#requestBytes.add(request.receivedBytes)
      if (!response.headersSent) return
      const status = `${Math.trunc(response.statusCode / 100)}xx`
      this.#metrics.counter('slipway_http_requests_total', { side: 'api', status, cache: 'none' }).add()
      this.#responseBytes.add(bodyBytes(request, response))
      // A stream of events takes as long as its reader wants.
      if (isEventStream(response)) return
      this.#duration.observe((performance.now() - startedAt) / 1000)
    })
  }
}

/** Length of the body, where the response declares it. */
function bodyBytes({ method }: IncomingMessage, response: ServerResponse): number {
  return method === 'HEAD' ? 0 : Number(response.getHeader('content-length') ?? 0)
}

function isEventStream(response: ServerResponse): boolean {
  return String(response.getHeader('content-type') ?? '').startsWith('text/event-stream')
}
