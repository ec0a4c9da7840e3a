import { parseArgs } from 'node:util'
import { numbers } from '../support/random.ts'
import { compareResponses } from './fast-path-comparison.ts'
import { openServicePair } from './fast-path-sites.ts'

// `npm run fast-path -- [--requests N] [--seed N]`: the long form of test/serving/fast-path.test.ts. Exits with 1 when
// responses differ.

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '1000000' }, seed: { type: 'string' } },
})
if (values.seed !== undefined) process.env.SEED = values.seed
const pick = numbers({ diagnostic: console.log })
await using services = await openServicePair()
const started = performance.now()
const { requests, statuses, faults } = await compareResponses(services, Number(values.requests), pick)
const seconds = (performance.now() - started) / 1000
for (const fault of faults) console.log(fault)
for (const [status, count] of [...statuses].sort(([one], [other]) => one - other))
  console.log(`${status}: ${count}`)
console.log(`${requests} requests to each service in ${seconds.toFixed(0)} s, ${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
