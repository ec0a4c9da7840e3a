import type { ClientMemory } from '../../../packages/http-server/clients/client-memory.ts'
import type { Connections } from '../../../packages/http-server/clients/connections.ts'
import type { MemoryBudget } from '../../../packages/http-server/memory/second-chance-cache.ts'
import type { Validity } from '../../../packages/http-server/tls/certificate-files.ts'
import type { DiskReserve } from '../../blobs/disk-reserve.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { MINUTE_MS, SECOND_MS } from '../../lib/time.ts'
import type { Precompressor } from '../../publish/precompress/precompressor.ts'
import type { Store } from '../../store/store.ts'
import { BACKUP_RUN, type SweepRun } from '../../store/tables/jobs.ts'

interface Parts {
  store: Store
  reserve: DiskReserve
  connections: Connections
  clientMemory: ClientMemory
  budget: MemoryBudget
  precompressor: Precompressor
  sweepList: { names: readonly string[] }
  backupTarget: string
  https: { fileValidity: Validity | undefined } | undefined
}

/** Validity of the results of queries of whole tables. */
const QUERY_LIFETIME_MS = MINUTE_MS

/** Read from the parts of the service when they are shown. */
export function addServiceMetrics(metrics: Metrics, parts: Parts): void {
  const { connections, clientMemory, budget, precompressor } = parts
  metrics.addRead('slipway_connections', () => connections.open)
  metrics.addRead('slipway_connections_closed_total', () => connections.closed.tooMany, { reason: 'limit' })
  metrics.addRead('slipway_connections_closed_total', () => connections.closed.tooSlow, { reason: 'slow' })
  metrics.addRead('slipway_client_memory_bytes', () => clientMemory.heldBytes)
  metrics.addRead('slipway_cache_bytes', () => budget.usedBytes)
  metrics.addRead('slipway_cache_limit_bytes', () => budget.limit)
  metrics.addRead('slipway_precompress_queue_length', () => precompressor.queueLength)
  addDisk(metrics, parts)
  addCertificates(metrics, parts)
  addRuns(metrics, parts)
}

function addDisk(metrics: Metrics, { reserve }: Parts): void {
  const total = metrics.gauge('slipway_disk_bytes')
  const free = metrics.gauge('slipway_disk_free_bytes')
  const reserved = metrics.gauge('slipway_disk_reserve_bytes')
  metrics.addRefresh(async () => {
    const { totalBytes, freeBytes, reserveBytes } = await reserve.measure()
    total.set(totalBytes)
    free.set(freeBytes)
    reserved.set(reserveBytes)
  }, SECOND_MS)
}

/** Counts by state, so that the number of series does not depend on the number of domains. */
function addCertificates(metrics: Metrics, { store, https }: Parts): void {
  let issued: Validity | undefined
  metrics.addRefresh(async () => {
    const { certificates } = store.read
    for (const [state, count] of Object.entries(await certificates.countByState(store.clock())))
      metrics.gauge('slipway_certificates', { state }).set(count)
    issued = await certificates.nextToExpire()
  }, QUERY_LIFETIME_MS)
  const sources = { acme: () => issued, file: () => https?.fileValidity }
  for (const [source, read] of Object.entries(sources)) {
    const since = (from: (life: Validity) => number) => () => {
      const life = read()
      return life && (life.notAfter - from(life)) / SECOND_MS
    }
    const lifetime = since((life) => life.notBefore)
    metrics.addRead('slipway_certificate_expiry_seconds', since(store.clock), { source })
    metrics.addRead('slipway_certificate_lifetime_seconds', lifetime, { source })
  }
}

/** A target in the settings without any backup counts as one of the start: otherwise no alert could notice that. */
function addRuns(metrics: Metrics, { store, sweepList, backupTarget }: Parts): void {
  let runs: ReadonlyMap<string, SweepRun> | undefined
  metrics.addRefresh(async () => {
    runs = new Map((await store.read.sweepRuns.list()).map((run) => [run.name, run]))
    for (const name of sweepList.names)
      metrics.gauge('slipway_sweep_failures', { sweep: name }).set(runs.get(name)?.failures ?? 0)
  }, QUERY_LIFETIME_MS)
  const startedAt = backupTarget === '' ? undefined : performance.timeOrigin
  metrics.addRead('slipway_backup_last_run_timestamp_seconds', () => {
    const at = runs && (runs.get(BACKUP_RUN)?.startedAt ?? startedAt)
    return at && at / 1000
  })
  metrics.addRead('slipway_backup_failures', () => runs?.get(BACKUP_RUN)?.failures)
}
