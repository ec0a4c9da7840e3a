import type { Activity, Overview } from '../../../protocol/api/admin/overview.schema.ts'
import type { ActivityRange } from '../../../protocol/api/admin/overview.ts'
import type { DiskReserve } from '../../blobs/disk-reserve.ts'
import { toIsoOrNull } from '../../lib/time.ts'
import type { Parts } from '../../parts.ts'
import { isSilent } from '../fleet/node-list.ts'
import { readActivity, readTotals } from './activity.ts'

/** Problems that are counted: more are no other message. */
const MAX_PROBLEMS = 1000

type OverviewParts = Pick<Parts, 'store' | 'budget'> & {
  reserve: DiskReserve
  release: string
}

export class Overviews {
  readonly #parts: OverviewParts

  constructor(parts: OverviewParts) {
    this.#parts = parts
  }

  async show(): Promise<Overview> {
    const { store, reserve, budget, release } = this.#parts
    const now = store.clock()
    const { totals, countedAt } = await readTotals(store.read, now)
    const failing = await store.read.figures.countProblems(MAX_PROBLEMS)
    const sweeps = await store.read.sweepRuns.list()
    const nodes = await store.read.nodes.list()
    return {
      release,
      totals,
      countedAt: toIsoOrNull(countedAt),
      disk: await reserve.measure(),
      cache: { usedBytes: budget.usedBytes, limitBytes: budget.limit },
      problems: {
        ...failing,
        sweeps: sweeps.filter(({ failures }) => failures > 0).length,
        silentNodes: nodes.filter((node) => isSilent(node, now)).length,
      },
    }
  }

  activity(range: ActivityRange): Promise<Activity> {
    const { store } = this.#parts
    return readActivity(store.read, range, store.clock())
  }
}
