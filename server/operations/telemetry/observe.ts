import type { IncomingMessage, ServerResponse } from 'node:http'
import { CountedResponse } from '../../../packages/http-server/counted-response.ts'
import { RequestMessage } from '../../../packages/http-server/request-message.ts'
import type { Blobs } from '../../blobs/blobs.ts'
import { Component } from '../../lib/component.ts'
import { ApiError, firstError } from '../../lib/errors.ts'
import { maskPath } from '../../lib/log.ts'
import type { Histogram } from '../../lib/metrics.ts'
import type { RequestLog } from '../../lib/request-log.ts'
import { type SpanOptions, type Telemetry, trace } from '../../lib/telemetry.ts'
import { type Mail, MailRejectedError } from '../../mail/mail.ts'
import { QUERY_GROUPS, type Queries } from '../../store/queries.ts'
import type { Store } from '../../store/store.ts'

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

/** `rejected` is an error of the caller, `failed` one of the engine. */
type Outcome = 'ok' | 'rejected' | 'failed'

type AsyncMethod = (...given: unknown[]) => Promise<unknown>

export function observeStore(store: Store, telemetry: Telemetry): Store {
  const { metrics } = telemetry
  const durations = (kind: 'read' | 'write') => (outcome: Outcome) =>
    metrics.histogram('slipway_store_operation_duration_seconds', { kind, outcome })
  const observeRead = observer(telemetry, durations('read'))
  const observeWrite = observer(telemetry, durations('write'))
  const observed = (queries: Queries): Queries => {
    const groups = QUERY_GROUPS.map((group) => [
      group,
      observeMethods(queries[group], (method) => {
        const span = { name: 'store read', attributes: { 'db.operation.name': `${group}.${method}` } }
        return (work) => observeRead(span, work)
      }),
    ])
    return Object.fromEntries(groups) as Queries
  }
  const write: SpanOptions = { name: 'store write' }
  return {
    ...store,
    ...{ read: observed(store.read), patient: observed(store.patient), newest: observed(store.newest) },
    write: (durability, scope, work) => observeWrite(write, () => store.write(durability, scope, work)),
    execute: (...given) => observeWrite(write, () => store.execute(...given)),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

const BLOB_OPERATIONS = ['put', 'putTogether', 'commit', 'bytes', 'read', 'verify', 'remove', 'list'] as const

export function observeBlobs(blobs: Blobs, telemetry: Telemetry): Blobs {
  const { metrics } = telemetry
  const observed = BLOB_OPERATIONS.map((operation) => {
    const observe = observer(telemetry, (outcome) =>
      metrics.histogram('slipway_blob_operation_duration_seconds', { operation, outcome }),
    )
    const span: SpanOptions = { name: `blob ${operation}`, kind: 'client' }
    const call = blobs[operation] as AsyncMethod
    return [operation, (...given: unknown[]) => observe(span, () => call.apply(blobs, given))]
  })
  return { ...blobs, ...Object.fromEntries(observed) }
}

export function observeMail(mail: Mail, telemetry: Telemetry): Mail {
  const counter = (outcome: string) => telemetry.metrics.counter('slipway_emails_total', { outcome })
  // From zero: Prometheus does not see the increase of a counter that begins with 1.
  const [sent, rejected, failed] = [counter('sent'), counter('rejected'), counter('failed')]
  return {
    delivery: mail.delivery,
    async send(email) {
      try {
        await trace(telemetry, { name: 'send email', kind: 'client' }, () => mail.send(email))
        sent.add()
      } catch (error) {
        ;(error instanceof MailRejectedError ? rejected : failed).add()
        throw error
      }
    },
  }
}

function observer(telemetry: Telemetry, find: (outcome: Outcome) => Histogram) {
  const histograms = { ok: find('ok'), rejected: find('rejected'), failed: find('failed') }
  const record = async <T>(work: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now()
    let outcome: Outcome = 'ok'
    try {
      return await work()
    } catch (error) {
      outcome = isRejection(firstError(error)) ? 'rejected' : 'failed'
      throw error
    } finally {
      histograms[outcome].observe((performance.now() - startedAt) / 1000)
    }
  }
  return <T>(span: SpanOptions, work: () => Promise<T>): Promise<T> =>
    trace(telemetry, span, () => record(work))
}

/** The engines translate errors of their own connections: these are of a body whose client disconnected. */
const DISCONNECTED = new Set(['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'])

function isRejection(error: unknown): boolean {
  if (error instanceof ApiError) return error.status < 500
  return DISCONNECTED.has((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}

function observeMethods(
  target: object,
  observe: (name: string) => (work: () => Promise<unknown>) => Promise<unknown>,
): object {
  const names: string[] = []
  for (let one = target; one !== Object.prototype; one = Object.getPrototypeOf(one))
    names.push(...Object.getOwnPropertyNames(one))
  const methods = target as Record<string, AsyncMethod>
  const observed = names
    .filter((name) => name !== 'constructor' && typeof methods[name] === 'function')
    .map((name) => {
      const run = observe(name)
      return [name, (...given: unknown[]) => run(() => methods[name]!(...given))]
    })
  return Object.fromEntries(observed)
}
