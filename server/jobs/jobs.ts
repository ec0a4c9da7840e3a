import { pruneVisits, truncateVisits } from '../analytics/retention.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { CertificateManager } from '../certificates/certificates.ts'
import type { DomainService } from '../domains/domain.ts'
import type { Log } from '../lib/log.ts'
import { DAY_SECONDS, HOUR_SECONDS } from '../lib/time.ts'
import { minIdAt } from '../lib/tokens.ts'
import type { Notices } from '../notices/notices.ts'
import type { Precompressor } from '../precompress/precompressor.ts'
import { endRedirects } from '../sites/names.ts'
import { deleteSite } from '../sites/trash.ts'
import { deleteVersions } from '../sites/version.ts'
import type { Versions } from '../sites/version-history.ts'
import type { Site } from '../store/contract/sites.ts'
import { INDEPENDENT, type Store, type WriteTransaction } from '../store/store.ts'
import type { AccountDeletion } from './account-deletion.ts'

/** Dependencies of sweeps; all times in seconds. */
export interface SweepOptions {
  store: Store
  blobs: Blobs
  versions: Versions
  precompressor: Precompressor
  domains: DomainService
  accountDeletion: AccountDeletion
  notices: Notices
  certificates?: CertificateManager | undefined
  clock: () => number
  log: Log
  pendingLifetime: number
  blobGrace: number
}

export interface Sweep {
  name: string
  /** Interval in seconds. */
  intervalSeconds: number
  description: string
  /** False where the sweep has nothing to do because of the settings; by default true. */
  isEnabled?: (options: SweepOptions) => boolean
  /** No lease: every node runs it, and claims each item in the store before it works on it. */
  runsOnAllNodes?: true
  /** Runs the sweep and returns the number of affected items. Safe to run twice, or concurrently on two nodes. */
  run(options: SweepOptions, span: SweepScope): Promise<number>
}

/** The scope of a run: recent changes, or everything (by hand). */
export interface SweepScope {
  since: number
}

/** Items per transaction, so that none holds the store for long. */
const ITEMS_PER_TRANSACTION = 100

/** Versions that a node compresses before it queries for others. */
const VERSIONS_PER_PIECE = 10

/** All sweeps, in the order in which `slipway-server sweep all` runs them. */
export const sweeps: readonly Sweep[] = [
  {
    name: 'expired-sites',
    intervalSeconds: 60,
    description: 'deletes expired sites',
    run: deleteExpiredSites,
  },
  {
    name: 'trash',
    intervalSeconds: 60,
    description: 'deletes sites permanently when their time in the trash has ended',
    run: emptyTrash,
  },
  {
    name: 'leaving',
    intervalSeconds: 60,
    description: 'resumes account deletions that a crash interrupted',
    run: ({ accountDeletion, store }) => accountDeletion.resume(store),
  },
  {
    name: 'abandoned',
    intervalSeconds: 600,
    description: 'deletes sites and versions that were never finalized',
    run: deleteAbandoned,
  },
  {
    name: 'old-versions',
    intervalSeconds: HOUR_SECONDS,
    description: 'deletes versions and drafts beyond the retention limits',
    run: pruneVersions,
  },
  {
    name: 'uploads',
    intervalSeconds: HOUR_SECONDS,
    description: 'deletes uploads of versions that are no longer pending',
    run: discardUploads,
  },
  {
    name: 'blobs',
    intervalSeconds: 300,
    description: 'deletes blobs that have been unreferenced for the grace period',
    run: deleteBlobs,
  },
  {
    name: 'unnamed',
    intervalSeconds: DAY_SECONDS,
    description: 'scans all blobs for unreferenced ones',
    run: markOrphanBlobs,
  },
  {
    name: 'encodings',
    intervalSeconds: 60,
    description: 'compresses versions that have no encodings yet',
    runsOnAllNodes: true,
    run: enqueuePrecompression,
  },
  {
    name: 'sign-ins',
    intervalSeconds: 600,
    description: 'deletes used and expired codes, sessions and counters',
    run: deleteExpiredSignIns,
  },
  {
    name: 'domains',
    intervalSeconds: 5,
    description: 'checks the DNS records of domains that are due',
    runsOnAllNodes: true,
    run: ({ domains }) => domains.verifyDue(),
  },
  {
    name: 'held-domains',
    intervalSeconds: HOUR_SECONDS,
    description: 'releases reservations of deleted domains',
    run: releaseExpiredReservations,
  },
  {
    name: 'former-names',
    intervalSeconds: HOUR_SECONDS,
    description: 'ends redirects of former site names after 30 days',
    run: endRedirects,
  },
  {
    name: 'visits',
    intervalSeconds: HOUR_SECONDS,
    description: 'deletes visitor records daily, and visit counts after 91 days',
    run: pruneVisits,
  },
  {
    name: 'visit-counts',
    intervalSeconds: DAY_SECONDS,
    description: 'deletes counts of rarely requested names of past days, and visit counts of deleted sites',
    run: truncateVisits,
  },
  {
    name: 'emails',
    intervalSeconds: 60,
    description:
      'sends emails about expiring sites, failing domains and certificates, new sign-ins, deleted sites and invitations',
    run: ({ notices, store }) => notices.run(store),
  },
  {
    name: 'certificates',
    intervalSeconds: 10,
    description: 'issues and renews the certificates that are due',
    isEnabled: ({ certificates }) => certificates !== undefined,
    run: async ({ certificates }) => (await certificates?.runDue()) ?? 0,
  },
  {
    name: 'certificate-names',
    intervalSeconds: DAY_SECONDS,
    description: 'compares the names of certificates with the domains and sites that need one',
    isEnabled: ({ certificates }) => certificates !== undefined,
    run: async ({ certificates, store }) => (await certificates?.repairNames(store)) ?? 0,
  },
]

async function deleteExpiredSites(options: SweepOptions): Promise<number> {
  const { store, clock } = options
  return repeatUntilEmpty(async () => {
    const expired = await store.read.sites.expired(clock(), ITEMS_PER_TRANSACTION)
    return deleteSites(options, expired, 'expired', async (tx, slug) => {
      const site = await tx.sites.bySlug(slug)
      return site?.deletedAt === null && site.expiresAt !== null && site.expiresAt <= clock()
    })
  })
}

async function emptyTrash(options: SweepOptions): Promise<number> {
  const { store, clock } = options
  return repeatUntilEmpty(async () => {
    const overdue = await store.read.sites.overdueInTrash(clock(), ITEMS_PER_TRANSACTION)
    return deleteSites(options, overdue, 'deleted', async (tx, slug) => {
      const { keptUntil = null } = (await tx.sites.bySlug(slug)) ?? {}
      return keptUntil !== null && keptUntil <= clock()
    })
  })
}

async function deleteAbandoned(options: SweepOptions): Promise<number> {
  const { store, blobs, clock, pendingLifetime } = options
  const before = clock() - pendingLifetime * 1000
  const sites = await repeatUntilEmpty(async () => {
    const abandoned = await store.read.sites.abandoned(before, ITEMS_PER_TRANSACTION)
    return deleteSites(options, abandoned, 'abandoned', (tx, slug) => tx.sites.isAbandoned(slug, before))
  })
  const versions = await repeatUntilEmpty(async () => {
    const abandoned = await store.read.versions.abandoned(before, ITEMS_PER_TRANSACTION)
    for (const { id, slug } of abandoned) {
      await store.write('durable', { site: slug }, async (tx) => {
        if ((await tx.versions.header(id))?.state === 'pending') await deleteVersions(tx, slug, [id], clock())
      })
      await blobs.discard(id)
    }
    return abandoned.length
  })
  return sites + versions
}

async function pruneVersions({ versions, store }: SweepOptions, { since }: SweepScope): Promise<number> {
  return repeatUntilEmpty(async () => {
    let dropped = 0
    for (const slug of await versions.findPrunable(since, ITEMS_PER_TRANSACTION))
      dropped += await versions.prune(slug, store)
    return dropped
  })
}

/** Discards the staging areas of versions that are no longer pending. */
async function discardUploads({ store, blobs, clock, pendingLifetime }: SweepOptions): Promise<number> {
  let discarded = 0
  for await (const { area, changedAt } of blobs.stagingAreas()) {
    const age = clock() - changedAt
    const version = await store.read.versions.header(area)
    if (version?.state === 'pending') continue
    // An area without a version may belong to an archive upload in progress.
    if (age < (version ? HOUR_SECONDS : pendingLifetime) * 1000) continue
    await blobs.discard(area)
    discarded++
  }
  // Earlier versions of the service left rows without a version when they crashed.
  const before = minIdAt(clock() - pendingLifetime * 1000)
  await store.write('relaxed', INDEPENDENT, (tx) => tx.versions.deleteStrayArrivals(before))
  return discarded
}

/**
 * Deletes marked blobs after the grace period. Within the transaction no reference can be added, and a blob
 * that was referenced since it was marked is unmarked. The rows of encodings are deleted in an earlier
 * transaction: in the same one, a crash that rolls it back would leave rows of deleted encodings.
 */
async function deleteBlobs({ store, blobs, clock, blobGrace }: SweepOptions): Promise<number> {
  let deleted = 0
  for (;;) {
    const marked = await store.read.blobReferences.markedForDeletion(
      clock() - blobGrace * 1000,
      ITEMS_PER_TRANSACTION,
    )
    if (marked.length === 0) return deleted
    await store.write('durable', INDEPENDENT, async (tx) => {
      await tx.encodings.delete(await tx.blobReferences.findUnreferenced(marked))
    })
    deleted += await store.write('durable', INDEPENDENT, async (tx) => {
      const unreferenced = await tx.blobReferences.findUnreferenced(marked)
      await Promise.all(unreferenced.map((hash) => blobs.remove(hash)))
      await tx.blobReferences.unmark(marked)
      return unreferenced.length
    })
  }
}

/**
 * Finds what a power cut may have left behind: blobs that were never referenced, or no longer because of a
 * lost write.
 */
async function markOrphanBlobs({ store, blobs, clock }: SweepOptions): Promise<number> {
  let count = 0
  const markUnreferenced = async (hashes: string[]) => {
    if ((await store.read.blobReferences.findUnreferenced(hashes)).length === 0) return
    count += await store.write('relaxed', INDEPENDENT, async (tx) => {
      return tx.blobReferences.markForDeletion(await tx.blobReferences.findUnreferenced(hashes), clock())
    })
  }
  let listed: string[] = []
  for await (const hash of blobs.list()) {
    listed.push(hash)
    if (listed.length < ITEMS_PER_TRANSACTION) continue
    await markUnreferenced(listed)
    listed = []
  }
  if (listed.length > 0) await markUnreferenced(listed)
  return count
}

/**
 * Completes what a crashed process, a full disk or a full queue left undone: a random piece at a time, because other
 * nodes take theirs from the same versions.
 */
async function enqueuePrecompression({ store, precompressor, clock }: SweepOptions): Promise<number> {
  return repeatUntilEmpty(async () => {
    const left = await store.read.versions.notPrecompressed(clock(), ITEMS_PER_TRANSACTION)
    const versions = takeRandom(left, VERSIONS_PER_PIECE)
    for (const { slug, id } of versions) precompressor.enqueue(slug, id)
    await precompressor.onIdle()
    const now = await store.read.versions.headers(versions.map((version) => version.id))
    return versions.length - now.filter((version) => !version.isEncoded).length
  })
}

async function deleteExpiredSignIns({ store, clock }: SweepOptions): Promise<number> {
  const now = clock()
  return store.write('relaxed', INDEPENDENT, async (tx) => {
    const counters = await tx.counters.deleteBefore(now - 2 * HOUR_SECONDS * 1000)
    return counters + (await tx.signIns.deleteExpired(now))
  })
}

async function releaseExpiredReservations({ store, clock }: SweepOptions): Promise<number> {
  return store.write('relaxed', INDEPENDENT, (tx) => tx.domains.deleteExpiredReservations(clock()))
}

/** Deletes sites for which `isStillDue` holds within the transaction: a concurrent publish wins. */
async function deleteSites(
  { store, blobs, clock, certificates }: SweepOptions,
  sites: readonly Site[],
  reason: 'deleted' | 'expired' | 'abandoned',
  isStillDue: (tx: WriteTransaction, slug: string) => Promise<boolean>,
): Promise<number> {
  for (const { slug } of sites) {
    const areas = await store.write('durable', { site: slug }, async (tx) =>
      (await isStillDue(tx, slug)) ? deleteSite(tx, slug, reason, clock(), certificates) : [],
    )
    for (const area of areas) await blobs.discard(area)
  }
  return sites.length
}

/** Removes items from the list. */
function takeRandom<Item>(items: Item[], count: number): Item[] {
  const taken: Item[] = []
  while (taken.length < count && items.length > 0)
    taken.push(...items.splice(Math.floor(Math.random() * items.length), 1))
  return taken
}

/** Runs a step until it affects no item; bounded, so that a failing step does not loop forever. */
async function repeatUntilEmpty(step: () => Promise<number>): Promise<number> {
  let total = 0
  for (let runs = 0; runs < 10_000; runs++) {
    const done = await step()
    if (done === 0) break
    total += done
  }
  return total
}
