import type { Blobs } from '../../blobs/blobs.ts'
import type { DiskReserve } from '../../blobs/disk-reserve.ts'
import type { CertificateManager } from '../../certificates/certificates.ts'
import type { DomainService } from '../../domains/domain.ts'
import type { CircuitBreaker } from '../../lib/circuit-breaker.ts'
import type { Incidents, ReadState } from '../../lib/incidents.ts'
import { SECOND_MS } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'
import { readDescriptors } from './process-metrics.ts'

interface Parts {
  store: Store
  blobs: Blobs
  reserve: DiskReserve
  breaker: CircuitBreaker
  domains: Pick<DomainService, 'lookupFailure'>
  certificates?: Pick<CertificateManager, 'outage'> | undefined
  /** Whether the database and the blobs are files of the data folder. */
  hasLocalDatabase: boolean
  hasLocalBlobs: boolean
}

/** Beyond it a node needs its operator, if that lasts. */
const MAX_SILENCE_MS = 3 * SECOND_MS

/** An incident ends when the free space exceeds the reserve by a tenth of it. */
const SPACE_FACTOR = 1.1

/** Shares of the limit of descriptors at which an incident begins and ends. */
const MANY_DESCRIPTORS = 0.8
const ENOUGH_DESCRIPTORS = 0.7

/** Readings between two counts of the descriptors: listing 20,000 of them takes 30 ms of CPU (measured). */
const DESCRIPTOR_READINGS = 10

/** Watches what the engines do not watch themselves. */
export function watchService(incidents: Incidents, parts: Parts): void {
  const { store, blobs, domains, certificates, hasLocalDatabase, hasLocalBlobs } = parts
  incidents.watch('changes-unheard', (isActive) =>
    store.silenceMs() > (isActive ? SECOND_MS : MAX_SILENCE_MS) ? {} : undefined,
  )
  incidents.watch('serving-stale', checkStale(parts))
  incidents.watch('disk-below-reserve', checkSpace(parts))
  incidents.watch('descriptors-short', checkDescriptors())
  incidents.watch('lookups-fail', () => domains.lookupFailure())
  incidents.watch('ca-unreachable', () => certificates?.outage())
  if (hasLocalDatabase || hasLocalBlobs)
    incidents.watch('storage-fails', async () => {
      try {
        if (hasLocalDatabase) await store.check()
        if (hasLocalBlobs) await blobs.check()
        return undefined
      } catch (error) {
        const { message, cause } = error as Error
        return { reason: cause instanceof Error ? cause.message : message }
      }
    })
}

/** `lookups`: how often a cached entry was used without a check since the incident began. */
function checkStale({ breaker }: Parts): ReadState {
  let before = 0
  return (isActive) => {
    const lookups = breaker.staleHits - before
    const isOver = isActive ? breaker.isCurrent() && !breaker.isBlocking() : lookups === 0
    if (!isOver) return { lookups }
    before = breaker.staleHits
    return undefined
  }
}

/** The cache of a bucket gives way before publishing is refused. */
function checkSpace({ reserve, blobs }: Parts): ReadState {
  return async (isActive) => {
    const space = await reserve.measure()
    if (space.freeBytes >= space.reserveBytes * (isActive ? SPACE_FACTOR : 1)) return undefined
    const isRefused = () =>
      blobs.assertLocalSpace().then(
        () => false,
        () => true,
      )
    return isActive || (await isRefused()) ? { ...space } : undefined
  }
}

function checkDescriptors(): ReadState {
  let readings = 0
  let last = { open: 0, limit: Number.POSITIVE_INFINITY }
  return async (isActive) => {
    if (readings++ % DESCRIPTOR_READINGS === 0)
      last = await readDescriptors().catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EMFILE' && error.code !== 'ENFILE') throw error
        return { ...last, open: last.limit }
      })
    return last.open >= last.limit * (isActive ? ENOUGH_DESCRIPTORS : MANY_DESCRIPTORS) ? last : undefined
  }
}
