import { parseArgs } from 'node:util'
import { numbers } from '../support/random.ts'
import { openLanes } from './lane-sites.ts'
import { compareLanes } from './lanes.ts'

// `npm run lanes -- [--requests N] [--seed N]`: the long run of test/serving/lanes.test.ts. Exits with 1 when the lanes
// did not answer alike.

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '1000000' }, seed: { type: 'string' } },
})
if (values.seed !== undefined) process.env.SEED = values.seed
const pick = numbers({ diagnostic: console.log })
await using lanes = await openLanes()
const started = performance.now()
const { requests, statuses, faults } = await compareLanes(lanes, Number(values.requests), pick)
const seconds = (performance.now() - started) / 1000
for (const fault of faults) console.log(fault)
for (const [status, count] of [...statuses].sort(([one], [other]) => one - other))
  console.log(`${status}: ${count}`)
console.log(`${requests} requests to each lane in ${seconds.toFixed(0)} s, ${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
