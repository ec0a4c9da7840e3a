import { listPages } from '../lib/list-pages.ts'
import { DAY_MS } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import { deleteBefore, deleteInSteps, INDEPENDENT } from '../store/store.ts'
import { SALT_GRACE_MS } from './visit-recorder.ts'

/** Days that can be queried, plus the current one. */
const RETENTION_DAYS = 91

const MAX_NAMES_PER_PAST_DAY = 100

const CURSOR = 'truncated visits'

const SITES_PER_QUERY = 500

type VisitSweepParts = Pick<Parts, 'store' | 'clock'>

/** Deletes a salt, and with it the visitors, when no node can write for its day any more; counts after 91 days. */
export async function pruneVisits(options: VisitSweepParts): Promise<number> {
  const { store, clock } = options
  const now = clock()
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const open = Math.floor((now - SALT_GRACE_MS) / DAY_MS) * DAY_MS
  const before = today - (RETENTION_DAYS - 1) * DAY_MS
  // First the salts of earlier days: their hashes can then no longer be attributed.
  const ends = { visit_salts: open, visitors: open, visit_hours: before, visit_names: before } as const
  let deleted = 0
  for (const name of Object.keys(ends) as (keyof typeof ends)[])
    deleted += await deleteBefore(store, name, ends[name])
  return deleted
}

/**
 * Deletes rarely requested names of past days, and all counts of deleted sites. Begins with the day before the last run,
 * of which counts may have been written after it. Reads all visited sites.
 */
export async function truncateVisits(options: VisitSweepParts): Promise<number> {
  const { store, clock } = options
  const today = Math.floor(clock() / DAY_MS) * DAY_MS
  const last = Number((await store.read.jobCursors.find(CURSOR)) ?? today)
  let names = 0
  let day = Math.max(Math.min(last, today - DAY_MS) - DAY_MS, today - (RETENTION_DAYS - 1) * DAY_MS)
  for (; day < today; day += DAY_MS) names += await truncateDay(options, day)
  await store.write('relaxed', INDEPENDENT, (tx) => tx.jobCursors.set(CURSOR, `${today}`))
  return names + (await deleteVisitsOfDeletedSites(options))
}

async function truncateDay({ store }: VisitSweepParts, day: number): Promise<number> {
  let folded = 0
  const { visits } = store.read
  for await (const slugs of listPages('', (after) => visits.visitedOn(day, after, SITES_PER_QUERY)))
    for (const slug of await visits.sitesOverNameLimit(slugs, day, MAX_NAMES_PER_PAST_DAY))
      folded += await store.write('relaxed', INDEPENDENT, (tx) =>
        tx.visits.truncateNames(slug, day, MAX_NAMES_PER_PAST_DAY),
      )
  return folded
}

async function deleteVisitsOfDeletedSites({ store }: VisitSweepParts): Promise<number> {
  let dropped = 0
  const { visits } = store.read
  for await (const slugs of listPages('', (after) => visits.sitesWithVisits(after, SITES_PER_QUERY)))
    for (const slug of await visits.deletedAmong(slugs))
      dropped += await deleteInSteps(store, (tx) => tx.visits.deleteSite(slug))
  return dropped
}
