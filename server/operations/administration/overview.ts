import type { Activity, Overview } from '../../../protocol/api/admin/overview.schema.ts'
import type { ActivityRange } from '../../../protocol/api/admin/overview.ts'
import type { DiskReserve } from '../../blobs/disk-reserve.ts'
import type { MemoryBudget } from '../../lib/second-chance-cache.ts'
import { toIsoOrNull } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'
import { isSilent } from '../fleet/node-list.ts'
import { readActivity, readTotals } from './activity.ts'

/** Problems that are counted: more are no other message. */
const MAX_PROBLEMS = 1000

interface OverviewOptions {
  store: Store
  reserve: DiskReserve
  budget: MemoryBudget
  release: string
}

/** What an administrator sees first. */
export class Overviews {
  readonly #options: OverviewOptions

  constructor(options: OverviewOptions) {
    this.#options = options
  }

  async show(): Promise<Overview> {
    const { store, reserve, budget, release } = this.#options
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
    const { store } = this.#options
    return readActivity(store.read, range, store.clock())
  }
}
