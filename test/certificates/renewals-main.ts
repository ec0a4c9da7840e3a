import { parseArgs } from 'node:util'
import { anySeed } from '../support/random.ts'
import { LIVES, type LifeName, simulate } from './simulation.ts'

// `npm run renewals -- [--years 10] [--domains 1000] [--life 90d|64d|45d|160h] [--information on|off] [--seed N]`: the long run of
// test/certificates/simulation.test.ts. Exits with 1 when a certificate expired needlessly or a limit was exceeded.

const { values } = parseArgs({
  options: {
    years: { type: 'string', default: '10' },
    domains: { type: 'string', default: '1000' },
    life: { type: 'string', default: '90d' },
    information: { type: 'string', default: 'off' },
    seed: { type: 'string' },
  },
})
const life = Object.keys(LIVES).find((name) => name === values.life) as LifeName | undefined
if (!life) throw new Error(`--life must be one of ${Object.keys(LIVES).join(', ')}`)
const seed = values.seed === undefined ? anySeed() : Number(values.seed)
const started = performance.now()
const result = await simulate({
  years: Number(values.years),
  domains: Number(values.domains),
  life,
  seed,
  information: values.information === 'on',
})
const seconds = (performance.now() - started) / 1000
console.log(`${values.years} years of ${values.domains} domains, certificates of ${life}, seed ${seed}`)
console.log(`renewal information ${values.information}, requested ${result.questions} times`)
console.log(`${result.orders} orders, ${result.issued} certificates, ${result.faults} faults`)
console.log(`the CA was away ${(100 * result.away).toFixed(1)} % of the time`)
console.log(`limits exceeded: ${result.passed}`)
console.log(
  `expired: ${result.expired.length}, of these although the CA was there: ${result.expiredNeedlessly.length}`,
)
for (const one of result.expiredNeedlessly.slice(0, 10)) console.log(`  ${one}`)
console.log(`${seconds.toFixed(0)} s`)
process.exitCode = result.expiredNeedlessly.length + result.passed > 0 ? 1 : 0
