import { setTimeout as pause } from 'node:timers/promises'
import { Line } from './reply.ts'
import type { Server, ServerName } from './server.ts'
import type { Work } from './works.ts'
import { type Expected, type Load, type Run, runWrk, type WrkOptions, writeScript } from './wrk.ts'

/** A work as one server was asked it: all rounds, or why it could not be measured. */
export interface Result {
  work: Work
  runs: ReadonlyMap<ServerName, readonly Run[]>
  failed: ReadonlyMap<ServerName, string>
}

export interface Pace {
  rounds: number
  /** Seconds of each run, and of the warm-up before it. */
  seconds: number
  warmUp: number
}

/** A server with its process and the port that finds sites by Host, which is the same for us. */
export interface Asked extends Server {
  pid: number
  sitesPort: number
}

interface RoundsOptions {
  works: readonly Work[]
  servers: ReadonlyMap<ServerName, Asked>
  pace: Pace
  /** For scripts. */
  folder: string
  wrkCore: number
  /** Watches a run until it is disposed. */
  watch?: (work: Work, server: Server) => Disposable | undefined
}

interface Prepared {
  server: Asked
  port: number
  script: string
  expected: Expected
}

const LATER_SECONDS = 60

/** How often a run may be taken again that a busy machine left without a whole answer. */
const TRIES = 3

/**
 * Every server once a round and work, in an order that moves on each time; nobody else is asked meanwhile. Each answer
 * was looked at before by its bytes, and a run in which other answers came counts as failed.
 */
export async function runRounds(options: RoundsOptions): Promise<Result[]> {
  const { works, pace } = options
  const results = []
  for (const work of works) results.push(await prepare(work, options))
  for (let round = 0; round < pace.rounds; round++) {
    for (const [index, result] of results.entries()) {
      for (const one of rotated(result.prepared, round + index)) await measure(result, one, options)
    }
  }
  return results
}

interface Measuring extends Result {
  runs: Map<ServerName, Run[]>
  failed: Map<ServerName, string>
  prepared: Prepared[]
}

async function prepare(work: Work, { servers, folder }: RoundsOptions): Promise<Measuring> {
  const result: Measuring = { work, runs: new Map(), failed: new Map(), prepared: [] }
  for (const name of work.servers) {
    const found = servers.get(name)
    if (!found) continue
    const port = work.bySite ? found.sitesPort : found.port
    const server = { ...found, port }
    try {
      const load = await work.load(server)
      const expected = await inspect(work, server, load)
      const script = writeScript(folder, `${work.id}-${name}`, load)
      result.prepared.push({ server: found, port, script, expected })
    } catch (error) {
      fail(result, name, error)
    }
  }
  return result
}

/**
 * Asks every request of a load once, which warms it too. Throws when an answer is wrong, or when answers have several
 * lengths, since wrk's bytes could not be checked then.
 */
async function inspect(work: Work, server: Server, { requests }: Load): Promise<Expected> {
  using line = await Line.open(server.port)
  const until = performance.now() + (work.comesLater ? LATER_SECONDS * 1000 : 0)
  let expected: Expected | undefined
  for (const [place, request] of requests.entries()) {
    let reply = await line.ask(request)
    while (work.wrong(reply, place, server) && performance.now() < until) {
      await pause(250)
      reply = await line.ask(request)
    }
    const wrong = work.wrong(reply, place, server)
    if (wrong) throw new Error(`GET ${request.path}: ${wrong}`)
    const { status, wire } = reply
    expected ??= { status, wire }
    if (wire !== expected.wire) throw new Error(`answers have ${expected.wire} bytes and ${wire} bytes`)
  }
  return expected!
}

async function measure(
  result: Measuring,
  { server, port, script, expected }: Prepared,
  options: RoundsOptions,
): Promise<void> {
  const { name, pid } = server
  const { work, runs, failed } = result
  if (failed.has(name)) return
  try {
    const run = { port, pid, script, expected, core: options.wrkCore }
    const measured = await measuredRun(run, options.pace, () => options.watch?.(work, server))
    runs.set(name, [...(runs.get(name) ?? []), measured])
    tell(work, name, `${measured.perSecond.toFixed(0).padStart(7)}/s, ${measured.cores.toFixed(2)} cores`)
  } catch (error) {
    fail(result, name, error)
  }
}

/** A warm-up and a run, which `watch` watches until what it gives is disposed. */
export async function measuredRun(
  run: Omit<WrkOptions, 'seconds'>,
  { seconds, warmUp }: Pace,
  watch: () => Disposable | undefined = () => undefined,
): Promise<Run> {
  for (let tries = 0; tries < TRIES; tries++) {
    await runWrk({ ...run, seconds: warmUp })
    using _watch = watch()
    const measured = await runWrk({ ...run, seconds })
    if (measured) return measured
  }
  throw new Error(`no whole answer came in ${TRIES} runs of ${seconds} s`)
}

function fail({ work, runs, failed }: Measuring, name: ServerName, error: unknown): void {
  runs.delete(name)
  failed.set(name, (error as Error).message)
  tell(work, name, (error as Error).message)
}

function tell({ id }: Work, name: ServerName, what: string): void {
  console.error(`${id.padEnd(10)} ${name.padEnd(14)} ${what}`)
}

function rotated<T>(all: readonly T[], by: number): T[] {
  const start = all.length === 0 ? 0 : by % all.length
  return [...all.slice(start), ...all.slice(0, start)]
}
