import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { DAY_MS, HOUR_MS } from '../../lib/time.ts'
import { INDEPENDENT, type Store } from '../../store/store.ts'
import type { ActivityEntry, Figures, ListKind } from '../../store/tables/figures.ts'
import { TOTALS_WIDTH_MS, type TotalName } from './activity.ts'

const VISITS_MS = 30 * DAY_MS

/** Objects of one transaction: each may have 720 hours with visits. */
const FIGURES_PER_PAGE = 50
const ROWS_PER_PAGE = 2000

/** Accounts and domains are counted from the figures of sites. */
const KINDS = ['site', 'account', 'domain'] as const

/** Works in small transactions. Returns the number of figures that changed. */
export async function countFigures(store: Store): Promise<number> {
  const now = store.clock()
  const since = Math.floor((now - VISITS_MS) / HOUR_MS) * HOUR_MS
  const totals: Partial<Record<TotalName, number>> = {}
  let changed = 0
  for (const kind of KINDS) {
    const { count, bytes, changes } = await countKind(store, kind, since)
    changed += changes
    totals[`${kind}s`] = count
    if (kind === 'site') totals.siteBytes = bytes
  }
  Object.assign(totals, await countTables(store))
  const at = Math.floor(now / TOTALS_WIDTH_MS) * TOTALS_WIDTH_MS
  const entries: ActivityEntry[] = Object.entries({ ...totals, countedAt: now }).map(([name, value]) => ({
    ...{ width: TOTALS_WIDTH_MS, at, name: `total.${name}`, value },
  }))
  await store.execute('relaxed', ({ activity }) => activity.set(entries))
  return changed
}

async function countKind(store: Store, kind: ListKind, since: number) {
  const sums = { count: 0, bytes: 0, changes: 0 }
  for (let after: string | undefined = ''; after !== undefined; ) {
    const from: string = after
    const counted = await store.read.figures.count(kind, { after: from, limit: FIGURES_PER_PAGE, since })
    const known = await store.read.figures.range(kind, { after: from, until: counted.last })
    const change = compareFigures(known, counted.figures)
    if (change.put.length + change.remove.length > 0)
      await store.write('relaxed', INDEPENDENT, ({ figures }) => figures.replace(kind, change))
    sums.count += counted.figures.length
    sums.bytes += counted.figures.reduce((sum, { bytes }) => sum + bytes, 0)
    sums.changes += change.put.length + change.remove.length
    after = counted.last
    await turnOfTheLoop()
  }
  return sums
}

function compareFigures(known: readonly Figures[], counted: readonly Figures[]) {
  const former = new Map(known.map((figures) => [figures.id, figures]))
  const present = new Set(counted.map(({ id }) => id))
  return {
    put: counted.filter((figures) => !isSame(figures, former.get(figures.id))),
    remove: known.flatMap(({ id }) => (present.has(id) ? [] : [id])),
  }
}

function isSame(one: Figures, other: Figures | undefined): boolean {
  const fields = ['bytes', 'visits', 'sites', 'title'] as const
  return other !== undefined && fields.every((field) => one[field] === other[field])
}

async function countTables(store: Store): Promise<Partial<Record<TotalName, number>>> {
  const versions = await countTable(store, 'versions')
  const blobs = await countTable(store, 'blobs')
  const ready = versions.get('ready')
  const pending = versions.get('pending')
  const stored = blobs.get('stored')
  return {
    versions: ready?.count ?? 0,
    pendingVersions: pending?.count ?? 0,
    pendingBytes: pending?.bytes ?? 0,
    blobs: stored?.count ?? 0,
    blobBytes: stored?.bytes ?? 0,
  }
}

async function countTable(store: Store, table: 'versions' | 'blobs') {
  const sums = new Map<string, { count: number; bytes: number }>()
  for (let after: string | undefined = ''; after !== undefined; ) {
    const { counts, last } = await store.read.figures.countRows(table, after, ROWS_PER_PAGE)
    for (const { state, count, bytes } of counts) {
      const sum = sums.get(state) ?? { count: 0, bytes: 0 }
      sums.set(state, { count: sum.count + count, bytes: sum.bytes + bytes })
    }
    after = last
    await turnOfTheLoop()
  }
  return sums
}
