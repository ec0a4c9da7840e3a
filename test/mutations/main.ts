import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findEdit, mutationEnvironment } from './edit.ts'
import { MUTATIONS, type Mutation } from './table.ts'

// `npm run mutations [-- part of the path of a file or of its tests]`: breaks each promise of the table in turn, runs
// the tests that guard it, and expects one of them to fail. Exits with 1 when a mutation survives. Tests that do not end
// in time are counted separately: the mutation may make them wait forever, but a busy machine may be the cause as well.

const root = join(import.meta.dirname, '..', '..')

const TIMEOUT_MS = 300_000

type Outcome = 'killed' | 'timed out' | 'SURVIVED'

const part = process.argv[2] ?? ''
const counts: Record<Outcome, number> = { killed: 0, 'timed out': 0, SURVIVED: 0 }
for (const mutation of MUTATIONS) {
  if (![mutation.file, ...mutation.tests].some((path) => path.includes(part))) continue
  const { outcome, by } = await judge(mutation)
  counts[outcome]++
  console.log(`${outcome.padEnd(9)} ${mutation.breaks} (${by})`)
}
console.log(`\n${counts.killed} killed, ${counts['timed out']} timed out, ${counts.SURVIVED} survived`)
process.exitCode = counts.SURVIVED === 0 ? 0 : 1

/** Runs the test files of a mutation until one fails. */
async function judge(mutation: Mutation): Promise<{ outcome: Outcome; by: string }> {
  const isInBrowser =
    /^(dashboard|protocol)\//.test(mutation.file) &&
    mutation.tests.some((path) => path.startsWith('test/dashboard/'))
  await using _ = isInBrowser ? await buildMutated(mutation) : undefined
  const env = isInBrowser ? {} : mutationEnvironment(mutation)
  let slow: string | undefined
  for (const test of mutation.tests) {
    const code = await run(test, env)
    if (code === null) slow ??= test
    else if (code !== 0) return { outcome: 'killed', by: test }
  }
  return slow === undefined ? { outcome: 'SURVIVED', by: mutation.file } : { outcome: 'timed out', by: slow }
}

/** Browsers load a build, which does not pass Node's loader: edits the file, builds it, and restores it on dispose. */
async function buildMutated(mutation: Mutation): Promise<AsyncDisposable> {
  const { file } = mutation
  await using restored = new AsyncDisposableStack()
  const path = join(root, file)
  const source = readFileSync(path, 'utf8')
  restored.defer(async () => {
    writeFileSync(path, source)
    await build()
  })
  const { start, end, replace } = findEdit(mutation)
  writeFileSync(path, source.slice(0, start) + replace + source.slice(end))
  await build()
  return restored.move()
}

async function build(): Promise<void> {
  const child = spawn(process.execPath, [join(root, 'scripts/build-now.mjs')], { cwd: root, stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the build ends with ${code}`)
}

/** The exit code of a test file; null when it did not end in time. */
async function run(test: string, env: NodeJS.ProcessEnv): Promise<number | null> {
  const child = spawn(process.execPath, [join(root, test)], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: 'ignore',
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}
