import { brotliDecompressSync } from 'node:zlib'
import { type Files, PATHS, REDIRECT } from './content.ts'
import { type SeededSite, zipf } from './many-sites.ts'
import { type Reply, send } from './reply.ts'
import { bareRequest, browserRequest, type Request, withHeader } from './request.ts'
import { SERVERS, type Server, type ServerName } from './server.ts'
import type { Load } from './wrk.ts'

/** Description and targets of a workload. */
export interface Judged {
  id: string
  name: string
  /** Multiples of nginx's and Caddy's speed. */
  reach?: { nginx?: number; caddy?: number }
  /** Judged by the server's CPU time: where a client cannot saturate the server. */
  byCpuTime?: true
}

/** One row of the table: the requests, their servers, and the correct response. */
export interface Work extends Judged {
  servers: readonly ServerName[]
  load(server: Server): Promise<Load> | Load
  /** Why the response to one request of the load is wrong; undefined when it is right. */
  wrong(reply: Reply, place: number, server: Server): string | undefined
  /** Uses the port that finds sites by Host. */
  bySite?: true
  /** Requests precompressed content. */
  comesLater?: true
}

const WITH_REDIRECTS: readonly ServerName[] = ['ours', 'nginx', 'Caddy']

/** serve-handler leaks an open file with every 304, and ends after some ten thousand. */
const WITH_304 = SERVERS.filter((name) => name !== 'serve-handler')

const MEBIBYTE = 2 ** 20
const RANGES = 1000
const CHOICES = 2 ** 16

/** All rows except those over many sites. */
export function siteWorks(files: Files): Work[] {
  const getBytes = (path: string) => files.get(path)!.bytes
  const video = getBytes(PATHS.video)
  const starts = Array.from({ length: RANGES }, () => 1_000_000 + Math.floor(Math.random() * 7_900_000))
  const plain = { servers: SERVERS, wrong: identity(getBytes(PATHS.plain)) }
  return [
    {
      ...plain,
      id: 'bare',
      name: '4 kB, bare request',
      load: ({ host }) => only(bareRequest(`/${PATHS.plain}`, host)),
      reach: { nginx: 1.3, caddy: 4.5 },
    },
    {
      ...plain,
      id: 'browser',
      name: '4 kB, browser',
      load: ({ host }) => only(browserRequest(`/${PATHS.plain}`, host)),
      reach: { nginx: 1.4, caddy: 4 },
    },
    {
      id: 'br',
      name: '4 kB as `br`, browser; nginx plain',
      servers: ['ours', 'nginx'],
      load: ({ host }) => only(browserRequest(`/${PATHS.text}`, host)),
      wrong: brotliOrPlain(getBytes(PATHS.text)),
      comesLater: true,
      reach: { nginx: 1 },
    },
    {
      id: 'photo',
      name: '100 kB, bare request',
      servers: SERVERS,
      load: ({ host }) => only(bareRequest(`/${PATHS.photo}`, host)),
      wrong: identity(getBytes(PATHS.photo)),
      reach: { nginx: 1 },
    },
    {
      id: '304',
      name: '304, browser',
      servers: WITH_304,
      load: revalidation,
      wrong: statusOtherThan(304),
      reach: { nginx: 1.1 },
    },
    {
      id: '404',
      name: '404, browser',
      servers: SERVERS,
      load: ({ host }) => only(browserRequest('/no-such-page', host)),
      wrong: statusOtherThan(404),
      reach: { nginx: 1.2 },
    },
    {
      id: 'redirect',
      name: 'redirect by a rule, browser',
      servers: WITH_REDIRECTS,
      load: ({ host }) => only(browserRequest(REDIRECT.from, host)),
      wrong: (reply) => statusOtherThan(301)(reply) ?? otherLocation(reply),
      reach: { nginx: 1 },
    },
    {
      id: 'video',
      name: '10 MB, bare request',
      servers: WITH_REDIRECTS,
      load: ({ host }) => only(bareRequest(`/${PATHS.video}`, host)),
      wrong: identity(video),
      reach: { nginx: 0.5 },
      byCpuTime: true,
    },
    {
      id: 'ranges',
      name: 'random ranges of 1 MB of it',
      servers: WITH_REDIRECTS,
      load: ({ host }) => ({
        requests: starts.map((start) => rangeRequest(host, `${start}-${start + MEBIBYTE - 1}`)),
        order: starts.map((_, place) => place),
      }),
      wrong: (reply, place) => partial(reply, video.subarray(starts[place]!, starts[place]! + MEBIBYTE)),
      reach: { nginx: 0.5 },
      byCpuTime: true,
    },
    {
      id: 'suffix',
      name: 'its last 1 MB',
      servers: WITH_REDIRECTS,
      load: ({ host }) => only(rangeRequest(host, `-${MEBIBYTE}`)),
      wrong: (reply) => partial(reply, video.subarray(-MEBIBYTE)),
      reach: { nginx: 0.5 },
      byCpuTime: true,
    },
  ]
}

/** Many sites by Zipf's law, and one site by the same script, so that both cost wrk the same. */
export function manySitesWorks(sites: readonly SeededSite[]): Work[] {
  const requests = (server: Server, asked: readonly SeededSite[]) =>
    asked.map(({ slug }) => browserRequest('/', `${slug}.localhost:${server.port}`))
  const order = zipf(sites.length, CHOICES)
  const rest = {
    bySite: true as const,
    wrong: (reply: Reply, place: number) => identity(sites[place]!.index)(reply),
  }
  return [
    {
      ...rest,
      id: 'one-site',
      name: '4 kB root of one site, browser',
      servers: ['ours', 'nginx'],
      load: (server) => ({ requests: requests(server, sites.slice(0, 1)), order: order.map(() => 0) }),
    },
    {
      ...rest,
      id: 'zipf',
      name: `4 kB root of ${sites.length.toLocaleString('en')} sites by Zipf's law, browser`,
      servers: ['ours', 'nginx'],
      load: (server) => ({ requests: requests(server, sites), order }),
    },
  ]
}

function only(request: Request): Load {
  return { requests: [request] }
}

function rangeRequest(host: string, range: string): Request {
  return withHeader(bareRequest(`/${PATHS.video}`, host), 'Range', `bytes=${range}`)
}

/** A browser's revalidation with the validators of this server. */
async function revalidation({ port, host }: Server): Promise<Load> {
  const request = browserRequest(`/${PATHS.plain}`, host)
  const { headers } = await send(port, request)
  const known = [
    ['If-None-Match', headers.get('etag')],
    ['If-Modified-Since', headers.get('last-modified')],
  ] as const
  return only(known.reduce((all, [name, value]) => (value ? withHeader(all, name, value) : all), request))
}

export function identity(bytes: Buffer) {
  return (reply: Reply): string | undefined => {
    const coding = reply.headers.get('content-encoding')
    if (coding) return `it is encoded as ${coding}`
    return statusOtherThan(200)(reply) ?? otherBody(reply.body, bytes)
  }
}

function brotliOrPlain(bytes: Buffer) {
  return (reply: Reply, _place: number, server: Server): string | undefined => {
    if (server.name !== 'ours') return identity(bytes)(reply)
    if (reply.headers.get('content-encoding') !== 'br') return 'it is not encoded as br'
    return statusOtherThan(200)(reply) ?? otherBody(brotliDecompressSync(reply.body), bytes)
  }
}

function partial(reply: Reply, bytes: Buffer): string | undefined {
  return statusOtherThan(206)(reply) ?? otherBody(reply.body, bytes)
}

function statusOtherThan(status: number) {
  return (reply: Reply): string | undefined =>
    reply.status === status ? undefined : `its status is ${reply.status}, not ${status}`
}

function otherBody(body: Buffer, wanted: Buffer): string | undefined {
  return body.equals(wanted) ? undefined : `its body of ${body.length} bytes differs`
}

/** Some servers return a full URL, which is equivalent. */
function otherLocation({ headers }: Reply): string | undefined {
  const location = headers.get('location') ?? ''
  return location.endsWith(REDIRECT.to) ? undefined : `it leads to '${location}'`
}
