import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Counter, Histogram, Metrics } from '../lib/metrics.ts'
import type { RequestLog } from '../lib/request-log.ts'
import { CountedResponse } from './counted-response.ts'
import { RequestMessage } from './request-message.ts'

/** Counts the requests of the service itself: the API, its pages, and requests that are rejected before either. */
export class ServiceRequests {
  readonly #metrics: Metrics
  readonly #duration: Histogram
  readonly #requestBytes: Counter
  readonly #responseBytes: Counter

  readonly #requestLog: RequestLog | undefined

  constructor({ metrics, requestLog }: { metrics: Metrics; requestLog: RequestLog | undefined }) {
    this.#metrics = metrics
    this.#requestLog = requestLog
    this.#duration = metrics.histogram('slipway_http_request_duration_seconds', { side: 'api' })
    this.#requestBytes = metrics.counter('slipway_http_request_body_bytes_total')
    this.#responseBytes = metrics.counter('slipway_http_response_body_bytes_total', { side: 'api' })
  }

  /** Counts a request when its response ends, or the connection does. */
  observe(request: IncomingMessage, response: ServerResponse): void {
    const startedAt = performance.now()
    response.once('close', () => {
      const milliseconds = performance.now() - startedAt
      this.#log(request, response, milliseconds)
      if (request instanceof RequestMessage) this.#requestBytes.add(request.receivedBytes)
      if (!response.headersSent) return
      const status = `${Math.trunc(response.statusCode / 100)}xx`
      this.#metrics.counter('slipway_http_requests_total', { side: 'api', status, cache: 'none' }).add()
      this.#responseBytes.add(bodyBytes(response))
      // A stream of events takes as long as its reader wants.
      if (wantsEvents(request)) return
      this.#duration.observe(milliseconds / 1000)
    })
  }

  #log(request: IncomingMessage, response: ServerResponse, milliseconds: number): void {
    if (!this.#requestLog) return
    const { method = '', headers, socket, url = '' } = request
    const { headersSent: isAnswered, statusCode } = response
    this.#requestLog.add({
      ...{ method, headers, socket, milliseconds },
      host: headers.host ?? '',
      path: url.split('?', 1)[0]!,
      query: '',
      status: isAnswered ? statusCode : CLIENT_DISCONNECTED,
      bytes: isAnswered ? bodyBytes(response) : 0,
    })
  }
}

/** nginx's status of a request whose client disconnected before the response. */
const CLIENT_DISCONNECTED = 499

function bodyBytes(response: ServerResponse): number {
  return response instanceof CountedResponse ? response.bodyBytes : 0
}

function wantsEvents({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('text/event-stream') === true
}
