import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { ApiError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { http } from '../lib/node-http.ts'
import { getPort, listenOn } from './ports.ts'

interface OnDemandTlsOptions {
  /** `localhost` admits this machine only; another address admits every client that reaches it. */
  host: string
  port: number
  /** Whether several processes of this machine share the port. */
  shared: boolean
  /** Whether this host name may have a certificate of its own; UNAVAILABLE when that is unknown. */
  isAllowed: (name: string) => Promise<boolean>
  log: Log
}

const ROUTE = '/internal/tls-allowed'

/** A host name in lower case (RFC 1123, 2.1), of at most 253 characters. */
const HOST_NAME_PATTERN = /^(?=.{1,253}$)(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*$/

const MAX_CONNECTIONS = 1000

/**
 * The on-demand TLS endpoint for proxies on this machine: `GET /internal/tls-allowed?domain=NAME` returns 200
 * when a certificate for the name is useful, 404 when not, 400 for an invalid name, 503 when that is unknown.
 * On the loopback addresses it also checks the Host header, so that a page in a browser cannot reach it through a name
 * of its own (DNS rebinding).
 */
export class OnDemandTlsServer implements AsyncDisposable {
  readonly port: number
  readonly #servers: readonly Server[]

  /** ListenError when the port is not available. */
  static async open(options: OnDemandTlsOptions): Promise<OnDemandTlsServer> {
    const { host, port, shared } = options
    const place = { host, port, shared, setting: 'SLIPWAY_INTERNAL_PORT' }
    return new OnDemandTlsServer(await listenOn(place, () => makeServer(options)))
  }

  private constructor(servers: readonly [Server, ...Server[]]) {
    this.#servers = servers
    this.port = getPort(servers[0])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)))
    for (const server of this.#servers) server.closeAllConnections()
    await Promise.all(closed)
  }
}

function makeServer(options: OnDemandTlsOptions): Server {
  const limits = {
    headersTimeout: 5000,
    requestTimeout: 10_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 8 * 1024,
  }
  const server = http.createServer(limits, (request, response) => {
    void handleRequest(options, request, response)
  })
  server.maxConnections = MAX_CONNECTIONS
  return server
}

async function handleRequest(
  options: OnDemandTlsOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, ...headers } = await authorize(options, request)
  // No request has a body here: it is not read.
  if (!request.complete) response.setHeader('Connection', 'close')
  response.writeHead(status, { 'Cache-Control': 'no-store', 'Content-Length': 0, ...headers }).end()
}

async function authorize(
  { host, isAllowed, log }: OnDemandTlsOptions,
  request: IncomingMessage,
): Promise<{ status: number; [header: string]: string | number }> {
  if (host === 'localhost' && !isLocal(request)) return { status: 403 }
  const { pathname, searchParams } = new URL(`http://localhost${requestPath(request)}`)
  if (pathname !== ROUTE) return { status: 404 }
  if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 405, Allow: 'GET, HEAD' }
  const [domain = '', ...more] = searchParams.getAll('domain')
  const name = domain.toLowerCase().replace(/\.$/, '')
  if (more.length > 0 || !HOST_NAME_PATTERN.test(name)) return { status: 400 }
  try {
    return { status: (await isAllowed(name)) ? 200 : 404 }
  } catch (error) {
    log[error instanceof ApiError ? 'warn' : 'error']('on-demand TLS request failed', {
      name,
      error,
    })
    return { status: 503, 'Retry-After': 1 }
  }
}

function isLocal({ socket, headersDistinct }: IncomingMessage): boolean {
  const hosts = headersDistinct.host ?? []
  return (
    isLoopback(socket.remoteAddress ?? '') &&
    hosts.length === 1 &&
    /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(hosts[0]!)
  )
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}

/** The target with a single leading slash; a URL parser would take a second one for a host. */
function requestPath({ url = '/' }: IncomingMessage): string {
  return url.startsWith('/') && !/^[/\\]{2}/.test(url) ? url : '/'
}
