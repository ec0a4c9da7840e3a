import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pruneVisits, truncateVisits } from '../analytics/retention.ts'
import type { CertificateManager } from '../certificates/certificates.ts'
import { BACKUP_FOLDER } from '../config/data-folder.ts'
import type { Config } from '../config/settings.ts'
import type { DomainService } from '../domains/domain.ts'
import { writeWithDomains } from '../domains/status.ts'
import { repeatUntilEmpty } from '../lib/repeat-until-empty.ts'
import { DAY_MS, DAY_SECONDS, HOUR_SECONDS } from '../lib/time.ts'
import { minIdAt } from '../lib/tokens.ts'
import { pruneActivity } from '../operations/administration/activity.ts'
import { countFigures } from '../operations/administration/figures.ts'
import type { Blocks } from '../operations/moderation/blocks.ts'
import type { Reports } from '../operations/moderation/reports.ts'
import type { Notices } from '../operations/notices/notices.ts'
import type { Parts } from '../parts.ts'
import type { Precompressor } from '../publish/precompress/precompressor.ts'
import { VERDICT_LIFETIME_MS } from '../publish/scan/content-scan.ts'
import { removeDiscarded } from '../publish/upload-recorder.ts'
import { endRedirects } from '../sites/names.ts'
import { deleteRest, deleteSite } from '../sites/trash.ts'
import { deleteVersions, writeWithPending } from '../sites/version.ts'
import type { Versions } from '../sites/version-history.ts'
import type { SiteEnd } from '../store/queries/sites.ts'
import type { Queries } from '../store/queries.ts'
import { deleteBefore, deleteInSteps, INDEPENDENT } from '../store/store.ts'
import { BACKUP_LEASE, BACKUP_LEASE_MS } from '../store/tables/nodes.ts'
import { COUNTER_RETENTION_MS } from '../store/tables/usage.ts'
import type { AccountDeletion } from './account-deletion.ts'
import { listDue, processEach } from './process-each.ts'
import type { ThumbnailDrawer } from './thumbnail-drawer.ts'
import { recountUsage } from './usage-recount.ts'
import { VERIFY_INTERVAL_SECONDS, verifyBlobs } from './verify-blobs.ts'

export interface SweepParts extends Pick<Parts, 'store' | 'blobs' | 'clock' | 'log' | 'telemetry'> {
  config: Pick<Config, 'pendingLifetime' | 'blobGrace' | 'verifyDaily' | 'data'>
  versions: Versions
  precompressor: Precompressor
  domains: DomainService
  accountDeletion: AccountDeletion
  blocks: Blocks
  reports: Reports
  notices: Notices
  /** Undefined without a browser. */
  thumbnailDrawer?: ThumbnailDrawer | undefined
  certificates?: CertificateManager | undefined
}

export interface Sweep {
  name: string
  intervalSeconds: number
  description: string
  /** False where the sweep has nothing to do because of the settings; by default true. */
  isEnabled?: (parts: SweepParts) => boolean
  /** No lease: every node runs it, and claims each item in the store before it works on it. */
  runsOnAllNodes?: true
  /** Runs the sweep and returns the number of affected items. Safe to run twice, or concurrently on two nodes. */
  run(parts: SweepParts, span: SweepScope): Promise<number>
}

/** Recent changes, or everything (by hand). */
export interface SweepScope {
  since: number
  isNamed?: boolean
  /** Ends the sweep when its process stops. Its store does that too, at its next use. */
  signal?: AbortSignal
}

/** Items per transaction, so that none holds the store for long. */
const ITEMS_PER_TRANSACTION = 100

/** Versions that a node compresses before it queries for others. */
const VERSIONS_PER_PIECE = 10

/** Objects that one request to S3 can delete. */
const OBJECTS_PER_REQUEST = 1000

/** Failed requests after which a run ends: the bucket is probably unavailable. */
const MAX_FAILED_REQUESTS = 3

/** Of the audit log: longer than a year, so that yearly work can be compared. */
const ENTRY_LIFETIME_MS = 400 * DAY_MS

const EXPIRED_KEY_LIFETIME_MS = 7 * DAY_MS

const STRAYS_CURSOR = 'stray objects'

/** Objects without a row that a run keeps in memory, about 6 MB. */
const MAX_WAITING_STRAYS = 50_000

const TOO_MANY_STRAYS =
  'most stored objects are not in the database, so none of them is deleted: compare the database and the bucket; if both are right, run slipway-server sweep unnamed'

const SWEEPS: Record<string, Omit<Sweep, 'name'>> = {
  'expired-sites': {
    intervalSeconds: 60,
    description: 'deletes expired sites',
    run: (parts) => deleteSites(parts, 'expired', parts.clock()),
  },
  trash: {
    intervalSeconds: 60,
    description:
      'deletes sites whose time in the trash has ended, and what other permanent deletions have left',
    run: (parts) => deleteSites(parts, 'overdue', parts.clock()),
  },
  leaving: {
    intervalSeconds: 60,
    description: 'resumes account deletions that a crash interrupted',
    run: ({ accountDeletion, store }) => accountDeletion.resume(store),
  },
  abandoned: {
    intervalSeconds: 600,
    description: 'deletes sites and versions that were never finalized',
    run: deleteAbandoned,
  },
  'old-versions': {
    intervalSeconds: HOUR_SECONDS,
    description: 'deletes versions and drafts beyond their limits, ended previews and former files',
    run: pruneVersions,
  },
  uploads: {
    intervalSeconds: HOUR_SECONDS,
    description: 'discards uploads that belong to no pending version',
    run: discardStrayUploads,
  },
  blobs: {
    intervalSeconds: 300,
    description: 'deletes blobs that have been unreferenced for the grace period, and discarded uploads',
    run: collectBlobs,
  },
  unnamed: {
    intervalSeconds: DAY_SECONDS,
    description: 'scans all stored objects for those that nothing refers to',
    run: discardStrayObjects,
  },
  verification: {
    intervalSeconds: VERIFY_INTERVAL_SECONDS,
    description: 'reads a part of the stored files, and compares them with their hashes',
    isEnabled: ({ config: { verifyDaily } }) => Object.values(verifyDaily)[0] !== 0,
    run: verifyBlobs,
  },
  encodings: {
    intervalSeconds: 60,
    description: 'compresses versions that have no encodings yet',
    runsOnAllNodes: true,
    run: enqueuePrecompression,
  },
  thumbnails: {
    intervalSeconds: 60,
    description: 'draws thumbnails of sites that were published without a browser',
    isEnabled: ({ thumbnailDrawer }) => thumbnailDrawer !== undefined,
    run: async ({ thumbnailDrawer, store }, { since }) => thumbnailDrawer?.run(store, since) ?? 0,
  },
  'sign-ins': {
    intervalSeconds: 600,
    description: 'deletes used and expired codes, sessions, keys, review links and counters',
    run: deleteExpiredSignIns,
  },
  'audit-log': {
    intervalSeconds: DAY_SECONDS,
    description: 'deletes entries of the audit log after 400 days',
    run: ({ clock, store }) => deleteBefore(store, 'audit_log', clock() - ENTRY_LIFETIME_MS),
  },
  figures: {
    intervalSeconds: 600,
    description: 'counts sites, accounts and domains; deletes activity after 90 days',
    run: async ({ store }) => (await countFigures(store)) + (await pruneActivity(store)),
  },
  programs: {
    intervalSeconds: 600,
    description: 'deletes expired codes, tokens and registrations of programs',
    run: ({ store, clock }) =>
      deleteInSteps(store, ({ oauth }) => oauth.deleteExpired(clock(), ITEMS_PER_TRANSACTION)),
  },
  domains: {
    intervalSeconds: 5,
    description: 'checks the DNS records of domains that are due',
    runsOnAllNodes: true,
    run: ({ domains }) => domains.verifyDue({ slow: false }),
  },
  'slow-domains': {
    intervalSeconds: 5,
    description: 'checks the DNS records of domains with slow name servers',
    runsOnAllNodes: true,
    run: ({ domains }) => domains.verifyDue({ slow: true }),
  },
  'held-domains': {
    intervalSeconds: HOUR_SECONDS,
    description: 'releases reservations of deleted domains',
    run: ({ store, clock }) => deleteBefore(store, 'held_domains', clock() + 1),
  },
  'former-names': {
    intervalSeconds: HOUR_SECONDS,
    description: 'ends redirects of former site names after 30 days',
    run: endRedirects,
  },
  visits: {
    intervalSeconds: HOUR_SECONDS,
    description: 'deletes visitor records daily, and visit counts after 91 days',
    run: pruneVisits,
  },
  'visit-counts': {
    intervalSeconds: DAY_SECONDS,
    description: 'deletes counts of rarely requested names, and those of deleted sites',
    run: truncateVisits,
  },
  usage: {
    intervalSeconds: DAY_SECONDS,
    description: 'counts what accounts and networks store, and corrects their quotas',
    run: recountUsage,
  },
  'expired-blocks': {
    intervalSeconds: 60,
    description: 'removes blocks of networks and files that have ended',
    run: ({ blocks, store }) => blocks.removeExpired(store),
  },
  scans: {
    intervalSeconds: HOUR_SECONDS,
    description: 'deletes verdicts of the scanner of more than 30 days',
    run: ({ store, clock }) => deleteBefore(store, 'accepted_scans', clock() - VERDICT_LIFETIME_MS),
  },
  reports: {
    intervalSeconds: 60,
    description: 'notifies the operator of reports by visitors, and deletes those of more than 180 days',
    run: ({ reports, store }) => reports.run(store),
  },
  emails: {
    intervalSeconds: 60,
    description: 'sends emails about sites, domains, certificates, sign-ins, invitations and moderation',
    run: ({ notices, store }) => notices.run(store),
  },
  certificates: {
    intervalSeconds: 10,
    description: 'issues and renews the certificates that are due',
    isEnabled: ({ certificates }) => certificates !== undefined,
    run: async ({ certificates }) => (await certificates?.runDue()) ?? 0,
  },
  'certificate-names': {
    intervalSeconds: DAY_SECONDS,
    description: 'compares the names of certificates with the domains and sites that need one',
    isEnabled: ({ certificates }) => certificates !== undefined,
    run: async ({ certificates, store }) => (await certificates?.repairNames(store)) ?? 0,
  },
}

/** All sweeps, in the order in which `slipway-server sweep all` runs them. */
export const sweeps: readonly Sweep[] = Object.entries(SWEEPS).map(([name, sweep]) => ({ name, ...sweep }))

async function deleteAbandoned(parts: SweepParts): Promise<number> {
  const { store, clock, config } = parts
  const before = clock() - config.pendingLifetime * 1000
  const findVersions = async (limit: number) =>
    (await store.read.versions.abandoned(before, limit)).map(({ id }) => id)
  let deleted = 0
  try {
    // Before their sites, whose names can be used again when they have none.
    deleted += await processEach(listDue(findVersions), async (id) => {
      await writeWithPending(store, id, (tx, slug) =>
        deleteVersions(tx, slug, { ids: [id], now: clock(), effect: 'outdated' }),
      )
      return 1
    })
  } finally {
    deleted += await deleteSites(parts, 'abandoned', before)
  }
  return deleted
}

async function pruneVersions({ versions, store }: SweepParts, { since }: SweepScope): Promise<number> {
  return processEach(listPrunable(versions, since), (slug) => versions.prune(slug, store))
}

async function* listPrunable(versions: Versions, since: number): AsyncGenerator<string> {
  yield* versions.listCrowded(since)
  yield* listDue((limit) => versions.findOutdated(limit))
}

/** An upload may be recorded while its version is finalized or deleted. */
async function discardStrayUploads({ store, clock, config }: SweepParts): Promise<number> {
  const before = minIdAt(clock() - config.pendingLifetime * 1000)
  return store.write('relaxed', INDEPENDENT, (tx) => tx.versions.discardStrayArrivals(before))
}

/** Returns how many objects it deleted, after their rows; none during a backup. A failure stops no other deletion. */
async function collectBlobs({ store, blobs, clock, config }: SweepParts): Promise<number> {
  const before = clock() - config.blobGrace * 1000
  await repeatUntilEmpty(async () => {
    const { examined } = await store.write('durable', INDEPENDENT, async (tx) => {
      // Within the write: a backup copies the database once it has the lease.
      const now = clock()
      if (await tx.leases.isTaken(BACKUP_LEASE, now, now + BACKUP_LEASE_MS)) return { examined: 0 }
      // What one that was killed has left: another one begins after this write.
      await rm(join(config.data, BACKUP_FOLDER), { recursive: true, force: true })
      return tx.blobs.collect(before, ITEMS_PER_TRANSACTION)
    })
    return examined
  })
  let removed = 0
  const failures: unknown[] = []
  await repeatUntilEmpty(async () => {
    if (failures.length === MAX_FAILED_REQUESTS) return 0
    const objects = await store.read.blobs.listDiscarded(clock(), OBJECTS_PER_REQUEST)
    if (objects.length === 0) return 0
    try {
      removed += await removeDiscarded(store, blobs, objects)
    } catch (error) {
      failures.push(error)
    }
    return objects.length
  })
  if (failures.length > 0) throw failures[0]
  return removed
}

/**
 * Finds what crashes and power cuts may have left behind: objects of the service without a row that are older than any
 * upload. By schedule it continues where an earlier run ended. Unless the operator has named it, it discards no more objects
 * than it has found rows for: with another database, these would be the files of a service in use.
 */
async function discardStrayObjects(
  parts: SweepParts,
  { since, isNamed = false }: SweepScope,
): Promise<number> {
  const { store, blobs, clock, config, log } = parts
  const before = clock() - config.pendingLifetime * 1000
  let withRow = isNamed ? Number.POSITIVE_INFINITY : 0
  let discarded = 0
  let waiting: string[] = []
  const cursor = since === 0 ? undefined : await store.read.jobCursors.find(STRAYS_CURSOR)
  for (let after = cursor; ; ) {
    const page = await blobs.list(after)
    after = page.at(-1)
    const old = page.filter((object) => (blobs.createdAt(object) ?? before) < before)
    const strays = await store.read.blobs.withoutRow(old)
    withRow += old.length - strays.length
    waiting.push(...strays)
    const isAllowed = discarded + waiting.length <= withRow
    const isLast = after === undefined || (!isAllowed && waiting.length >= MAX_WAITING_STRAYS)
    // A run that ends before finds those that wait again.
    if (isAllowed || isLast)
      await store.write('relaxed', INDEPENDENT, async (tx) => {
        if (isAllowed) await tx.blobs.discard(waiting, clock() + config.blobGrace * 1000)
        await tx.jobCursors.set(STRAYS_CURSOR, after)
      })
    if (isAllowed) {
      discarded += waiting.length
      waiting = []
    }
    if (!isLast) continue
    if (waiting.length > 0) log.warn(TOO_MANY_STRAYS, { objects: waiting.length, withRow })
    return discarded
  }
}

/** What a crash, a full disk or a full queue left undone; a random piece: other nodes take theirs from the same. */
async function enqueuePrecompression({ store, precompressor, clock }: SweepParts): Promise<number> {
  return repeatUntilEmpty(async () => {
    const left = await store.read.versions.notPrecompressed(clock(), ITEMS_PER_TRANSACTION)
    const versions = takeRandom(left, VERSIONS_PER_PIECE)
    for (const { slug, id } of versions) precompressor.enqueue(slug, id)
    await precompressor.onIdle()
    const now = await store.read.versions.headers(versions.map((version) => version.id))
    return versions.length - now.filter((version) => !version.isEncoded).length
  })
}

const EXPIRING_SIGN_INS = [
  ...(['sign_in_codes', 'sessions', 'device_sign_ins'] as const),
  ...(['invitations', 'used_tokens', 'review_links'] as const),
]

async function deleteExpiredSignIns({ store, clock }: SweepParts): Promise<number> {
  const now = clock()
  const [limit, before] = [ITEMS_PER_TRANSACTION, now - EXPIRED_KEY_LIFETIME_MS]
  let deleted = await deleteBefore(store, 'counters', now - COUNTER_RETENTION_MS)
  // What expires now has expired.
  for (const table of EXPIRING_SIGN_INS) deleted += await deleteBefore(store, table, now + 1)
  deleted += await deleteInSteps(store, ({ keys }) => keys.deleteExpired({ now, before, limit }))
  return deleted + (await deleteInSteps(store, ({ signIns }) => signIns.deleteExpiredSources(now, limit)))
}

/** Deletes sites that are still due within the transaction: a concurrent publish wins. */
async function deleteSites(
  { store, clock, certificates }: SweepParts,
  end: SiteEnd,
  time: number,
): Promise<number> {
  const due = listDue((limit) => store.read.sites.due(end, time, limit))
  return processEach(due, async (slug) => {
    const find = ({ domains }: Queries) => domains.bySite(slug)
    const reason = end === 'overdue' ? 'deleted' : end
    await writeWithDomains(store, { scope: { site: slug }, find }, async (tx) => {
      if (await tx.sites.isDue(end, slug, time)) await deleteSite(tx, slug, reason, clock(), certificates)
    })
    await deleteRest({ store, clock }, slug)
    return 1
  })
}

function takeRandom<Item>(items: Item[], count: number): Item[] {
  const taken: Item[] = []
  while (taken.length < count && items.length > 0)
    taken.push(...items.splice(Math.floor(Math.random() * items.length), 1))
  return taken
}
