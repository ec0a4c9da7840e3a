import { setTimeout as pause } from 'node:timers/promises'
import { readMemory, type ServerProcess, startServer } from '../server-process.ts'
import type { Line } from './figures.ts'
import type { SeededSite } from './many-sites.ts'
import { Line as Connection, send } from './reply.ts'
import { browserRequest } from './request.ts'
import { measuredRun, type RunLengths } from './rounds.ts'
import { SERVER_CORE, WRK_CORE } from './server.ts'
import { perCpuSecond } from './table.ts'
import { type Run, runWrk, writeScript } from './wrk.ts'

interface CapacityOptions {
  data: string
  /** Sites to warm. */
  sites: readonly SeededSite[]
  folder: string
  lengths: RunLengths
}

/** Resident memory with many warm sites, and whether one of them is as fast as alone. */
export async function manySitesMemory({ data, sites, folder, lengths }: CapacityOptions): Promise<Line[]> {
  await using alone = await startServer(data, { core: SERVER_CORE })
  await using warmed = await startServer(data, { core: SERVER_CORE })
  const idle = await readMemory(warmed.pid, 'VmRSS')
  await warm(warmed, sites)
  const ratios: number[] = []
  const memory = [await readMemory(warmed.pid, 'VmRSS')]
  for (let round = 0; round < lengths.rounds; round++) {
    const place = { folder, core: WRK_CORE, lengths }
    const first = await speed(alone, sites[0]!, place)
    const second = await speed(warmed, sites[0]!, place)
    ratios.push(second.perSecond / first.perSecond)
    memory.push(await readMemory(warmed.pid, 'VmRSS'))
  }
  const many = sites.length.toLocaleString('en')
  return [
    { what: 'resident memory at the start, with all sites in the store', unit: 'MB', rounds: [idle] },
    { what: `resident memory with ${many} sites warm`, unit: 'MB', rounds: memory, max: 450 },
    {
      what: `speed of a warm request with ${many} sites warm, to that with one`,
      unit: 'times',
      rounds: ratios,
      min: 0.95,
    },
  ]
}

/**
 * Two workers against one process, on both cores. wrk needs the same cores, so the clock cannot show a
 * doubling here; the comparison shows whether a response costs more.
 */
export async function twoWorkers({ data, sites, folder, lengths }: CapacityOptions): Promise<Line[]> {
  await using one = await startServer(data, { settings: { WORKERS: '1' } })
  await using two = await startServer(data, { settings: { WORKERS: '2' } })
  const raw: number[] = []
  const scaled: number[] = []
  for (let round = 0; round < lengths.rounds; round++) {
    const [single, double] = [
      await speed(one, sites[0]!, { folder, lengths }),
      await speed(two, sites[0]!, { folder, lengths }),
    ]
    raw.push(double.perSecond / single.perSecond)
    scaled.push((2 * perCpuSecond(double)) / perCpuSecond(single))
  }
  return [
    {
      what: 'two workers to one, by responses per second of CPU time, times two',
      unit: 'times',
      rounds: scaled,
      min: 1.8,
    },
    { what: 'two workers to one, by elapsed time, wrk on the same two cores', unit: 'times', rounds: raw },
  ]
}

/** Requests the root of each site once, over a few connections. */
async function warm({ baseUrl }: ServerProcess, sites: readonly SeededSite[]): Promise<void> {
  const port = Number(new URL(baseUrl).port)
  const queue = [...sites]
  const worker = async () => {
    using line = await Connection.open(port)
    for (let site = queue.pop(); site; site = queue.pop()) {
      const { status } = await line.send(browserRequest('/', `${site.slug}.localhost:${port}`))
      if (status !== 200) throw new Error(`a site of the store got ${status}`)
    }
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  await pause(1000)
}

async function speed(
  server: ServerProcess,
  { slug }: SeededSite,
  { folder, core, lengths }: { folder: string; core?: number; lengths: RunLengths },
): Promise<Run> {
  const port = Number(new URL(server.baseUrl).port)
  const request = browserRequest('/', `${slug}.localhost:${port}`)
  const { status, wireBytes } = await send(port, request)
  if (status !== 200) throw new Error(`a site of the store got ${status}`)
  const script = writeScript(folder, `capacity-${port}`, { requests: [request] })
  const run = {
    port,
    pid: server.pid,
    script,
    expected: { status, wireBytes },
    ...(core === undefined ? {} : { core }),
  }
  return measuredRun((seconds) => runWrk({ ...run, seconds }), lengths)
}
