import { parseArgs } from 'node:util'
import { anySeed } from '../support/random.ts'
import { runRounds } from './rounds.ts'
import { runSizes } from './sizes.ts'

// `npm run backups -- [--rounds N] [--seed N]`: the long run of test/backup/backup.test.ts.
// `npm run backups -- sizes [--sites N]`: the times of a backup, an incremental one and a restore.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '50' },
    sites: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(anySeed()) },
  },
})
const seed = Number(values.seed)
console.log(`seed ${seed}`)
if (positionals[0] === 'sizes') await runSizes({ sites: Number(values.sites), log: console.log })
else await runRounds({ rounds: Number(values.rounds), sites: 8, seed, log: console.log })
