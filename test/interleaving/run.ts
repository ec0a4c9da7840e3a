import type { WriteScope } from '../../server/store/store.ts'
import { Report } from '../fleet/report.ts'
import { Random } from '../support/random.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { explore, listPairs, type Pair } from './schedules.ts'
import { interceptStatements } from './steps.ts'
import { World } from './world.ts'
import { withoutScope } from './writes.ts'

interface InterleavingsOptions {
  seed: number
  /** Random ones; all by default, which takes an hour. */
  pairs?: number
  log: (line: string) => void
}

/** Kinds of locks without a control in `npm test`, with a pair that fails without them. */
const CONTROLS: [kind: keyof WriteScope, pair: Pair][] = [
  ['notice', ['sweep emails', 'sweep emails']],
  ['authority', ['issue a certificate of a site', 'issue a certificate of another site']],
]

/** Explores pairs of calls at each of their statements; test/interleaving/lock-pairs.ts has those of `npm test`. */
export async function runInterleavings({ seed, pairs, log }: InterleavingsOptions): Promise<Report> {
  const report = new Report(log)
  await using database = await (await sharedPostgres()).createDatabase()
  await using world = await World.open(database.url)
  Math.random = () => 0.5
  using _ = interceptStatements()
  for (const pair of new Random(seed).shuffle(listPairs()).slice(0, pairs)) {
    report.event(`${pair}`)
    report.count('pairs')
    for (const { executed, differs } of await explore(world, pair))
      report.violation(`${pair}: ${[...executed, ...differs].join('\n')}`)
  }
  for (const [kind, pair] of CONTROLS) {
    const wraps = [withoutScope(kind), withoutScope(kind)] as const
    const found = await explore(world, pair, { wraps, most: 1 })
    if (found.length === 0) report.violation(`a write that does not name its ${kind} is not found`)
  }
  return report
}
