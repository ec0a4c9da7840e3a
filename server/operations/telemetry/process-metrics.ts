import { readdir, readFile } from 'node:fs/promises'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Metrics } from '../../lib/metrics.ts'
import { SECOND_MS } from '../../lib/time.ts'

const DELAY_INTERVAL_MS = 15 * SECOND_MS

const DELAY_RESOLUTION_MS = 20

/** Dispose the result to end the timers and to remove the listeners. */
export function addProcessMetrics(metrics: Metrics, { version }: { version: string }): Disposable {
  metrics.addRead('slipway_build_info', () => 1, { version, node: process.versions.node })
  metrics.addRead('process_start_time_seconds', () => performance.timeOrigin / 1000)
  metrics.addRead('process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  metrics.addRead('process_resident_memory_bytes', () => process.memoryUsage.rss())
  metrics.addRead('nodejs_heap_size_used_bytes', () => process.memoryUsage().heapUsed)
  metrics.addRead('nodejs_external_memory_bytes', () => process.memoryUsage().external)
  metrics.addRead(
    'nodejs_eventloop_active_seconds_total',
    () => performance.eventLoopUtilization().active / 1000,
  )
  addDescriptors(metrics)
  const added = new DisposableStack()
  added.use(addEventLoopDelay(metrics))
  const failures = metrics.counter('slipway_log_failures_total')
  const count = () => failures.add()
  for (const stream of [process.stdout, process.stderr])
    added.adopt(stream.on('error', count), () => stream.off('error', count))
  return added
}

function addDescriptors(metrics: Metrics): void {
  let read: { open: number; limit: number } | undefined
  metrics.addRefresh(async () => {
    read = await readDescriptors()
  })
  metrics.addRead('process_open_fds', () => read?.open)
  metrics.addRead('process_max_fds', () => read?.limit)
}

/** Percentiles beyond the resolution, of the last complete interval. */
function addEventLoopDelay(metrics: Metrics): Disposable {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  delay.enable()
  const toSeconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - DELAY_RESOLUTION_MS / 1000)
  const update = () => {
    metrics.gauge('nodejs_eventloop_lag_p50_seconds').set(toSeconds(delay.percentile(50)))
    metrics.gauge('nodejs_eventloop_lag_p99_seconds').set(toSeconds(delay.percentile(99)))
    metrics.gauge('nodejs_eventloop_lag_max_seconds').set(toSeconds(delay.max))
    delay.reset()
  }
  update()
  const timer = setInterval(update, DELAY_INTERVAL_MS).unref()
  return {
    [Symbol.dispose]() {
      clearInterval(timer)
      delay.disable()
    },
  }
}

/** Rejects on systems other than Linux, and while no descriptor is free. */
export async function readDescriptors(): Promise<{ open: number; limit: number }> {
  const [, limit = ''] = /^Max open files +(\d+)/m.exec(await readFile('/proc/self/limits', 'utf8')) ?? []
  return { open: (await readdir('/proc/self/fd')).length, limit: Number(limit) }
}
