import type { Metrics } from './metrics.ts'

export interface Telemetry {
  metrics: Metrics
  tracer?: Tracer | undefined
}

export interface SpanOptions {
  /** The kind of operation: a name of a small set, such as `store write`. */
  name: string
  /** `server` for a request that arrived, `client` for one to another server. */
  kind?: 'server' | 'client'
  /** By the semantic conventions of OpenTelemetry where these have a name. Never secrets. */
  attributes?: Readonly<Record<string, string | number>>
  /** The trace that it continues (W3C Trace Context). */
  traceparent?: string | undefined
}

export interface Span {
  setName(name: string): void
  set(attribute: string, value: string | number): void
  fail(message: string): void
}

export function trace<T>(
  { tracer }: Pick<Telemetry, 'tracer'>,
  options: SpanOptions,
  work: () => Promise<T>,
): Promise<T> {
  return tracer ? tracer.run(options, work) : work()
}

/** An operation that runs within another one is its child. Absent where traces are off. */
export interface Tracer extends AsyncDisposable {
  /** Runs an operation as a span, which fails with it. */
  run<T>(options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>
  /** Runs an operation that becomes a span only if it returns a promise. */
  runIfAsync<T>(options: SpanOptions, work: () => T | Promise<T>): T | Promise<T>
  describe(name: string, attributes: NonNullable<SpanOptions['attributes']>): void
}
