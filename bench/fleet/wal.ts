import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkOut } from '../compare.ts'
import { compareEach, type Figure, type Measurement } from '../figures.ts'
import { ROOT, scratchFolder } from '../server-process.ts'
import { costs } from './costs.ts'

/** When the target was set. */
const COMMIT = '8512fd17'

const ROUNDS = 3

const MEASURED = {
  bundles: 'publish of 1,000 files in bundles: WAL',
  single: 'publish of 1,000 files in single uploads: WAL',
  update: 'update of one file: WAL',
}

type Kilobytes = Record<keyof typeof MEASURED, number>

/** What a publish writes to the WAL of PostgreSQL, beside an earlier commit, each by its own bench. */
export const wal: Measurement = {
  name: 'wal',
  means: `the WAL of \`costs\`, beside commit ${COMMIT}`,
  onRequest: true,
  missing: () => costs.missing?.(),
  async run({ quick }) {
    await using scratch = await scratchFolder()
    const { path } = checkOut(COMMIT, scratch.path)
    const rounds: [before: Kilobytes, now: Kilobytes][] = []
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
      const json = join(scratch.path, `${round}.json`)
      rounds.push([measure(path, json), measure(ROOT, json)])
    }
    return compareEach(MEASURED, { unit: 'kB', names: [COMMIT, 'this tree'], target: 0.7 }, rounds)
  },
}

function measure(tree: string, json: string): Kilobytes {
  const args = [join(tree, 'bench/main.ts'), 'costs', '--quick', '--json', json]
  execFileSync(join(tree, 'node_modules/.bin/node'), args, {
    cwd: tree,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [{ figures }] = JSON.parse(readFileSync(json, 'utf8')) as [{ figures: Figure[] }]
  const find = (name: string) => figures.find((one) => one.name === name)!.value
  return {
    bundles: find(MEASURED.bundles),
    single: find(MEASURED.single),
    update: find(MEASURED.update),
  }
}
