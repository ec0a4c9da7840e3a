import { setTimeout as pause } from 'node:timers/promises'
import { Line } from './reply.ts'
import type { Server, ServerName } from './server.ts'
import type { Judged, Work } from './works.ts'
import { type Expected, type Load, type Run, runWrk, writeScript } from './wrk.ts'

/** The results of a server for a workload: all rounds, or why it could not be measured. */
export interface Result {
  work: Judged
  runs: ReadonlyMap<ServerName, readonly Run[]>
  failed: ReadonlyMap<ServerName, string>
}

export interface RunLengths {
  rounds: number
  /** Seconds of each run, and of the warm-up before it. */
  seconds: number
  warmUp: number
}

/** A server with its process and the port that finds sites by Host, which is the same for ours. */
export interface MeasuredServer extends Server {
  pid: number
  sitesPort: number
}

/** Runs for `seconds`; undefined when no complete response arrived. Throws on a wrong response. */
export type Runner = (seconds: number) => Promise<Run | undefined>

/** A workload with its client. */
export interface Driven extends Judged {
  servers: readonly ServerName[]
  /** Checks every response once, and throws when one is wrong. */
  ready(server: MeasuredServer): Promise<Runner>
}

interface RoundsOptions {
  works: readonly Driven[]
  servers: ReadonlyMap<ServerName, MeasuredServer>
  lengths: RunLengths
  /** Watches a run until it is disposed. */
  watch?: (work: Judged, server: Server) => Disposable | undefined
}

interface Prepared {
  server: MeasuredServer
  runner: Runner
}

const LATER_SECONDS = 60

/** How often a run without a complete response is repeated. */
const TRIES = 3

/**
 * Runs every server once per round and workload, in rotating order and alone. Each response was checked byte
 * by byte before, and a run with different responses counts as failed.
 */
export async function runRounds(options: RoundsOptions): Promise<Result[]> {
  const { works, lengths } = options
  const results = []
  for (const work of works) results.push(await prepare(work, options))
  for (let round = 0; round < lengths.rounds; round++) {
    for (const [index, result] of results.entries()) {
      for (const one of rotated(result.prepared, round + index)) await measure(result, one, options)
    }
  }
  return results
}

/** A workload with wrk on that core; `folder` is for its scripts. */
export function byWrk(work: Work, { folder, core }: { folder: string; core: number }): Driven {
  return {
    ...work,
    async ready(found) {
      const server = { ...found, port: work.bySite ? found.sitesPort : found.port }
      const load = await work.load(server)
      const expected = await inspect(work, server, load)
      const script = writeScript(folder, `${work.id}-${found.name}`, load)
      const { port, pid, secureName } = server
      const run = { port, pid, script, expected, core, ...(secureName === undefined ? {} : { secureName }) }
      return (seconds) => runWrk({ ...run, seconds })
    },
  }
}

interface Measuring extends Result {
  work: Driven
  runs: Map<ServerName, Run[]>
  failed: Map<ServerName, string>
  prepared: Prepared[]
}

async function prepare(work: Driven, { servers }: RoundsOptions): Promise<Measuring> {
  const result: Measuring = { work, runs: new Map(), failed: new Map(), prepared: [] }
  for (const name of work.servers) {
    const server = servers.get(name)
    if (!server) continue
    try {
      result.prepared.push({ server, runner: await work.ready(server) })
    } catch (error) {
      fail(result, name, error)
    }
  }
  return result
}

/**
 * Sends every request of a load once, which also warms it. Throws when a response is wrong, or when responses
 * differ in length, since wrk's byte count could not be verified then.
 */
async function inspect(work: Work, server: Server, { requests }: Load): Promise<Expected> {
  using line = await Line.open(server.port, server.secureName)
  const until = performance.now() + (work.comesLater ? LATER_SECONDS * 1000 : 0)
  let expected: Expected | undefined
  for (const [place, request] of requests.entries()) {
    let reply = await line.send(request)
    while (work.wrong(reply, place, server) && performance.now() < until) {
      await pause(250)
      reply = await line.send(request)
    }
    const wrong = work.wrong(reply, place, server)
    if (wrong) throw new Error(`GET ${request.path}: ${wrong}`)
    const { status, wireBytes } = reply
    expected ??= { status, wireBytes }
    if (wireBytes !== expected.wireBytes)
      throw new Error(`answers have ${expected.wireBytes} bytes and ${wireBytes} bytes`)
  }
  return expected!
}

async function measure(
  result: Measuring,
  { server, runner }: Prepared,
  options: RoundsOptions,
): Promise<void> {
  const { name } = server
  const { work, runs, failed } = result
  if (failed.has(name)) return
  try {
    const measured = await measuredRun(runner, options.lengths, () => options.watch?.(work, server))
    runs.set(name, [...(runs.get(name) ?? []), measured])
    report(work, name, `${measured.perSecond.toFixed(0).padStart(7)}/s, ${measured.cores.toFixed(2)} cores`)
  } catch (error) {
    fail(result, name, error)
  }
}

/** A warm-up and a run under `watch`. */
export async function measuredRun(
  runner: Runner,
  { seconds, warmUp }: RunLengths,
  watch: () => Disposable | undefined = () => undefined,
): Promise<Run> {
  for (let tries = 0; tries < TRIES; tries++) {
    await runner(warmUp)
    using _watch = watch()
    const measured = await runner(seconds)
    if (measured) return measured
  }
  throw new Error(`no whole answer came in ${TRIES} runs of ${seconds} s`)
}

function fail({ work, runs, failed }: Measuring, name: ServerName, error: unknown): void {
  runs.delete(name)
  failed.set(name, (error as Error).message)
  report(work, name, (error as Error).message)
}

function report({ id }: Judged, name: ServerName, what: string): void {
  console.error(`${id.padEnd(10)} ${name.padEnd(14)} ${what}`)
}

function rotated<T>(all: readonly T[], by: number): T[] {
  const start = all.length === 0 ? 0 : by % all.length
  return [...all.slice(start), ...all.slice(0, start)]
}
