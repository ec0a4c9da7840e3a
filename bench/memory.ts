import http from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { CreateResponse } from '../protocol/api/publish.schema.ts'
import { figure, type Measurement } from './figures.ts'
import { ROOT, readMemory, resetPeakMemory, scratchFolder, startServer } from './server-process.ts'
import { threadSeconds } from './serving/processes.ts'

const ROUNDS = 5
const IDLE_MS = 1500
const BLOCK = Buffer.alloc(1 << 20, 'slipway ')

/** Start time of the service and its memory, idle and under large uploads. */
export const memory: Measurement = {
  name: 'memory',
  means: 'start to first 200 and idle memory, beside a bare server; what large uploads add',
  async run({ quick }) {
    const start: number[] = []
    const startCpu: number[] = []
    const idle: number[] = []
    const bare: { startCpu: number; idle: number }[] = []
    const large: number[] = []
    const parallel: number[] = []
    for (let round = 0; round <= (quick ? 1 : ROUNDS); round++) {
      await using scratch = await scratchFolder()
      const floor = await startBare(join(scratch.path, 'bare'))
      const big = await addedByUploads(join(scratch.path, 'a'), { count: 1, size: 1024 })
      const many = await addedByUploads(join(scratch.path, 'b'), { count: 50, size: 20 })
      if (round === 0) continue
      bare.push(floor)
      start.push(big.start, many.start)
      startCpu.push(big.startCpu)
      idle.push(big.idle, many.idle)
      large.push(big.added)
      parallel.push(many.added)
    }
    return [
      figure('start to first 200', 'ms', start, 400),
      figure('its CPU', 'ms', startCpu),
      figure(
        'CPU of the start of the bare server',
        'ms',
        bare.map((one) => one.startCpu),
      ),
      figure(
        'CPU of the start, relative to the bare server',
        'times',
        startCpu.map((cpu, round) => cpu / bare[round]!.startCpu),
        4,
      ),
      figure('idle memory', 'MB', idle, 85),
      figure(
        'idle memory of the bare server',
        'MB',
        bare.map((one) => one.idle),
      ),
      figure('added by uploading a file of 1.07 GB', 'MB', large, 60),
      figure('added by 50 parallel uploads of 20 MB', 'MB', parallel, 150),
    ]
  },
}

async function startBare(data: string): Promise<{ startCpu: number; idle: number }> {
  await using server = await startServer(data, { program: join(ROOT, 'bench/bare-publisher.mjs') })
  const startCpu = 1000 * threadSeconds(server.pid)
  await pause(IDLE_MS)
  return { startCpu, idle: await readMemory(server.pid, 'VmRSS') }
}

/**
 * Starts a service, uploads `count` files of `size` MiB concurrently, and returns its memory before and at
 * its peak.
 */
export async function addedByUploads(
  data: string,
  { count, size, settings = {} }: { count: number; size: number; settings?: Record<string, string> },
) {
  await using server = await startServer(data, {
    settings: { ANONYMOUS_FILE_BYTES: '2000000000', ANONYMOUS_SITE_BYTES: '4000000000', ...settings },
  })
  const startCpu = 1000 * threadSeconds(server.pid)
  await pause(IDLE_MS)
  const idle = await readMemory(server.pid, 'VmRSS')
  await resetPeakMemory(server.pid)
  const files = Array.from({ length: count }, (_, index) => ({
    path: `${index}.bin`,
    size: size * BLOCK.length,
    contentType: 'application/octet-stream',
  }))
  const plan = await create(server.baseUrl, files)
  await Promise.all(plan.upload.uploads.map((target) => upload(target.url, target.headers, size)))
  return {
    start: server.startMilliseconds,
    startCpu,
    idle,
    added: (await readMemory(server.pid, 'VmHWM')) - idle,
  }
}

async function create(baseUrl: string, files: object[]): Promise<CreateResponse> {
  const response = await fetch(`${baseUrl}/api/v1/publish`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ files }),
  })
  return (await response.json()) as CreateResponse
}

function upload(url: string, headers: Record<string, string>, blocks: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const all = { ...headers, 'content-length': blocks * BLOCK.length }
    const request = http.request(url, { method: 'PUT', headers: all }, (response) => {
      response.resume()
      response.on('end', () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`)),
      )
    })
    request.on('error', reject)
    let left = blocks
    const write = () => {
      while (left-- > 0) if (!request.write(BLOCK)) return void request.once('drain', write)
      request.end()
    }
    write()
  })
}
