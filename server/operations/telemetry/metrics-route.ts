import { formatMetrics, METRICS_TYPE, type Metrics, type ProcessSnapshot } from '../../lib/metrics.ts'
import type { InternalRoute } from '../../net/internal-server.ts'

export const METRICS_PATH = '/metrics'

/**
 * `GET /metrics`: the numbers of this process in the text format of Prometheus; those of all processes of this machine
 * with `collectAll`.
 */
export function metricsRoute(
  metrics: Metrics,
  collectAll: (() => Promise<ProcessSnapshot[]>) | undefined,
): InternalRoute {
  return async () => {
    const processes = collectAll ? await collectAll() : [{ snapshot: await metrics.collect() }]
    return { status: 200, headers: { 'Content-Type': METRICS_TYPE }, body: formatMetrics(processes) }
  }
}
