import { parseArgs } from 'node:util'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import type { ChallengeType } from '../../server/certificates/acme/acme.ts'
import { type Figures, issueAndRenew } from './issue.ts'

// `npm run issue -- [--ca pebble|caddy] [--type http-01|tls-alpn-01|dns-01] [--count 200]`: the long run of
// test/certificates/issue.test.ts, without shortened pauses. Exits with 1 when a certificate is missing.
// Names validated by TLS-ALPN-01 are tried by HTTP-01 first, which takes another order. Caddy's certificates last 12
// hours, of which the clock skips some, so that a few are renewed twice.

/** The default of Pebble. */
const DELAY = 5

const TYPES: Record<'pebble' | 'caddy', readonly ChallengeType[]> = {
  pebble: ['http-01', 'tls-alpn-01', 'dns-01'],
  caddy: ['http-01', 'tls-alpn-01'],
}

const { values } = parseArgs({
  options: {
    ca: { type: 'string', default: 'pebble' },
    type: { type: 'string' },
    count: { type: 'string', default: '200' },
  },
})
const ca = values.ca as keyof typeof TYPES
const count = Number(values.count)
if (!Object.hasOwn(TYPES, ca)) throw new Error('--ca must be pebble or caddy')
const types = TYPES[ca].filter((type) => values.type === undefined || values.type === type)
if (types.length === 0) throw new Error(`--type must be one of ${TYPES[ca].join(', ')}`)
const missing = whatIsMissing(ca === 'pebble' ? 'pebble' : 'caddy-ca') ?? whatIsMissing('curl')
if (missing) {
  console.error(`npm run issue ${missing}`)
  process.exit(2)
}
for (const type of types) report(type, await issueAndRenew({ ca, type, count, delay: DELAY, speedup: 1 }))

function report(type: ChallengeType, figures: Figures): void {
  const { issued, renewed, seconds, orders, accounts, refusedNonces, problems } = figures
  console.log(
    `${ca}, ${type}: issued ${issued} of ${count}, renewed ${renewed} of ${count}, ${seconds.toFixed(0)} s`,
  )
  console.log(
    `  orders made: ${orders}, accounts made: ${accounts}, refused for their nonce: ${refusedNonces}`,
  )
  for (const [problem, times] of problems) console.log(`  ${times} times: ${problem}`)
  if (issued < count || renewed < count || accounts !== 1) process.exitCode = 1
}
