import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { MUTATIONS, type Mutation } from './table.ts'

// `npm run mutations [-- part of the path of a file or of its tests]`: breaks each promise of the table in turn, runs
// the tests that guard it, and expects one of them to fail. Exits with 1 when a mutation survives.

const root = join(import.meta.dirname, '..', '..')
const APPLY = join(import.meta.dirname, 'apply.ts')

/** A mutation may also make a test wait for ever; that counts as a failure. */
const TIMEOUT_MS = 120_000

const part = process.argv[2] ?? ''
let killed = 0
let survived = 0
for (const [number, mutation] of MUTATIONS.entries()) {
  if (![mutation.file, ...mutation.tests].some((path) => path.includes(part))) continue
  const killer = await findKiller(number, mutation)
  if (killer === undefined) survived++
  else killed++
  console.log(
    `${killer === undefined ? 'SURVIVED' : 'killed  '} ${mutation.breaks} (${killer ?? mutation.file})`,
  )
}
console.log(`\n${killed} killed, ${survived} survived`)
process.exitCode = survived === 0 ? 0 : 1

/** The first of the mutation's test files that fails with it; undefined when all pass. */
async function findKiller(number: number, { tests }: Mutation): Promise<string | undefined> {
  for (const test of tests) if (!(await passes(test, number))) return test
  return undefined
}

async function passes(test: string, number: number): Promise<boolean> {
  const child = spawn(process.execPath, [join(root, test)], {
    cwd: root,
    env: { ...process.env, MUTATION: String(number), NODE_OPTIONS: `--import=${APPLY}` },
    stdio: 'ignore',
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code === 0
}
