import { isDeepStrictEqual } from 'node:util'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { type ServicePair, sendOnce, type TestHost } from './fast-path-sites.ts'
import { type Batch, type Pick, randomBatch } from './random-requests.ts'
import { findHeader, type RawResponse, sendRaw } from './raw-http.ts'

export interface Outcome {
  requests: number
  /** Responses by status. */
  statuses: Map<number, number>
  /** One sentence per fault, at most MAX_FAULTS. */
  faults: string[]
}

const CONCURRENCY = 8
const MAX_FAULTS = 20

const IGNORED_HEADERS = new Set(['date', 'connection', 'keep-alive', 'x-request-id'])

const DECODERS: Record<string, (bytes: Buffer) => Buffer> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
}

/**
 * Sends the same random bytes to both services until `requests` are answered. Every response must be equal in both, no
 * server error and no redirect to an unknown host, and every body must be published content.
 */
export async function compareResponses(
  services: ServicePair,
  requests: number,
  pick: Pick,
): Promise<Outcome> {
  const comparison = new Comparison(services, pick)
  await comparison.learnRepresentations()
  await comparison.run(requests)
  return comparison
}

class Comparison implements Outcome {
  requests = 0
  readonly statuses = new Map<number, number>()
  readonly faults: string[] = []
  readonly #services: ServicePair
  readonly #pick: Pick
  readonly #tags = new Map<string, string[]>()
  /** Complete representations by strong etag. */
  readonly #known = new Map<string, Buffer>()
  /** Bodies that a 200 may have. */
  readonly #published = new Set<string>()

  constructor(services: ServicePair, pick: Pick) {
    this.#services = services
    this.#pick = pick
  }

  /** Learns the etags of all representations, and the pages that the service generates. */
  async learnRepresentations(): Promise<void> {
    for (const { bodies } of this.#services.hosts) {
      for (const body of bodies) this.#published.add(body.toString('latin1'))
    }
    for (const where of this.#services.hosts) await this.#learnHost(where)
  }

  async #learnHost({ host, paths, cookie }: TestHost): Promise<void> {
    const tags: string[] = []
    for (const encoding of ['identity', 'br', 'gzip', 'zstd']) {
      for (const path of ['', ...paths]) {
        const target = `/${path.split('/').map(encodeURIComponent).join('/')}`
        const lines = `Host: ${host}\r\nAccept-Encoding: ${encoding}\r\nCookie: ${cookie ?? 'a=b'}`
        const response = await sendOnce(this.#services.plain, `GET ${target} HTTP/1.1\r\n${lines}\r\n\r\n`)
        if (response.status !== 200) continue
        if (path === '' && encoding === 'identity') this.#published.add(response.body.toString('latin1'))
        this.#verify(response, `GET ${target} at ${host}`)
        tags.push(findHeader(response, 'etag') ?? '"none"')
      }
    }
    this.#tags.set(host, [...new Set(tags)])
  }

  async run(requests: number): Promise<void> {
    const worker = async () => {
      while (this.requests < requests && this.faults.length < MAX_FAULTS) {
        const size = 1 + this.#pick(this.#pick(4) === 0 ? 200 : 40)
        const batch = randomBatch({ pick: this.#pick, hosts: this.#services.hosts, tags: this.#tags }, size)
        this.requests += batch.methods.length
        await this.#send(batch).catch((error: unknown) => this.#fault(`${error}`, batch.texts.join('')))
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  }

  async #send(batch: Batch): Promise<void> {
    const { fast, plain } = this.#services
    const [one, other] = await Promise.all(
      [fast, plain].map(({ port }) => sendRaw({ port, host: '127.0.0.1' }, batch.pieces, batch)),
    )
    if (!one!.closed || !other!.closed) this.#fault('a connection was not closed', batch.texts.join(''))
    const count = Math.max(one!.responses.length, other!.responses.length)
    for (let at = 0; at < count; at++) {
      const [quick, slow] = [one!.responses[at], other!.responses[at]]
      if (!(quick && slow) && refusedBody((quick ? other : one)!.responses.at(-1), batch.methods[at - 1]))
        return
      const different = quick && slow ? difference(quick, slow) : `${quick?.status} but ${slow?.status}`
      const request = batch.texts.slice(at - 1, at + 1).join('') || `${batch.last.bytes}`
      if (different) return this.#fault(`response ${at + 1} of ${count} differs: ${different}`, request)
      this.statuses.set(quick!.status, (this.statuses.get(quick!.status) ?? 0) + 1)
      this.#verify(quick!, request)
    }
  }

  #verify(response: RawResponse, request: string): void {
    const { status, body } = response
    if (status >= 500 && status !== 501 && status !== 505) this.#fault(`${status}`, request)
    // Versions at their own hosts are private as well.
    const isCacheable = !/^(private, )?no-store$/.test(findHeader(response, 'cache-control') ?? '')
    if ([401, 404, 412, 416].includes(status) && isCacheable)
      this.#fault(`a cacheable ${status}: ${findHeader(response, 'cache-control')}`, request)
    const { host } = new URL(findHeader(response, 'location') ?? '/', 'http://here.example')
    if (!/^(?:here|elsewhere)\.example$/.test(host)) this.#fault(`a redirect to ${host}`, request)
    if ((status !== 200 && status !== 206) || body.length === 0) return
    if (!(status === 200 ? this.#isWhole(response) : this.#isPart(response)))
      this.#fault(`${status} with unpublished content: ${body.toString('latin1', 0, 80)}`, request)
  }

  #isWhole(response: RawResponse): boolean {
    const { body } = response
    const tag = findHeader(response, 'etag')
    if (tag && this.#known.get(tag)?.equals(body)) return true
    const encoding = findHeader(response, 'content-encoding')
    const plain = encoding === undefined ? body : DECODERS[encoding]!(body)
    if (!this.#published.has(plain.toString('latin1'))) return false
    if (tag) this.#known.set(tag, body)
    return true
  }

  #isPart(response: RawResponse): boolean {
    const whole = this.#known.get(findHeader(response, 'etag') ?? '')
    const [, first, last, size] =
      /^bytes (\d+)-(\d+)\/(\d+)$/.exec(findHeader(response, 'content-range') ?? '') ?? []
    return (
      whole?.length === Number(size) && whole.subarray(Number(first), Number(last) + 1).equals(response.body)
    )
  }

  #fault(what: string, request: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(`${what}, request ${JSON.stringify(request)}`)
  }
}

/**
 * Whether a connection ends after this response because its request was refused before its body had arrived, which
 * depends on the time between two pieces.
 */
function refusedBody(response: RawResponse | undefined, method: string | undefined): boolean {
  return (
    response?.status === 405 &&
    findHeader(response, 'connection') === 'close' &&
    !['GET', 'HEAD', undefined].includes(method)
  )
}

/** The first difference of two responses, except IGNORED_HEADERS. */
function difference(one: RawResponse, other: RawResponse): string | undefined {
  if (one.status !== other.status) return `${one.status} but ${other.status}`
  if (!one.body.equals(other.body)) return `bodies of ${one.body.length} and ${other.body.length} bytes`
  const [lines, others] = [headerLines(one), headerLines(other)]
  return isDeepStrictEqual(lines, others) ? undefined : `${lines} but ${others}`
}

function headerLines({ headers }: RawResponse): string[] {
  return headers.flatMap(([name, value]) => (IGNORED_HEADERS.has(name) ? [] : [`${name}: ${value}`])).sort()
}
