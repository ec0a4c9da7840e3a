import { Report } from '../fleet/report.ts'
import { Random } from '../support/random.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { explore, listPairs } from './schedules.ts'
import { interceptStatements } from './steps.ts'
import { World } from './world.ts'

interface InterleavingsOptions {
  seed: number
  /** Random ones; all by default, which takes an hour. */
  pairs?: number
  log: (line: string) => void
}

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
  return report
}
