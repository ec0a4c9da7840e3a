import { readdirSync, statSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Slipway } from '../client/sdk/slipway.ts'
import { type Figure, figure, type Measurement, median } from './figures.ts'
import { makeContent, publish, type Site, touch, update } from './publish-flow.ts'
import { readMemory, type ServerProcess, scratchFolder, startServer } from './server-process.ts'

const SITES = 50
const FILES = 20
const BYTES = 2048
const VISITS = 200

/** Filled within the warm-up, so that what grows is no cache. */
const CACHE_BYTES = '16MB'

/**
 * Minutes of the load, of which the first are no measurement: caches fill and code is compiled. After 15 minutes they still
 * do, which a line through the rest of an hour shows as 12 to 26 MB an hour.
 */
const WHOLE = { minutes: 105, warmUp: 30 }
const QUICK = { minutes: 2, warmUp: 0.5 }

/** What a process holds. */
interface Sample {
  minute: number
  megabytes: number
  descriptors: number
  /** Of the log of the database. */
  logMegabytes: number
}

/** Whether a process holds more after an hour of the same load: memory, descriptors, the log of its database. */
export const soak: Measurement = {
  name: 'soak',
  means: `75 minutes, after 30 of warm-up, in which each second a site of ${FILES} files is published and one deleted, one of ${SITES} is updated, and ${VISITS} visits`,
  onRequest: true,
  async run({ quick }) {
    const { minutes, warmUp } = quick ? QUICK : WHOLE
    await using scratch = await scratchFolder()
    const data = join(scratch.path, 'data')
    await using server = await startServer(data, { settings: { CACHE_BYTES } })
    using load = await Load.start(server.baseUrl)
    const samples: Sample[] = []
    const started = performance.now()
    for (let round = 1; ; round++) {
      await load.round()
      const minute = (performance.now() - started) / 60_000
      if (minute >= warmUp && round % 5 === 0) samples.push(await takeSample(server, data, minute))
      if (minute >= minutes) break
      await pause(Math.max(0, started + round * 1000 - performance.now()))
    }
    return figures(samples, load)
  },
}

function figures(samples: readonly Sample[], { requests, failures }: Load): Figure[] {
  const tenth = Math.ceil(samples.length / 10)
  const [first, last] = [samples.slice(0, tenth), samples.slice(-tenth)]
  const at = (part: readonly Sample[], field: keyof Sample) => [median(part.map((sample) => sample[field]))]
  for (const failure of failures.slice(0, 10)) console.error(failure)
  return [
    figure('requests', 'requests', [requests]),
    figure('requests that failed', 'requests', [failures.length], 0),
    figure('memory after the warm-up', 'MB', at(first, 'megabytes')),
    figure('memory at the end', 'MB', at(last, 'megabytes')),
    figure('growth of the memory in an hour', 'MB', [60 * slope(samples)], 10),
    figure('descriptors after the warm-up', 'requests', at(first, 'descriptors')),
    figure('descriptors at the end', 'requests', at(last, 'descriptors'), at(first, 'descriptors')[0]! + 5),
    figure('log of the database at the end', 'MB', at(last, 'logMegabytes')),
  ]
}

/** Megabytes a minute by least squares. */
function slope(samples: readonly Sample[]): number {
  const mean = (field: keyof Sample) => samples.reduce((sum, one) => sum + one[field], 0) / samples.length
  const [x, y] = [mean('minute'), mean('megabytes')]
  const sum = (of: (one: Sample) => number) => samples.reduce((total, one) => total + of(one), 0)
  return sum((one) => (one.minute - x) * (one.megabytes - y)) / sum((one) => (one.minute - x) ** 2)
}

async function takeSample({ pid }: ServerProcess, data: string, minute: number): Promise<Sample> {
  return {
    minute,
    megabytes: await readMemory(pid, 'VmRSS'),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    logMegabytes: (statSync(join(data, 'slipway.db-wal'), { throwIfNoEntry: false })?.size ?? 0) / 1e6,
  }
}

/** The same requests each second: what is published is deleted after some time, so that the store does not grow. */
class Load implements Disposable {
  requests = 0
  readonly failures: string[] = []
  readonly #baseUrl: string
  readonly #client: Slipway
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 16 })
  readonly #kept: { site: Site; content: ReturnType<typeof makeContent> }[] = []
  readonly #passing: Site[] = []
  #rounds = 0

  private constructor(baseUrl: string) {
    this.#baseUrl = baseUrl
    this.#client = new Slipway({ baseUrl })
  }

  static async start(baseUrl: string): Promise<Load> {
    const load = new Load(baseUrl)
    for (let index = 0; index < SITES; index++) {
      const content = makeContent(FILES, BYTES)
      load.#kept.push({ site: (await publish(baseUrl, content)).site, content })
    }
    return load
  }

  async round(): Promise<void> {
    const { site, content } = this.#kept[this.#rounds++ % SITES]!
    touch(content, BYTES)
    const visits = Array.from({ length: VISITS }, (_, number) => this.#visit(number))
    await Promise.all([
      this.#counted('publish', async () => {
        this.#passing.push((await publish(this.#baseUrl, makeContent(FILES, BYTES))).site)
      }),
      this.#counted('update', () => update(this.#baseUrl, site, content)),
      ...visits,
    ])
    if (this.#passing.length <= SITES) return
    const { slug, claimToken } = this.#passing.shift()!
    await this.#counted('delete', () => this.#client.delete(slug, { permanent: true, claimToken }))
  }

  /** One in eight over a new connection, one in ten for a file that does not exist. */
  #visit(number: number): Promise<void> {
    const { slug } = this.#kept[(this.#rounds * 7 + number) % SITES]!.site
    const [path, expected] =
      number % 10 === 0
        ? [`/missing-${number}`, 404]
        : [`/assets/${1 + (number % 19)}/file-${1 + (number % 19)}.txt`, 200]
    return this.#counted(`visit of ${path}`, async () => {
      const status = await this.#get(`${slug}.localhost`, path, number % 8 === 0)
      if (status !== expected) throw new Error(`${status} instead of ${expected}`)
    })
  }

  #get(site: string, path: string, isNew: boolean): Promise<number> {
    const { port } = new URL(this.#baseUrl)
    return new Promise((resolve, reject) => {
      http
        .get(
          { port, path, headers: { host: `${site}:${port}` }, agent: isNew ? false : this.#agent },
          (response) => {
            response
              .on('end', () => resolve(response.statusCode!))
              .on('error', reject)
              .resume()
          },
        )
        .on('error', reject)
    })
  }

  async #counted(what: string, request: () => Promise<unknown>): Promise<void> {
    this.requests++
    try {
      await request()
    } catch (error) {
      this.failures.push(`${what}: ${error}`)
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}
