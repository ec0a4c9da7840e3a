import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  diag,
  type Tracer as OtlpApi,
  type Span as OtlpSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { Component } from '../../lib/component.ts'
import { parseJsonObject } from '../../lib/json-object.ts'
import type { Log } from '../../lib/log.ts'
import { toPlainLine } from '../../lib/plain-line.ts'
import { settlesWithin } from '../../lib/settles-within.ts'
import type { Span, SpanOptions, Tracer } from '../../lib/telemetry.ts'

interface OtlpOptions {
  /** Without the path of traces. */
  url: string
  /** Of the traces that begin here. */
  samplePercent: number
  version: string
  log: Log
}

/** Further spans are dropped. */
const MAX_WAITING_SPANS = 2048
const EXPORT_TIMEOUT_MS = 10_000

const MAX_CAUSE_CHARACTERS = 300

const CLOSE_TIMEOUT_MS = 2000

/** W3C Trace Context, 3.2: version 00. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT }

/** An export that fails is logged, and delays nothing. */
export class OtlpTracer implements Tracer {
  readonly #provider: TracerProvider
  readonly #log: Log
  /** Without the login that the URL may have. */
  readonly #collector: string
  readonly #tracer: OtlpApi
  readonly #current = new AsyncLocalStorage<LazySpan>()

  constructor({ url, samplePercent, version, log }: OtlpOptions) {
    this.#log = log
    this.#collector = new URL(url).origin
    const ignore = () => undefined
    diag.setLogger({
      ...{ debug: ignore, info: ignore, verbose: ignore, warn: ignore },
      error: (cause) => this.#report(cause),
    })
    const exporter = new OTLPTraceExporter({
      url: `${url.replace(/\/$/, '')}/v1/traces`,
      timeoutMillis: EXPORT_TIMEOUT_MS,
    })
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': 'slipway', 'service.version': version }),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(samplePercent / 100) }),
      spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: MAX_WAITING_SPANS })],
    })
    this.#tracer = this.#provider.getTracer('slipway', version)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#provider.shutdown().catch((error: unknown) => this.#report(error))
    if (!(await settlesWithin(CLOSE_TIMEOUT_MS, closed))) this.#report('timeout')
  }

  async run<T>(options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
    const span = this.#begin(options)
    try {
      return await this.#current.run(span, () => work(span))
    } catch (error) {
      span.fail((error as Error).message)
      throw error
    } finally {
      span.end()
    }
  }

  runIfAsync<T>(options: SpanOptions, work: () => T | Promise<T>): T | Promise<T> {
    const span = this.#begin(options)
    const result = this.#current.run(span, work)
    return result instanceof Promise
      ? result
          .catch((error: unknown) => {
            span.fail((error as Error).message)
            throw error
          })
          .finally(() => span.end())
      : result
  }

  describe(name: string, attributes: NonNullable<SpanOptions['attributes']>): void {
    const span = this.#current.getStore()
    span?.setName(name)
    for (const [attribute, value] of Object.entries(attributes)) span?.set(attribute, value)
  }

  /** `cause` is an error, its fields as JSON, or a text. The response of the collector is not logged. */
  #report(cause: unknown): void {
    const fields = cause instanceof Error ? cause : parseJsonObject(String(cause))
    const { message = cause, code = '' } = (fields ?? {}) as { message?: unknown; code?: unknown }
    const reason = toPlainLine(`${message} ${code}`, MAX_CAUSE_CHARACTERS)
    this.#log.summarize('warn', 'traces not exported', { collector: this.#collector, cause: reason })
  }

  #begin(options: SpanOptions): LazySpan {
    return new LazySpan({ tracer: this.#tracer, options, parent: this.#current.getStore() })
  }
}

interface LazySpanParts {
  tracer: OtlpApi
  options: SpanOptions
  parent: LazySpan | undefined
}

/** Begins when it was made, and exists once it is used: work that returns immediately has no span. */
class LazySpan extends Component<LazySpanParts> implements Span {
  readonly #startedAt = performance.now()
  #span: OtlpSpan | undefined

  setName(name: string): void {
    this.#get().updateName(name)
  }

  set(attribute: string, value: string | number): void {
    this.#get().setAttribute(attribute, value)
  }

  fail(message: string): void {
    this.#get().setStatus({ code: SpanStatusCode.ERROR, message })
  }

  end(): void {
    this.#get().end()
  }

  #get(): OtlpSpan {
    if (this.#span) return this.#span
    const { tracer, parent } = this.parts
    const { name, kind, attributes = {}, traceparent } = this.parts.options
    const context = parent ? trace.setSpan(ROOT_CONTEXT, parent.#get()) : remoteContext(traceparent)
    const options = { startTime: this.#startedAt, attributes, kind: kind ? KINDS[kind] : SpanKind.INTERNAL }
    this.#span = tracer.startSpan(name, options, context)
    return this.#span
  }
}

function remoteContext(traceparent = ''): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags!, 16) & 1
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: spanId!, traceFlags, isRemote: true })
}
