import type { RequestLike } from '../../packages/http-server/clients/client-ip.ts'
import type { VisitRecorder } from '../analytics/visit-recorder.ts'
import type { CircuitBreaker } from '../lib/circuit-breaker.ts'
import type { Deadlines } from '../lib/deadlines.ts'
import type { Metrics } from '../lib/metrics.ts'
import type { MissLimiter } from '../lib/miss-limiter.ts'
import type { RequestLog } from '../lib/request-log.ts'
import type { Tracer } from '../lib/telemetry.ts'
import type { Parts } from '../parts.ts'
import type { MarkdownPages } from '../sites/markdown/markdown-pages.ts'
import type { InjectedDocuments } from '../sites/page-metadata/injected-document.ts'
import type { ErrorPages } from './respond/pages/error-pages.ts'

/** One frozen object, built by `server/app.ts`. Each part of the edge declares the fields that it uses with `Pick`. */
export interface EdgeOptions
  extends Pick<Parts, 'config' | 'store' | 'blobs' | 'addresses' | 'clock' | 'log' | 'secret' | 'budget'> {
  readonly breaker: CircuitBreaker
  readonly missLimiter: MissLimiter
  readonly deadlines: Pick<Deadlines, 'encodedBody'>
  readonly pages: ErrorPages
  readonly injectedDocuments: InjectedDocuments
  readonly markdownPages: MarkdownPages
  readonly metrics: Metrics
  /** The client's address, behind trusted proxies. */
  readonly clientIp: (call: RequestLike) => string
  readonly https?: { port: number; coversSites(): boolean } | undefined
  readonly tracer?: Tracer | undefined
  readonly requestLog?: RequestLog | undefined
  readonly recorder?: VisitRecorder | undefined
}
