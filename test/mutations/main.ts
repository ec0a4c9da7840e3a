import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
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
async function findKiller(number: number, mutation: Mutation): Promise<string | undefined> {
  await using _ = await buildForBrowsers(mutation)
  for (const test of mutation.tests) if (!(await passes(test, number))) return test
  return undefined
}

/** Browsers load a build, which does not pass Node's loader: builds the mutated file, and restores it on dispose. */
async function buildForBrowsers({ file, find, replace, tests }: Mutation): Promise<AsyncDisposableStack> {
  const restored = new AsyncDisposableStack()
  const isInBrowser =
    /^(dashboard|protocol)\//.test(file) && tests.some((test) => test.startsWith('test/dashboard/'))
  if (!isInBrowser) return restored
  const path = join(root, file)
  const source = readFileSync(path, 'utf8')
  restored.defer(async () => {
    writeFileSync(path, source)
    await build()
  })
  writeFileSync(
    path,
    source.replace(find, () => replace),
  )
  await build()
  return restored
}

async function build(): Promise<void> {
  const child = spawn(process.execPath, [join(root, 'scripts/build-now.mjs')], { cwd: root, stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the build ends with ${code}`)
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
