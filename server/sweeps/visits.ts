import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { DAY } from '../visits/batch.ts'
import { SALT_LATE } from '../visits/bookkeeping.ts'
import type { SweepOptions } from './sweeps.ts'

/** Days that can be asked for, and the one that is still running. */
const KEPT_DAYS = 91

/** Names of each kind that are kept of a day that is over. */
const NAMES_KEPT = 100

/** Sites that are looked at in one go. */
const SITES = 20

type Options = Pick<SweepOptions, 'store' | 'clock'>

/**
 * Forgets a day's salt as soon as no node can have anything to write down for it, and with it who came; what was counted, after
 * 91 days; and all that was counted of sites that are gone. Of a day that is over the names that count for little go.
 */
export async function forgetVisits(options: Options): Promise<number> {
  const { store, clock } = options
  const now = clock()
  const today = Math.floor(now / DAY) * DAY
  const open = Math.floor((now - SALT_LATE) / DAY) * DAY
  const salts = await store.write('soft', (tx) => tx.visits.dropSalts(open))
  const visitors = await untilNone(() => store.write('soft', (tx) => tx.visits.dropVisitors(open)))
  const before = today - (KEPT_DAYS - 1) * DAY
  const old = await untilNone(() => store.write('soft', (tx) => tx.visits.dropBefore(before)))
  return salts + visitors + old + (await foldYesterday(options, today - DAY)) + (await dropGone(options))
}

async function foldYesterday({ store }: Options, day: number): Promise<number> {
  let folded = 0
  for (let after = ''; ; ) {
    const slugs = await store.read.visits.visitedOn(day, after, SITES)
    const last = slugs.at(-1)
    if (last === undefined) return folded
    after = last
    for (const slug of await store.read.visits.crowded(slugs, day, NAMES_KEPT))
      folded += await store.write('soft', (tx) => tx.visits.foldNames(slug, day, NAMES_KEPT))
    await turnOfTheLoop()
  }
}

async function dropGone({ store }: Options): Promise<number> {
  let dropped = 0
  for (let after = ''; ; ) {
    const slugs = await store.read.visits.counted(after, SITES)
    const last = slugs.at(-1)
    if (last === undefined) return dropped
    after = last
    for (const slug of await store.read.visits.goneAmong(slugs))
      dropped += await untilNone(() => store.write('soft', (tx) => tx.visits.dropSite(slug)))
    await turnOfTheLoop()
  }
}

/** In small writes, between which everything else goes on. */
async function untilNone(some: () => Promise<number>): Promise<number> {
  let all = 0
  for (;;) {
    const count = await some()
    if (count === 0) return all
    all += count
    await turnOfTheLoop()
  }
}
