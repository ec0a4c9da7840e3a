import { parseArgs } from 'node:util'
import { anySeed } from '../support/random.ts'
import { LIVES, type LifeName, simulate } from './simulation.ts'

// `npm run renewals -- [--years 10] [--domains 1000] [--life 90d|64d|45d|160h] [--information on|off] [--seed N]`: the long run of
// test/certificates/simulation.test.ts. Exits with 1 when a certificate expired for nothing or a limit was passed.

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
const found = await simulate({
  years: Number(values.years),
  domains: Number(values.domains),
  life,
  seed,
  information: values.information === 'on',
})
const seconds = (performance.now() - started) / 1000
console.log(`${values.years} years of ${values.domains} domains, certificates of ${life}, seed ${seed}`)
console.log(`renewal information ${values.information}, asked ${found.questions} times`)
console.log(`${found.orders} orders, ${found.issued} certificates, ${found.mishaps} mishaps`)
console.log(`the CA was away ${(100 * found.away).toFixed(1)} % of the time`)
console.log(`limits passed: ${found.passed}`)
console.log(
  `expired: ${found.expired.length}, of these although the CA was there: ${found.expiredForNothing.length}`,
)
for (const one of found.expiredForNothing.slice(0, 10)) console.log(`  ${one}`)
console.log(`${seconds.toFixed(0)} s`)
process.exitCode = found.expiredForNothing.length + found.passed > 0 ? 1 : 0
