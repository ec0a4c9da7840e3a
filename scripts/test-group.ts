import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { idleMs, ProcessTable } from './cpu-time.ts'
import { killProcessGroup } from './process-group.ts'
import { root } from './root.mjs'
import type { ServerRequest, SilenceMessage } from './server-messages.ts'
import type { SharedServers } from './shared-servers.ts'
import { MAX_SILENCE_MS, Silence } from './silence.ts'
import type { ReporterMessage, TestId } from './test-process.ts'

/** Test files that run one after another in one process. */
export interface TestGroup {
  name: string
  files: string[]
}

/** A test that did not pass; without `test` the process of its group. */
export interface Problem {
  test?: TestId
  why: string
}

/** Where a group reports to while it runs. */
export interface GroupListener {
  started(test: TestId): void
  passed(): void
  failed(problem: Problem): void
  skipped(problem: Problem): void
  /** How long the tests of a file took, in milliseconds; in parts. */
  time(file: string, milliseconds: number): void
}

interface RunOptions {
  servers: SharedServers
  /** Ends the group, which reports nothing more. */
  stop: AbortSignal
  listener: GroupListener
  /** Only tests with this title run. */
  title?: string | undefined
  env: NodeJS.ProcessEnv
  /** The CPU time without the end of a test after which the group is ended. */
  maxSilenceMs?: number
}

/** What a group leaves: the last lines of its output, and its CPU time in milliseconds where the system tells. */
export interface GroupEnd {
  printed: string
  cpuMs: number
}

const SAMPLE_INTERVAL_MS = 2_000

const PRINTED_LINES = 60

/** Where Node keeps what it has compiled: half a second of processor time less for a group that starts a service. */
const COMPILE_CACHE = join(root, 'node_modules/.cache/node-compile')

/**
 * Runs test files in a process group of their own, which ends with them, including everything their tests
 * started. A group fails as a whole when its process fails apart from its tests, does not reach its end, or is silent
 * for too long.
 */
export async function runTestGroup(group: TestGroup, options: RunOptions): Promise<GroupEnd> {
  const { listener, stop, maxSilenceMs = MAX_SILENCE_MS } = options
  const child = start(group, options)
  const closed = once(child, 'close')
  const watch = new Watch(child, maxSilenceMs)
  const onStop = () => killProcessGroup(child)
  stop.addEventListener('abort', onStop)

  let hasFailed = false
  let reachedEnd = false
  let printed = ''
  child.on('message', async (message: ReporterMessage | ServerRequest) => {
    if (stop.aborted) return
    if (message.kind === 'server') {
      const reply = await options.servers.address(message)
      if (child.connected) child.send(reply)
      return
    }
    watch.noticed(message)
    if (message.kind === 'started') listener.started(message.test)
    else if (message.kind === 'note') printed += `${message.text}\n`
    else if (message.kind === 'passed') listener.passed()
    else if (message.kind === 'skipped') listener.skipped(message)
    else if (message.kind === 'time') listener.time(message.file, message.milliseconds)
    else if (message.kind === 'failed') {
      hasFailed = true
      listener.failed(message)
    } else if (message.kind === 'end') reachedEnd = true
  })
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
  }
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  watch.stop()
  stop.removeEventListener('abort', onStop)
  killProcessGroup(child)
  await closed
  if (child.connected) await once(child, 'disconnect')

  if (!stop.aborted && !reachedEnd && (watch.ended || !hasFailed)) {
    const how = watch.ended
      ? `was ended: no test ended within ${maxSilenceMs / 1000} seconds of CPU time`
      : signal
        ? `was ended by ${signal}`
        : `ended with exit code ${code}`
    const test = watch.running
    const why = `The process of ${group.name} ${how}, before the end of its tests.`
    listener.failed({ why, ...(test && { test }) })
  }
  return { printed: shortenOutput(printed), cpuMs: watch.cpuMs }
}

/** Samples the CPU time of a group, and ends one that is silent for too long. */
class Watch {
  /** Whether it has ended the group. */
  ended = false
  /** The test that runs. */
  running: TestId | undefined
  cpuMs = 0
  readonly #child: ChildProcess
  readonly #silence: Silence
  readonly #timer: NodeJS.Timeout

  constructor(child: ChildProcess, maxSilenceMs: number) {
    this.#child = child
    this.#silence = new Silence({ nowMs: performance.now(), cpuMs: 0, idleMs: idleMs() }, maxSilenceMs)
    this.#timer = setInterval(() => this.#sample(), SAMPLE_INTERVAL_MS)
  }

  noticed({ kind, ...message }: ReporterMessage): void {
    if (kind === 'started') this.running = (message as { test: TestId }).test
    if (kind === 'passed' || kind === 'failed' || kind === 'skipped') this.#silence.end()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    // Processes that nothing waits for take their time with them.
    this.cpuMs = Math.max(this.cpuMs, new ProcessTable().groupCpuMs(this.#child.pid!))
    const sample = { nowMs: performance.now(), cpuMs: this.cpuMs, idleMs: idleMs() }
    const isTooLong = this.#silence.isTooLong(sample)
    const silentMs = this.#silence.takeNotice()
    if (silentMs !== undefined && this.#child.connected)
      this.#child.send({ kind: 'silent', silentMs } satisfies SilenceMessage)
    if (!isTooLong) return
    this.ended = true
    killProcessGroup(this.#child)
  }
}

function start({ files }: TestGroup, { title, env }: RunOptions): ChildProcess {
  const args = title === undefined ? files : ['--title', title, ...files]
  return spawn(process.execPath, [join(root, 'scripts/test-process.ts'), ...args], {
    cwd: root,
    env: { ...process.env, ...env, NODE_COMPILE_CACHE: COMPILE_CACHE, TEST_RUNNER: String(process.pid) },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
}

/** The last lines. */
export function shortenOutput(text: string): string {
  return stripVTControlCharacters(text).trimEnd().split('\n').slice(-PRINTED_LINES).join('\n')
}
