import { toHostName } from '../../../packages/http-server/host-name.ts'
import { formatMetrics, METRICS_TYPE, type Metrics, type ProcessSnapshot } from '../../lib/metrics.ts'
import type { InternalRoute } from './internal-server.ts'

export const ON_DEMAND_TLS_PATH = '/internal/tls-allowed'

/**
 * The on-demand TLS endpoint for proxies on this machine: `GET /internal/tls-allowed?domain=NAME` returns 200 when a
 * certificate for the name is useful, 404 when not, 400 for an invalid name, 503 when that is unknown. `isAllowed`
 * rejects with UNAVAILABLE then.
 */
export function onDemandTls(isAllowed: (name: string) => Promise<boolean>): InternalRoute {
  return async (query) => {
    const [domain = '', ...more] = query.getAll('domain')
    const name = domain.toLowerCase().replace(/\.$/, '')
    if (more.length > 0 || toHostName(name) !== name) return { status: 400 }
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
