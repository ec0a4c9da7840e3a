import {
  type Activity,
  type ActivityCounts,
  type Overview,
  type Totals,
  totals,
} from '../../../protocol/api/admin/overview.schema.ts'
import type { ActivityRange } from '../../../protocol/api/admin/overview.ts'
import type { DiskReserve } from '../../blobs/disk-reserve.ts'
import { Component } from '../../lib/component.ts'
import type { Metrics, MetricsSnapshot } from '../../lib/metrics.ts'
import { Coalesced } from '../../lib/share-result.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, toIso, toIsoOrNull } from '../../lib/time.ts'
import type { Parts } from '../../parts.ts'
import type { Queries } from '../../store/queries.ts'
import type { Store } from '../../store/store.ts'
import type { ActivityEntry } from '../../store/tables/figures.ts'
import { BACKUP_RUN } from '../../store/tables/jobs.ts'
import { isSilent } from '../fleet/nodes.ts'

const RECORD_INTERVAL_MS = 5 * MINUTE_MS

/** Intervals of stored counts, and how long they are kept. */
const WIDTHS = [
  { width: 10 * MINUTE_MS, lifetimeMs: 2 * DAY_MS },
  { width: HOUR_MS, lifetimeMs: 90 * DAY_MS },
]

export const TOTALS_WIDTH_MS = HOUR_MS

export type TotalName = keyof Totals

const TOTAL_NAMES = totals.required as TotalName[]

type CountName = Exclude<keyof ActivityCounts, 'storeMilliseconds'> | 'storeMicroseconds'

const RANGES: Record<ActivityRange, { length: number; width: number; interval: number }> = {
  '24h': { length: DAY_MS, width: 10 * MINUTE_MS, interval: 30 * MINUTE_MS },
  '30d': { length: 30 * DAY_MS, width: HOUR_MS, interval: 6 * HOUR_MS },
}

type ActivityRecorderParts = Pick<Parts, 'store' | 'log'> & { metrics: Metrics }

/** Adds what the metrics of this process have counted to the counts of the service. */
export class ActivityRecorder extends Component<ActivityRecorderParts> implements AsyncDisposable {
  readonly #timer = setInterval(() => void this.record(), RECORD_INTERVAL_MS).unref()
  readonly #records = new Coalesced(() => this.#record(), 0)
  #recorded = new Map<CountName, number>()

  /** What the store cannot record is added later. */
  record(): Promise<void> {
    return this.#records.run()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.record()
  }

  async #record(): Promise<void> {
    const { store, metrics, log } = this.parts
    try {
      const counted = readCounts(await metrics.collect())
      const now = store.clock()
      const entries = [...counted].flatMap(([name, total]): ActivityEntry[] => {
        const value = total - (this.#recorded.get(name) ?? 0)
        if (value <= 0) return []
        return WIDTHS.map(({ width }) => ({ width, at: Math.floor(now / width) * width, name, value }))
      })
      if (entries.length > 0) await store.execute('relaxed', ({ activity }) => activity.add(entries))
      this.#recorded = counted
    } catch (error) {
      log.debug('the activity of this process could not be recorded', { error })
    }
  }
}

export async function pruneActivity(store: Store): Promise<number> {
  let deleted = 0
  for (const { width, lifetimeMs } of WIDTHS)
    deleted += await store.execute('relaxed', ({ activity }) =>
      activity.deleteBefore(width, store.clock() - lifetimeMs),
    )
  return deleted
}

async function readTotals(
  { activity }: Queries,
  now: number,
): Promise<{ totals: Totals; countedAt: number | null }> {
  const from = Math.floor(now / TOTALS_WIDTH_MS - 24) * TOTALS_WIDTH_MS
  const rows = await activity.series({ width: TOTALS_WIDTH_MS, from, interval: TOTALS_WIDTH_MS })
  const newest = Math.max(...rows.filter(({ name }) => name === 'total.countedAt').map(({ at }) => at))
  const read = (name: TotalName | 'countedAt') =>
    rows.find((row) => row.at === newest && row.name === `total.${name}`)?.max ?? 0
  const counts = Object.fromEntries(TOTAL_NAMES.map((name) => [name, read(name)])) as Totals
  return { totals: counts, countedAt: read('countedAt') || null }
}

function readCounts(snapshot: MetricsSnapshot): Map<CountName, number> {
  const counts = new Map<CountName, number>()
  const add = (name: CountName, value: number) =>
    counts.set(name, (counts.get(name) ?? 0) + Math.round(value))
  for (const [, labels, value] of snapshot.slipway_http_requests_total ?? []) {
    add(labels.includes('side="edge"') ? 'visits' : 'requests', value)
    if (labels.includes('status="5xx"')) add('errors', value)
  }
  for (const [, labels, value] of snapshot.slipway_http_response_body_bytes_total ?? [])
    if (labels.includes('side="edge"')) add('bytes', value)
  for (const [, labels, value] of snapshot.slipway_publishes_total ?? [])
    if (/outcome="(?:live|draft)"/.test(labels)) add('publishes', value)
  for (const [name, , value] of snapshot.slipway_store_operation_duration_seconds ?? []) {
    if (name.endsWith('_count')) add('storeOperations', value)
    if (name.endsWith('_sum')) add('storeMicroseconds', value * 1e6)
  }
  return counts
}

/** Problems that are counted: more are no other message. */
const MAX_PROBLEMS = 1000

type OverviewParts = Pick<Parts, 'store' | 'budget'> & { reserve: DiskReserve; release: string }

export class Overviews extends Component<OverviewParts & { sweepList: { names: readonly string[] } }> {
  async show(): Promise<Overview> {
    const { store, reserve, budget, release, sweepList } = this.parts
    const now = store.clock()
    const { totals, countedAt } = await readTotals(store.read, now)
    const failing = await store.read.figures.countProblems(MAX_PROBLEMS)
    const failed = (await store.read.sweepRuns.list()).filter(({ failures }) => failures > 0)
    const nodes = await store.read.nodes.list()
    return {
      release,
      totals,
      countedAt: toIsoOrNull(countedAt),
      disk: await reserve.measure(),
      cache: { usedBytes: budget.usedBytes, limitBytes: budget.limit },
      problems: {
        ...failing,
        sweeps: failed.filter(({ name }) => sweepList.names.includes(name)).length,
        backups: failed.find(({ name }) => name === BACKUP_RUN)?.failures ?? 0,
        silentNodes: nodes.filter((node) => isSilent(node, now)).length,
      },
    }
  }

  async activity(range: ActivityRange): Promise<Activity> {
    const { read, clock } = this.parts.store
    const { length, width, interval } = RANGES[range]
    const last = Math.floor(clock() / interval) * interval
    const from = last - length + interval
    const sums = new Map<string, number>()
    for (const { at, name, sum } of await read.activity.series({ width, from, interval }))
      sums.set(`${at} ${name}`, sum)
    const points = Array.from({ length: length / interval }, (_, index) => {
      const at = from + index * interval
      const count = (name: CountName) => sums.get(`${at} ${name}`) ?? 0
      return {
        at: toIso(at),
        visits: count('visits'),
        requests: count('requests'),
        bytes: count('bytes'),
        errors: count('errors'),
        publishes: count('publishes'),
        storeOperations: count('storeOperations'),
        storeMilliseconds: count('storeMicroseconds') / Math.max(1, count('storeOperations')) / 1000,
      }
    })
    return { range, intervalSeconds: interval / 1000, points }
  }
}
