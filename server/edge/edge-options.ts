import type { RequestLike } from '../../packages/http-server/clients/client-ip.ts'
import type { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import type { VisitRecorder } from '../analytics/visit-recorder.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { Config } from '../config/settings.ts'
import type { CircuitBreaker } from '../lib/circuit-breaker.ts'
import type { Deadlines } from '../lib/deadlines.ts'
import type { Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'
import type { MissLimiter } from '../lib/miss-limiter.ts'
import type { RequestLog } from '../lib/request-log.ts'
import type { Tracer } from '../lib/telemetry.ts'
import type { Secrets } from '../lib/tokens.ts'
import type { MarkdownPages } from '../sites/markdown/markdown-pages.ts'
import type { InjectedDocuments } from '../sites/page-metadata/injected-document.ts'
import type { UrlBuilder } from '../sites/urls.ts'
import type { Store } from '../store/store.ts'
import type { ErrorPages } from './respond/pages/error-pages.ts'

/** One frozen object, built by `server/app.ts`. Each part of the edge declares the fields that it uses with `Pick`. */
export interface EdgeOptions {
  readonly config: Config
  readonly store: Store
  /** Limits the lookups in the store. */
  readonly breaker: CircuitBreaker
  /** Limits those of names that do not exist. */
  readonly missLimiter: MissLimiter
  readonly blobs: Blobs
  readonly deadlines: Pick<Deadlines, 'encodedBody'>
  readonly addresses: UrlBuilder
  readonly pages: ErrorPages
  readonly injectedDocuments: InjectedDocuments
  readonly markdownPages: MarkdownPages
  readonly clock: () => number
  readonly log: Log
  readonly metrics: Metrics
  /** Signs the cookies of sites with a password: the setting, or the secret in the data folder. */
  readonly secret: Secrets
  /** The client's address, behind trusted proxies. */
  readonly clientIp: (call: RequestLike) => string
  readonly budget: MemoryBudget
  readonly https?: { port: number; coversSites(): boolean } | undefined
  readonly tracer?: Tracer | undefined
  readonly requestLog?: RequestLog | undefined
  readonly recorder?: VisitRecorder | undefined
}
