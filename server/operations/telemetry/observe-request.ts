import type { IncomingMessage, ServerResponse } from 'node:http'
import { CountedResponse } from '../../../packages/http-server/counted-response.ts'
import { RequestMessage } from '../../../packages/http-server/request-message.ts'
import { Component } from '../../lib/component.ts'
import { maskPath } from '../../lib/log.ts'
import type { RequestLog } from '../../lib/request-log.ts'
import type { Telemetry } from '../../lib/telemetry.ts'

interface ServiceRequestOptions {
  telemetry: Telemetry
  requestLog: RequestLog | undefined
  /** Whether a proxy in front may continue its trace here. */
  trustsProxies: boolean
}

/** Counts the requests of the service itself: the API, its pages, and requests that are rejected before either. */
export class ServiceRequests extends Component<ServiceRequestOptions> {
  readonly #metrics = this.parts.telemetry.metrics
  readonly #duration = this.#metrics.histogram('slipway_http_request_duration_seconds', { side: 'api' })
  readonly #requestBytes = this.#metrics.counter('slipway_http_request_body_bytes_total')
  readonly #responseBytes = this.#metrics.counter('slipway_http_response_body_bytes_total', { side: 'api' })

  handle(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    this.#observe(request, response)
    if (!this.parts.telemetry.tracer) return void handle()
    const { method = '', headers } = request
    const traceparent = this.parts.trustsProxies ? headers.traceparent : undefined
    const options = {
      name: `${method} request`,
      kind: 'server' as const,
      attributes: { 'http.request.method': method, 'url.path': maskPath(request.url ?? '') },
      traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    }
    void this.parts.telemetry.tracer.run(options, async (span) => {
      const closed = new Promise((resolve) => response.once('close', resolve))
      handle()
      await closed
      const status = response.headersSent ? response.statusCode : CLIENT_DISCONNECTED
      span.set('http.response.status_code', status)
      if (status >= 500) span.fail(`status ${status}`)
    })
  }

  #observe(request: IncomingMessage, response: ServerResponse): void {
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
      if (request.headers.accept?.includes('text/event-stream')) return
      this.#duration.observe(milliseconds / 1000)
    })
  }

  #log(request: IncomingMessage, response: ServerResponse, milliseconds: number): void {
    if (!this.parts.requestLog) return
    const { method = '', headers, socket, url = '' } = request
    const { headersSent: isAnswered, statusCode } = response
    this.parts.requestLog.add({
      ...{ method, headers, socket, milliseconds },
      host: headers.host ?? '',
      path: maskPath(url),
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
