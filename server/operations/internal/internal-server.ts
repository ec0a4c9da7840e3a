import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { http } from '../../../packages/http-server/node-http.ts'
import { getPort, listenOn } from '../../../packages/http-server/ports.ts'
import { openPort } from '../../config/open-port.ts'
import { Component } from '../../lib/component.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'

export interface InternalResponse {
  status: number
  headers?: Readonly<Record<string, string>>
  body?: string
}

/** Handles the requests of a path. An error is logged, and the response is 503. */
export type InternalRoute = (query: URLSearchParams) => Promise<InternalResponse>

interface InternalServerOptions {
  /** `localhost` admits this machine only; another address admits every client that reaches it. */
  host: string
  port: number
  shared: boolean
  routes: Readonly<Record<string, InternalRoute>>
  log: Log
}

const MAX_CONNECTIONS = 1000

const MAX_DRAIN_MS = 2000

/**
 * Serves programs of the operator on a port of its own: proxies and monitoring. On the loopback addresses it also checks
 * the Host header, so that a page in a browser cannot reach it through a name of its own (DNS rebinding).
 */
export class InternalServer
  extends Component<{ servers: readonly [Server, ...Server[]] }>
  implements AsyncDisposable
{
  readonly port = getPort(this.parts.servers[0])

  /** ListenError when the port or a descriptor is not available. */
  static async open(options: InternalServerOptions): Promise<InternalServer> {
    const { host, port, shared } = options
    const opening = listenOn({ host, port, shared }, () => makeServer(options))
    return new InternalServer({ servers: await openPort('SLIPWAY_INTERNAL_PORT', opening) })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { servers } = this.parts
    const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)))
    for (const server of servers) server.closeIdleConnections()
    const timeout = setTimeout(() => {
      for (const server of servers) server.closeAllConnections()
    }, MAX_DRAIN_MS)
    await Promise.all(closed)
    clearTimeout(timeout)
  }
}

function makeServer(options: InternalServerOptions): Server {
  const limits = {
    headersTimeout: 5000,
    requestTimeout: 10_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 8 * 1024,
  }
  const server = http.createServer(limits, (request, response) => {
    void handleRequest(options, request, response, server.listening)
  })
  server.maxConnections = MAX_CONNECTIONS
  return server
}

async function handleRequest(
  options: InternalServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  isListening: boolean,
): Promise<void> {
  const { status, headers, body = '' } = await respond(options, request)
  // No request has a body here: it is not read.
  if (!request.complete || !isListening) response.setHeader('Connection', 'close')
  const length = Buffer.byteLength(body)
  response.writeHead(status, { 'Cache-Control': 'no-store', 'Content-Length': length, ...headers }).end(body)
}

async function respond(
  { host, routes, log }: InternalServerOptions,
  request: IncomingMessage,
): Promise<InternalResponse> {
  if (host === 'localhost' && !isLocal(request)) return { status: 403 }
  const { pathname, searchParams } = new URL(`http://localhost${requestPath(request)}`)
  const route = Object.hasOwn(routes, pathname) ? routes[pathname] : undefined
  if (!route) return { status: 404 }
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return { status: 405, headers: { Allow: 'GET, HEAD' } }
  try {
    return await route(searchParams)
  } catch (error) {
    log[error instanceof ApiError ? 'warn' : 'error']('internal request failed', { path: pathname, error })
    return { status: 503, headers: { 'Retry-After': '1' } }
  }
}

function isLocal({ socket, headersDistinct }: IncomingMessage): boolean {
  const hosts = headersDistinct.host ?? []
  return (
    /^(::1$|(::ffff:)?127\.)/.test(socket.remoteAddress ?? '') &&
    hosts.length === 1 &&
    /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(hosts[0]!)
  )
}

/** The target with a single leading slash; a URL parser would take a second one for a host. */
function requestPath({ url = '/' }: IncomingMessage): string {
  return url.startsWith('/') && !/^[/\\]{2}/.test(url) ? url : '/'
}
