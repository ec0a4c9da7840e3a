import type { Blobs } from '../blobs/blobs.ts'
import type { Domains } from '../domain.ts'
import type { Encodings } from '../encodings/encodings.ts'
import { firstIdOf } from '../key.ts'
import type { Leaving } from '../leaving.ts'
import type { Log } from '../log.ts'
import { endSite } from '../site.ts'
import type { SiteRow } from '../store/schema.ts'
import type { Store, Writing } from '../store/store.ts'
import type { Certificates } from '../tls/issuing/certificates.ts'
import { dropVersions, type Versions } from '../version.ts'
import { forgetVisits } from './visits.ts'

/** What sweeps work with; all times in seconds. */
export interface SweepOptions {
  store: Store
  blobs: Blobs
  versions: Versions
  encodings: Encodings
  domains: Domains
  leaving: Leaving
  certificates?: Certificates | undefined
  clock: () => number
  log: Log
  pendingLifetime: number
  blobGrace: number
}

export interface Sweep {
  name: string
  /** Seconds between two runs. */
  every: number
  means: string
  /** Does the work and answers how many things went. Running it twice, or on two nodes at once, does no harm. */
  run(options: SweepOptions, span: Span): Promise<number>
}

/** What a run looks at: only what changed lately, or all there is (by hand). */
export interface Span {
  since: number
}

const HOUR = 3600

/** Things a sweep takes into one transaction, so that none holds the store for long. */
const BATCH = 100

/** Every sweep, in the order in which `slipway-server sweep all` runs them. */
export const sweeps: readonly Sweep[] = [
  { name: 'expired-sites', every: 60, means: 'ends sites whose time is over', run: endExpiredSites },
  {
    name: 'leaving',
    every: 60,
    means: 'goes on with accounts that were being deleted when a process died',
    run: ({ leaving }) => leaving.finish(),
  },
  {
    name: 'abandoned',
    every: 600,
    means: 'drops sites and versions that were never finalized',
    run: dropAbandoned,
  },
  {
    name: 'old-versions',
    every: 3600,
    means: 'drops versions beyond the number that is kept',
    run: dropOldVersions,
  },
  {
    name: 'uploads',
    every: 3600,
    means: 'deletes uploaded bytes that no pending version waits for',
    run: discardUploads,
  },
  {
    name: 'blobs',
    every: 300,
    means: 'deletes blobs that nothing has named for the grace time',
    run: deleteBlobs,
  },
  {
    name: 'unnamed',
    every: 86_400,
    means: 'looks through all blobs for some that nothing names',
    run: condemnUnnamed,
  },
  {
    name: 'encodings',
    every: 60,
    means: 'prepares encodings of versions that were left without',
    run: prepareEncodings,
  },
  {
    name: 'sign-ins',
    every: 600,
    means: 'forgets used and old codes, sessions and counters',
    run: forgetSignIns,
  },
  {
    name: 'domains',
    every: 5,
    means: 'looks up the DNS records of domains that are due',
    run: ({ domains }) => domains.checkDue(),
  },
  {
    name: 'held-domains',
    every: 3600,
    means: 'lets go of deleted domains that were kept for their accounts',
    run: letGoOfDomains,
  },
  {
    name: 'visits',
    every: 3600,
    means: 'forgets who visited and, after 91 days, how often',
    run: forgetVisits,
  },
  {
    name: 'certificates',
    every: 10,
    means: 'gets and renews the certificates that are due',
    run: async ({ certificates }) => (await certificates?.tend()) ?? 0,
  },
]

async function endExpiredSites(options: SweepOptions): Promise<number> {
  const { store, clock } = options
  return inBatches(async () => {
    const expired = await store.read.sites.expired(clock(), BATCH)
    return end(options, expired, 'expired', async (tx, slug) => {
      const site = await tx.sites.bySlug(slug)
      return site?.gone_at === null && site.expires_at !== null && site.expires_at <= clock()
    })
  })
}

async function dropAbandoned(options: SweepOptions): Promise<number> {
  const { store, blobs, clock, pendingLifetime } = options
  const before = clock() - pendingLifetime * 1000
  const sites = await inBatches(async () => {
    const abandoned = await store.read.sites.abandoned(before, BATCH)
    return end(options, abandoned, 'abandoned', (tx, slug) => tx.sites.isAbandoned(slug, before))
  })
  const versions = await inBatches(async () => {
    const abandoned = await store.read.versions.abandoned(before, BATCH)
    for (const { id, slug } of abandoned) {
      await store.write('durable', async (tx) => {
        if ((await tx.versions.head(id))?.state === 'pending') await dropVersions(tx, slug, [id], clock())
      })
      await blobs.discard(id)
    }
    return abandoned.length
  })
  return sites + versions
}

async function dropOldVersions({ store, versions }: SweepOptions, { since }: Span): Promise<number> {
  return inBatches(async () => {
    let dropped = 0
    for (const slug of await store.read.versions.crowded(versions.kept, since, BATCH))
      dropped += await versions.prune(slug)
    return dropped
  })
}

/** A batch of uploads whose version is no longer pending is of no use to anybody. */
async function discardUploads({ store, blobs, clock, pendingLifetime }: SweepOptions): Promise<number> {
  let discarded = 0
  for await (const { batch, changedAt } of blobs.batches()) {
    const age = clock() - changedAt
    const version = await store.read.versions.head(batch)
    if (version?.state === 'pending') continue
    // A batch without a version may be an archive that is still on its way.
    if (age < (version ? HOUR : pendingLifetime) * 1000) continue
    await blobs.discard(batch)
    discarded++
  }
  // What a front was kept from collection with, when the process that made it died.
  const before = firstIdOf(clock() - pendingLifetime * 1000)
  await store.write('soft', (tx) => tx.versions.forgetStrayArrivals(before))
  return discarded
}

/**
 * Deletes condemned blobs after the grace time. Within the transaction nobody can begin to name a blob, and
 * whoever named one since it was condemned has won: it is pardoned. What is known of their encodings is forgotten
 * before: were it forgotten in the same transaction, a kill that undoes it would leave rows of encodings that are gone.
 */
async function deleteBlobs({ store, blobs, clock, blobGrace }: SweepOptions): Promise<number> {
  let deleted = 0
  for (;;) {
    const condemned = await store.read.blobNames.condemned(clock() - blobGrace * 1000, BATCH)
    if (condemned.length === 0) return deleted
    await store.write('durable', async (tx) => {
      await tx.encodings.forget(await tx.blobNames.unnamedAmong(condemned))
    })
    deleted += await store.write('durable', async (tx) => {
      const unnamed = await tx.blobNames.unnamedAmong(condemned)
      await Promise.all(unnamed.map((hash) => blobs.remove(hash)))
      await tx.blobNames.pardon(condemned)
      return unnamed.length
    })
  }
}

/** Finds what a power cut may have left behind: blobs that were never named, or no longer by a write that was lost. */
async function condemnUnnamed({ store, blobs, clock }: SweepOptions): Promise<number> {
  let found = 0
  const look = async (hashes: string[]) => {
    if ((await store.read.blobNames.unnamedAmong(hashes)).length === 0) return
    found += await store.write('soft', async (tx) => {
      return tx.blobNames.condemn(await tx.blobNames.unnamedAmong(hashes), clock())
    })
  }
  let piece: string[] = []
  for await (const hash of blobs.list()) {
    piece.push(hash)
    if (piece.length < BATCH) continue
    await look(piece)
    piece = []
  }
  if (piece.length > 0) await look(piece)
  return found
}

/** What a process that was killed, a disk that was full or a queue that was too long left to be done. */
async function prepareEncodings({ store, encodings }: SweepOptions): Promise<number> {
  return inBatches(async () => {
    const left = await store.read.versions.unencoded(BATCH)
    for (const { slug, id } of left) encodings.prepare(slug, id)
    await encodings.idle()
    const now = await store.read.versions.heads(left.map((version) => version.id))
    return left.length - now.filter((version) => version.encoded === 0).length
  })
}

async function forgetSignIns({ store, clock }: SweepOptions): Promise<number> {
  const now = clock()
  return store.write('soft', async (tx) => {
    const counters = await tx.counters.dropBefore(now - 2 * HOUR * 1000)
    return counters + (await tx.signIns.dropExpired(now))
  })
}

async function letGoOfDomains({ store, clock }: SweepOptions): Promise<number> {
  return store.write('soft', (tx) => tx.domains.dropHeld(clock()))
}

/** Ends sites of which `still` says the same within the transaction: who publishes meanwhile wins. */
async function end(
  { store, blobs, clock, certificates }: SweepOptions,
  sites: readonly SiteRow[],
  reason: 'expired' | 'abandoned',
  still: (tx: Writing, slug: string) => Promise<boolean>,
): Promise<number> {
  for (const { slug } of sites) {
    const batches = await store.write('durable', async (tx) =>
      (await still(tx, slug)) ? endSite(tx, slug, reason, clock(), certificates) : [],
    )
    for (const batch of batches) await blobs.discard(batch)
  }
  return sites.length
}

/** Repeats until a batch finds nothing; bounded, so that one that cannot get on does not spin. */
async function inBatches(batch: () => Promise<number>): Promise<number> {
  let total = 0
  for (let round = 0; round < 10_000; round++) {
    const done = await batch()
    if (done === 0) break
    total += done
  }
  return total
}
