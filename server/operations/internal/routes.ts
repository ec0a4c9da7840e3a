import { formatMetrics, METRICS_TYPE, type Metrics, type ProcessSnapshot } from '../../lib/metrics.ts'
import type { InternalRoute } from './internal-server.ts'

export const ON_DEMAND_TLS_PATH = '/internal/tls-allowed'

/** A host name in lower case (RFC 1123, 2.1), of at most 253 characters. */
const HOST_NAME_PATTERN = /^(?=.{1,253}$)(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*$/

/**
 * The on-demand TLS endpoint for proxies on this machine: `GET /internal/tls-allowed?domain=NAME` returns 200 when a
 * certificate for the name is useful, 404 when not, 400 for an invalid name, 503 when that is unknown. `isAllowed`
 * rejects with UNAVAILABLE then.
 */
export function onDemandTls(isAllowed: (name: string) => Promise<boolean>): InternalRoute {
  return async (query) => {
    const [domain = '', ...more] = query.getAll('domain')
    const name = domain.toLowerCase().replace(/\.$/, '')
    if (more.length > 0 || !HOST_NAME_PATTERN.test(name)) return { status: 400 }
    return { status: (await isAllowed(name)) ? 200 : 404 }
  }
}

export const METRICS_PATH = '/metrics'

/** Text format of Prometheus, for this process or, with `collectAll`, for all processes of this machine. */
export function metricsRoute(
  metrics: Metrics,
  collectAll: (() => Promise<ProcessSnapshot[]>) | undefined,
): InternalRoute {
  return async () => {
    const processes = collectAll ? await collectAll() : [{ snapshot: await metrics.collect() }]
    return { status: 200, headers: { 'Content-Type': METRICS_TYPE }, body: formatMetrics(processes) }
  }
}
