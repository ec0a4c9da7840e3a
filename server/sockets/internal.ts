import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Failure } from '../failure.ts'
import type { Log } from '../log.ts'
import { listenOn, portOf } from './ports.ts'

interface InternalOptions {
  port: number
  /** Whether several processes of this machine listen there. */
  shared: boolean
  /** Whether this host name may have a certificate of its own; UNAVAILABLE when nobody can say. */
  allows: (name: string) => Promise<boolean>
  log: Log
}

const ROUTE = '/internal/tls-allowed'

/** A host name in lower case (RFC 1123, 2.1), of at most 253 characters. */
const NAME = /^(?=.{1,253}$)(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*$/

const MOST_CONNECTIONS = 1000

/**
 * The door for proxies on this machine: `GET /internal/tls-allowed?domain=NAME` is 200 when a certificate for the name is of
 * use, 404 when not, 400 when it is no name, 503 when nobody can say. It listens on the loopback addresses only, and answers
 * only who calls it by one: no page of a browser can get here by a name of its own (DNS rebinding).
 */
export class InternalDoor implements AsyncDisposable {
  readonly port: number
  readonly #servers: readonly Server[]

  /** ListenError when the port cannot be had. */
  static async open(options: InternalOptions): Promise<InternalDoor> {
    const { port, shared } = options
    const place = { host: 'localhost', port, shared, setting: 'SLIPWAY_INTERNAL_PORT' }
    return new InternalDoor(await listenOn(place, () => makeServer(options)))
  }

  private constructor(servers: readonly [Server, ...Server[]]) {
    this.#servers = servers
    this.port = portOf(servers[0])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)))
    for (const server of this.#servers) server.closeAllConnections()
    await Promise.all(closed)
  }
}

function makeServer(options: InternalOptions): Server {
  const limits = {
    headersTimeout: 5000,
    requestTimeout: 10_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 8 * 1024,
  }
  const server = createServer(limits, (request, response) => {
    void answer(options, request, response)
  })
  server.maxConnections = MOST_CONNECTIONS
  return server
}

async function answer(
  options: InternalOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, ...headers } = await decide(options, request)
  // Nobody sends a body here: what is left of one is not read.
  if (!request.complete) response.setHeader('Connection', 'close')
  response.writeHead(status, { 'Cache-Control': 'no-store', 'Content-Length': 0, ...headers }).end()
}

async function decide(
  { allows, log }: InternalOptions,
  request: IncomingMessage,
): Promise<{ status: number; [header: string]: string | number }> {
  if (!isLocal(request)) return { status: 403 }
  const { pathname, searchParams } = new URL(`http://localhost${pathOf(request)}`)
  if (pathname !== ROUTE) return { status: 404 }
  if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 405, Allow: 'GET, HEAD' }
  const [domain = '', ...more] = searchParams.getAll('domain')
  const name = domain.toLowerCase().replace(/\.$/, '')
  if (more.length > 0 || !NAME.test(name)) return { status: 400 }
  try {
    return { status: (await allows(name)) ? 200 : 404 }
  } catch (error) {
    log[error instanceof Failure ? 'warn' : 'error']('a proxy could not be told about a name', {
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

/** The target without a second slash at its beginning, which a URL would take for a host. */
function pathOf({ url = '/' }: IncomingMessage): string {
  return url.startsWith('/') && !/^[/\\]{2}/.test(url) ? url : '/'
}
