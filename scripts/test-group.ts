import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { root } from './root.mjs'
import type { ReporterMessage } from './test-reporter.ts'

/** Test files that run one after another in one process. */
export interface TestGroup {
  name: string
  files: string[]
}

/** The result of a group; `printed` has the seeds and the last lines of its output. */
export interface Outcome {
  passed: number
  failed: { what: string; why: string }[]
  skipped: { what: string; why: string }[]
  printed: string
}

/** Last-resort time-outs in milliseconds: a test or a group that hangs fails, and the run continues. */
const MAX_TEST_MS = 120_000
const MAX_GROUP_MS = 480_000

const PRINTED_LINES = 60

/** Where Node keeps what it has compiled: half a second of processor time less for a group that starts a service. */
const COMPILE_CACHE = join(root, 'node_modules/.cache/node-compile')

/**
 * Runs test files in a process group of their own, which ends with them, including everything their tests
 * started. A group fails as a whole when its process fails apart from its tests or does not reach its end.
 */
export async function runTestGroup({ name, files }: TestGroup, stop: AbortSignal): Promise<Outcome> {
  const outcome: Outcome = { passed: 0, failed: [], skipped: [], printed: '' }
  const child = start(files)
  const closed = once(child, 'close')
  let tooLong = false
  const timer = setTimeout(() => {
    tooLong = true
    killGroup(child)
  }, MAX_GROUP_MS)
  const onStop = () => killGroup(child)
  stop.addEventListener('abort', onStop)

  let reachedEnd = false
  child.on('message', (message: ReporterMessage) => {
    if (message.kind === 'passed') outcome.passed += 1
    else if (message.kind === 'note') outcome.printed += `${message.text}\n`
    else if (message.kind === 'end') reachedEnd = true
    else outcome[message.kind].push({ what: message.what, why: message.why })
  })
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      outcome.printed += text
    })
  }
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  clearTimeout(timer)
  stop.removeEventListener('abort', onStop)
  killGroup(child)
  await closed
  if (child.connected) await once(child, 'disconnect')
  outcome.printed = shortenOutput(outcome.printed)

  const fine = code === 0 && reachedEnd
  if (tooLong || (!fine && outcome.failed.length === 0)) {
    const ending = signal ? `was ended by ${signal}` : `ended with exit code ${code}`
    const how = tooLong ? `was stopped after ${MAX_GROUP_MS / 1000} seconds` : ending
    outcome.failed.push({
      what: name,
      why: `${how} ${reachedEnd ? 'outside' : 'before the end of'} its tests`,
    })
  }
  return outcome
}

function start(files: string[]): ChildProcess {
  const reporter = new URL('test-reporter.ts', import.meta.url).href
  const options = ['--test-isolation=none', `--test-timeout=${MAX_TEST_MS}`, `--test-reporter=${reporter}`]
  return spawn(process.execPath, ['--test', ...options, ...files.map((file) => join(root, file))], {
    cwd: root,
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
}

function killGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** The seeds of random tests, which repeat them, and the last lines. */
export function shortenOutput(text: string): string {
  const lines = stripVTControlCharacters(text).trimEnd().split('\n')
  const seeds = lines.slice(0, -PRINTED_LINES).filter((line) => /\bSEED=\d/.test(line))
  return [...seeds, ...lines.slice(-PRINTED_LINES)].join('\n')
}
