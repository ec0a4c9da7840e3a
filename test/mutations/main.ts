import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { root } from '../../scripts/root.mjs'
import { createRunFolder } from '../../scripts/run-folder.ts'
import { SharedServers } from '../../scripts/shared-servers.ts'
import { runTestGroup } from '../../scripts/test-group.ts'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { atExit, exitOnSignals } from '../tools/exit.ts'
import { findEdit, mutationEnvironment } from './edit.ts'
import { MUTATIONS, type Mutation } from './table.ts'

// `npm run mutations [-- part of the path of a file or of its tests]`: breaks each promise of the table in turn, runs
// the tests that guard it, and expects one of them to fail. Exits with 1 when a mutation survives. Tests that do not end
// are counted separately: the mutation may make them wait forever, but a busy machine may be the cause as well.

/** Without a mutation no test needs as much CPU time, and many mutations make a test wait forever. */
const MAX_SILENCE_MS = 30_000

type Outcome = 'killed' | 'timed out' | 'SURVIVED'

exitOnSignals()
const part = process.argv[2] ?? ''
const chosen = MUTATIONS.filter(({ file, tests }) => [file, ...tests].some((path) => path.includes(part)))
const counts: Record<Outcome, number> = { killed: 0, 'timed out': 0, SURVIVED: 0 }
{
  using folder = createRunFolder()
  await using servers = new SharedServers({ TMPDIR: folder.path })
  const judge = async (mutation: Mutation, env: NodeJS.ProcessEnv) => {
    const { outcome, by } = await judgeMutation(mutation, servers, { ...env, TMPDIR: folder.path })
    counts[outcome]++
    console.log(`${outcome.padEnd(9)} ${mutation.breaks} (${by})`)
  }
  const { built = [], others = [] } = Object.groupBy(chosen, (mutation) =>
    isBuilt(mutation) ? 'built' : 'others',
  )
  await forEachConcurrent(availableParallelism(), others, (one) => judge(one, mutationEnvironment(one)))
  for (const mutation of built) {
    await using _ = await buildMutated(mutation)
    await judge(mutation, {})
  }
}
console.log(`\n${counts.killed} killed, ${counts['timed out']} timed out, ${counts.SURVIVED} survived`)
process.exitCode = counts.SURVIVED === 0 ? 0 : 1

/** Runs the test files of a mutation until a test fails. */
async function judgeMutation(
  { file, tests }: Mutation,
  servers: SharedServers,
  env: NodeJS.ProcessEnv,
): Promise<{ outcome: Outcome; by: string }> {
  let slow: string | undefined
  for (const test of tests) {
    const stop = new AbortController()
    let outcome: Outcome = 'SURVIVED'
    const ignore = () => undefined
    const failed = ({ why }: { why: string }) => {
      outcome = / was ended: no test /.test(why) ? 'timed out' : 'killed'
      stop.abort()
    }
    const listener = { started: ignore, passed: ignore, skipped: ignore, time: ignore, failed }
    await runTestGroup(
      { name: test, files: [test] },
      { servers, stop: stop.signal, listener, env, maxSilenceMs: MAX_SILENCE_MS },
    )
    if ((outcome as Outcome) === 'killed') return { outcome: 'killed', by: test }
    if ((outcome as Outcome) === 'timed out') slow ??= test
  }
  return slow === undefined ? { outcome: 'SURVIVED', by: file } : { outcome: 'timed out', by: slow }
}

/** Browsers load a build, and so does the command that a program of its own runs: neither passes Node's loader. */
function isBuilt({ file, tests }: Mutation): boolean {
  const isBuiltFile = /^(dashboard|protocol|client)\//.test(file)
  return isBuiltFile && tests.some((path) => /^test\/(?:dashboard\/|mcp\/stdio)/.test(path))
}

/** Edits the file, builds it, and restores it on dispose. */
async function buildMutated(mutation: Mutation): Promise<AsyncDisposable> {
  const { file } = mutation
  await using restored = new AsyncDisposableStack()
  const path = join(root, file)
  const source = readFileSync(path, 'utf8')
  const restore = () => writeFileSync(path, source)
  const keep = atExit(restore)
  restored.defer(async () => {
    keep()
    restore()
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
