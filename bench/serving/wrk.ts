import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../../scripts/program.mjs'
import { cpuSeconds, waitedForCores } from './processes.ts'
import { type Request, wireForm } from './request.ts'

export const CONNECTIONS = 64

/** The requests of wrk: one, or several in a precomputed order. */
export interface Load {
  requests: readonly Request[]
  /** Indices into `requests`; absent for a single request. */
  order?: readonly number[]
}

/** The verified properties of every response. */
export interface Expected {
  status: number
  /** Bytes on the wire. */
  wireBytes: number
}

export interface Run {
  /** Complete responses per second. Of large files fractions count too. */
  perSecond: number
  seconds: number
  /** Milliseconds, where the client reports them. */
  p50?: number
  p99?: number
  /** The fraction of the run in which some program waited for a core. */
  waiting?: number
  /** Cores that the server used: near 1 when it, and not wrk, was the bottleneck. */
  cores: number
}

export interface WrkOptions {
  port: number
  /** Default 64. */
  connections?: number
  /** The server's process; its children count too. */
  pid: number
  script: string
  seconds: number
  /** The TLS server name, where the port uses TLS. */
  secureName?: string
  /** The core it is pinned to; otherwise the system chooses. */
  core?: number
}

/** The output of the script. Times are microseconds; `connect`, `read`, `write`, `status` and `timeout` count errors. */
export interface Summary {
  requests: number
  bytes: number
  microseconds: number
  connect: number
  read: number
  write: number
  status: number
  timeout: number
  p50: number
  p99: number
}

/** Writes the script of a load into a folder; wrk sends its bytes unchanged. */
export function writeScript(folder: string, name: string, { requests, order }: Load): string {
  const file = join(folder, `${name}.lua`)
  const body = order ? several(folder, name, requests, order) : one(requests[0]!)
  writeFileSync(file, `${body}\n${DONE}`)
  return file
}

/**
 * Undefined when no complete response arrived in time. Throws on an unexpected response or a broken
 * connection: such a run measures nothing.
 */
export async function runWrk(options: WrkOptions & { expected: Expected }): Promise<Run | undefined> {
  const { summary, cores, waiting } = await summarizeWrk(options)
  const { expected } = options
  assertCorrect(summary, expected)
  if (summary.requests === 0) return undefined
  const taken = summary.microseconds / 1e6
  return {
    perSecond: summary.bytes / expected.wireBytes / taken,
    seconds: taken,
    p50: summary.p50 / 1e3,
    p99: summary.p99 / 1e3,
    cores,
    ...(waiting === undefined ? {} : { waiting }),
  }
}

/** A run whose responses nothing has checked. */
export async function summarizeWrk({
  port,
  pid,
  script,
  seconds,
  secureName,
  core,
  connections = CONNECTIONS,
}: WrkOptions): Promise<Omit<Loaded, 'text'> & { summary: Summary }> {
  const command = [
    program('wrk')!,
    ...['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script],
    secureName === undefined ? `http://127.0.0.1:${port}` : `https://${secureName}:${port}`,
  ]
  const { text, ...run } = await loaded(command, pid, core)
  return { ...run, summary: summaryIn(text) }
}

/** A client's output, and the server's CPU use. */
export interface Loaded extends Pick<Run, 'cores' | 'waiting'> {
  text: string
  /** From start to end. */
  seconds: number
}

/** Runs a client on its core to its end, and watches the server. */
export async function loaded(command: readonly string[], pid: number, core?: number): Promise<Loaded> {
  const pinned = core === undefined ? command : ['taskset', '-c', `${core}`, ...command]
  const before = waitedForCores()
  const used = cpuSeconds(pid)
  const started = performance.now()
  const text = await output(pinned)
  const milliseconds = performance.now() - started
  const cores = (cpuSeconds(pid) - used) / (milliseconds / 1000)
  const waited = (waitedForCores() ?? 0) - (before ?? 0)
  const seconds = milliseconds / 1000
  return { text, cores, seconds, ...(before === undefined ? {} : { waiting: waited / milliseconds }) }
}

function one(request: Request): string {
  return `local request = ${luaText(wireForm(request))}
function wrk.format() return request end`
}

/** In files beside the script: a chunk of Lua allows only 65,536 constants. */
function several(
  folder: string,
  name: string,
  requests: readonly Request[],
  order: readonly number[],
): string {
  const texts = join(folder, `${name}.requests`)
  const places = join(folder, `${name}.order`)
  writeFileSync(texts, requests.map((request) => `${wireForm(request)}\0`).join(''), 'latin1')
  writeFileSync(places, order.map((place) => `${place + 1}\n`).join(''))
  return `local texts, order, at = {}, {}, 0
for text in io.open(${luaText(texts)}, "rb"):read("*a"):gmatch("(%Z+)%z") do texts[#texts + 1] = text end
for line in io.lines(${luaText(places)}) do order[#order + 1] = texts[tonumber(line)] end
function wrk.format() return texts[1] end
function request()
  at = at % #order + 1
  return order[at]
end`
}

/** Avoids the system's resolver, which need not know the sites' names. */
const DONE = `function wrk.resolve(host, service)
  wrk.addrs = wrk.lookup("127.0.0.1", service)
end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    'SUMMARY {"requests":%d,"bytes":%.0f,"microseconds":%.0f,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,"p50":%.0f,"p99":%.0f}\\n',
    summary.requests, summary.bytes, summary.duration, e.connect, e.read, e.write, e.status, e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
`

function luaText(text: string): string {
  const escaped = [...Buffer.from(text)].map((byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\${String(byte).padStart(3, '0')}`,
  )
  return `"${escaped.join('')}"`
}

function summaryIn(text: string): Summary {
  const json = /^SUMMARY (.*)$/m.exec(text)?.[1]
  if (!json) throw new Error(`wrk did not end as it should:\n${text}`)
  return JSON.parse(json) as Summary
}

/** wrk itself counts statuses from 400 on as errors; the bytes show that the others were right. */
function assertCorrect(summary: Summary, { status, wireBytes }: Expected): void {
  const { requests, bytes, connect, read, write, timeout } = summary
  const broken = connect + read + write + timeout
  const wrongStatus = status < 400 ? summary.status : requests - summary.status
  const unfinished = bytes - requests * wireBytes
  const wrongBytes = unfinished < 0 || unfinished > CONNECTIONS * wireBytes
  if (broken === 0 && wrongStatus === 0 && !wrongBytes) return
  throw new Error(`wrk saw other answers than ${status} of ${wireBytes} bytes: ${JSON.stringify(summary)}`)
}

function output([command, ...args]: readonly string[]): Promise<string> {
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      text += chunk
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) =>
      code === 0 ? resolve(text) : reject(new Error(`${args.join(' ')}: ${code}\n${text}`)),
    )
  })
}
