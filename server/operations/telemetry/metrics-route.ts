import { formatMetrics, METRICS_TYPE, type Metrics, type ProcessSnapshot } from '../../lib/metrics.ts'
import type { InternalRoute } from '../internal/internal-server.ts'

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
