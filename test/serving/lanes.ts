import { isDeepStrictEqual } from 'node:util'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { type Batch, type Pick, randomBatch } from './lane-requests.ts'
import { askOnce, type LaneHost, type Lanes } from './lane-sites.ts'
import { findHeader, talk, type WireResponse } from './wire.ts'

export interface Outcome {
  requests: number
  /** Answers by status. */
  statuses: Map<number, number>
  /** Each thing that is not as it has to be, in words, at most twenty. */
  faults: string[]
}

/** Connections at a time. */
const AT_ONCE = 8
const MAX_FAULTS = 20

const UNLIKE = new Set(['date', 'connection', 'keep-alive', 'x-request-id'])

const DECODERS: Record<string, (bytes: Buffer) => Buffer> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
}

/**
 * Sends the same random bytes to both services until so many requests were answered, and holds every answer to: alike in
 * both, no failure of the service, and nothing in a body that the sites do not have.
 */
export async function compareLanes(lanes: Lanes, requests: number, pick: Pick): Promise<Outcome> {
  const comparison = new Comparison(lanes, pick)
  await comparison.lookAround()
  await comparison.run(requests)
  return comparison
}

class Comparison implements Outcome {
  requests = 0
  readonly statuses = new Map<number, number>()
  readonly faults: string[] = []
  readonly #lanes: Lanes
  readonly #pick: Pick
  readonly #tags = new Map<string, string[]>()
  /** Whole representations by their strong names. */
  readonly #known = new Map<string, Buffer>()
  /** What may be served whole. */
  readonly #published = new Set<string>()

  constructor(lanes: Lanes, pick: Pick) {
    this.#lanes = lanes
    this.#pick = pick
  }

  /** Learns the names of everything there is, and the pages that the service makes of a site. */
  async lookAround(): Promise<void> {
    for (const { bodies } of this.#lanes.hosts) {
      for (const body of bodies) this.#published.add(body.toString('latin1'))
    }
    for (const where of this.#lanes.hosts) await this.#look(where)
  }

  async #look({ host, paths, cookie }: LaneHost): Promise<void> {
    const tags: string[] = []
    for (const encoding of ['identity', 'br', 'gzip', 'zstd']) {
      for (const path of ['', ...paths]) {
        const target = `/${path.split('/').map(encodeURIComponent).join('/')}`
        const lines = `Host: ${host}\r\nAccept-Encoding: ${encoding}\r\nCookie: ${cookie ?? 'a=b'}`
        const answer = await askOnce(this.#lanes.plain, `GET ${target} HTTP/1.1\r\n${lines}\r\n\r\n`)
        if (answer.status !== 200) continue
        if (path === '' && encoding === 'identity') this.#published.add(answer.body.toString('latin1'))
        this.#judge(answer, `GET ${target} at ${host}`)
        tags.push(findHeader(answer, 'etag') ?? '"none"')
      }
    }
    this.#tags.set(host, [...new Set(tags)])
  }

  async run(requests: number): Promise<void> {
    const lane = async () => {
      while (this.requests < requests && this.faults.length < MAX_FAULTS) {
        const size = 1 + this.#pick(this.#pick(4) === 0 ? 200 : 40)
        const batch = randomBatch({ pick: this.#pick, hosts: this.#lanes.hosts, tags: this.#tags }, size)
        this.requests += batch.methods.length
        await this.#send(batch).catch((error: unknown) => this.#fault(`${error}`, batch.texts.join('')))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
  }

  async #send(batch: Batch): Promise<void> {
    const { fast, plain } = this.#lanes
    const [one, other] = await Promise.all(
      [fast, plain].map(({ port }) => talk({ port, host: '127.0.0.1' }, batch.pieces, batch)),
    )
    if (!one!.closed || !other!.closed) this.#fault('a connection was left waiting', batch.texts.join(''))
    const count = Math.max(one!.answers.length, other!.answers.length)
    for (let at = 0; at < count; at++) {
      const [quick, slow] = [one!.answers[at], other!.answers[at]]
      const unlike = quick && slow ? difference(quick, slow) : `${quick?.status} but ${slow?.status}`
      const asked = batch.texts.slice(at - 1, at + 1).join('') || `${batch.last.bytes}`
      if (unlike) return this.#fault(`answer ${at + 1} of ${count} is not alike: ${unlike}`, asked)
      this.statuses.set(quick!.status, (this.statuses.get(quick!.status) ?? 0) + 1)
      this.#judge(quick!, asked)
    }
  }

  #judge(answer: WireResponse, asked: string): void {
    const { status, body } = answer
    if (status >= 500 && status !== 501 && status !== 505) this.#fault(`${status}`, asked)
    if ((status !== 200 && status !== 206) || body.length === 0) return
    if (!(status === 200 ? this.#isWhole(answer) : this.#isPart(answer)))
      this.#fault(`${status} with what nobody published: ${body.toString('latin1', 0, 80)}`, asked)
  }

  #isWhole(answer: WireResponse): boolean {
    const { body } = answer
    const tag = findHeader(answer, 'etag')
    if (tag && this.#known.get(tag)?.equals(body)) return true
    const encoding = findHeader(answer, 'content-encoding')
    const plain = encoding === undefined ? body : DECODERS[encoding]!(body)
    if (!this.#published.has(plain.toString('latin1'))) return false
    if (tag) this.#known.set(tag, body)
    return true
  }

  #isPart(answer: WireResponse): boolean {
    const whole = this.#known.get(findHeader(answer, 'etag') ?? '')
    const [, first, last, size] =
      /^bytes (\d+)-(\d+)\/(\d+)$/.exec(findHeader(answer, 'content-range') ?? '') ?? []
    return (
      whole?.length === Number(size) && whole.subarray(Number(first), Number(last) + 1).equals(answer.body)
    )
  }

  #fault(what: string, asked: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(`${what}, asked ${JSON.stringify(asked)}`)
  }
}

/** What is not alike in two answers, but for what may be. */
function difference(one: WireResponse, other: WireResponse): string | undefined {
  if (one.status !== other.status) return `${one.status} but ${other.status}`
  if (!one.body.equals(other.body)) return `bodies of ${one.body.length} and ${other.body.length} bytes`
  const [lines, others] = [headerLines(one), headerLines(other)]
  return isDeepStrictEqual(lines, others) ? undefined : `${lines} but ${others}`
}

function headerLines({ headers }: WireResponse): string[] {
  return headers.flatMap(([name, value]) => (UNLIKE.has(name) ? [] : [`${name}: ${value}`])).sort()
}
