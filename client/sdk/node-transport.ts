import { setMaxListeners } from 'node:events'
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import type https from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describeConnectionError } from './connection-error.ts'
import { http, loadHttps } from './node-http.ts'
import { describeRefusal, forwardThrough, type ProxyFor, proxyError } from './proxy.ts'
import type { HttpRequest, HttpResponse, RequestBody, Transport } from './transport.ts'

export interface NodeTransportOptions {
  /** Concurrent connections to one host. */
  maxSockets?: number
  /** Idle time-out of a connection in milliseconds. */
  idleMs?: number
  /** Time-out of the opening of a connection in milliseconds. */
  openMs?: number
  /** By default every server is reached directly. */
  proxyFor?: ProxyFor
}

export interface NodeTransport {
  send: Transport
  /** Closes idle connections, so that a server can stop immediately. */
  close(): void
}

/**
 * Time after which another address of a host is tried in milliseconds. Node ends the first attempt then: with its default of
 * 250, a distant host is unreachable when the family of its last address is.
 */
const ADDRESS_TIMEOUT_MS = 1500

/** The transport for Node: keep-alive connections and streamed bodies over `node:http`. */
export function nodeTransport({
  maxSockets = 32,
  idleMs = 120_000,
  openMs = 20_000,
  proxyFor = () => undefined,
}: NodeTransportOptions = {}): NodeTransport {
  const settings = {
    ...{ keepAlive: true, maxSockets, noDelay: true, timeout: idleMs },
    ...{ autoSelectFamily: true, autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS },
  }
  const agents = new Map<string, Agent>()
  const getAgent = (key: string, create: () => Agent) => {
    const agent = agents.get(key) ?? create()
    agents.set(key, agent)
    return agent
  }
  const getPlain = () => getAgent('plain', () => new http.Agent(settings))
  const getSecure = () => getAgent('secure', () => new (loadHttps().Agent)(settings))
  const plain = () => ({ agent: getPlain(), client: http, openMs, idleMs, opened: 'connect' }) as const
  const secure = () =>
    ({ agent: getSecure(), client: loadHttps(), openMs, idleMs, opened: 'secureConnect' }) as const
  return {
    async send(request) {
      const proxy = proxyFor(request.url)
      if (!request.url.startsWith('https:'))
        return exchange(request, { ...(proxy?.protocol === 'https:' ? secure() : plain()), forwarder: proxy })
      if (!proxy) return exchange(request, secure())
      const { TunnelAgent } = await import('./tunnel-agent.ts')
      const agent = getAgent(proxy.href, () => new TunnelAgent(proxy, settings))
      return exchange(request, { ...secure(), agent })
    },
    close() {
      for (const agent of agents.values()) agent.destroy()
    },
  }
}

interface Route {
  agent: Agent
  client: typeof http | typeof https
  openMs: number
  idleMs: number
  /** The event of a socket that is open. */
  opened: 'connect' | 'secureConnect'
  /** The proxy that receives the request itself. */
  forwarder?: URL | undefined
}

/** Maximum size of a response that is read as a whole, in bytes: no server can use up the memory. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024

const REPEATABLE_METHODS = new Set(['GET', 'HEAD', 'PUT'])

function exchange(request: HttpRequest, route: Route): Promise<HttpResponse> {
  const { agent, client, openMs, idleMs, opened, forwarder } = route
  const forward = forwarder && forwardThrough(forwarder, request.url)
  // One signal aborts many uploads; Node would warn about its eleventh listener.
  if (request.signal) setMaxListeners(0, request.signal)
  return new Promise((resolve, reject) => {
    const options = {
      ...forward,
      method: request.method,
      headers: { ...withContentLength(request), ...forward?.headers },
      agent,
      ...(request.signal && { signal: request.signal }),
    }
    const outgoing = forward ? client.request(options) : client.request(request.url, options)
    let isOpening = false
    outgoing.on('socket', (socket) => {
      if (outgoing.reusedSocket || !socket.connecting) return
      isOpening = true
      socket.setTimeout(openMs)
      socket.once(opened, () => {
        isOpening = false
        socket.setTimeout(idleMs)
      })
    })
    outgoing.on('timeout', () =>
      outgoing.destroy(new Error(isOpening ? 'it was not accepted in time' : 'the connection timed out')),
    )
    let isAnswered = false
    outgoing.on('error', (error) => {
      // Each repetition uses up an idle connection, or the one attempt over a new one.
      if (!isAnswered && isClosedWhileIdle(outgoing, error) && isRepeatable(request))
        return resolve(exchange(request, route))
      reject(forwarder ? proxyError(forwarder, `failed: ${describeConnectionError(error)}`) : error)
    })
    // After a response of another kind, such as 101, Node reports neither a response nor an error.
    outgoing.on('close', () => reject(new Error('the connection was closed without a response')))
    outgoing.on('response', (message) => {
      isAnswered = true
      if (forwarder && message.statusCode === 407) {
        outgoing.destroy()
        return reject(proxyError(forwarder, describeRefusal(407)))
      }
      // A response before the end of the body is an error: the rest need not be sent.
      message.on('end', () => outgoing.writableEnded || outgoing.destroy())
      resolve(toHttpResponse(message))
    })
    writeBody(outgoing, request.body).catch(reject)
  })
}

/** Whether the server may have closed a kept connection before it received the request, as it does when it stops. */
function isClosedWhileIdle({ reusedSocket }: ClientRequest, { code }: NodeJS.ErrnoException): boolean {
  return reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')
}

/** Whether a second request has the effect of one. Uploads of bytes are repeated by their caller. */
function isRepeatable({ method, body }: HttpRequest): boolean {
  return REPEATABLE_METHODS.has(method) && (body === undefined || typeof body === 'string')
}

function withContentLength({ headers, body, size }: HttpRequest): Record<string, string> {
  const length = bodyLength(body) ?? size
  return length === undefined ? headers : { ...headers, 'Content-Length': String(length) }
}

function bodyLength(body: RequestBody | undefined): number | undefined {
  if (typeof body === 'string') return Buffer.byteLength(body)
  if (body instanceof Uint8Array) return body.byteLength
  if (body instanceof Blob) return body.size
  return undefined
}

async function writeBody(outgoing: ClientRequest, body: RequestBody | undefined): Promise<void> {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    outgoing.end(body)
    return
  }
  const chunks = body instanceof Blob ? (body.stream() as unknown as AsyncIterable<Uint8Array>) : body
  await pipeline(Readable.from(chunks, { objectMode: false }), outgoing)
}

function toHttpResponse(message: IncomingMessage): HttpResponse {
  return {
    status: message.statusCode ?? 0,
    header(name) {
      const value = message.headers[name]
      return (Array.isArray(value) ? value[0] : value) ?? null
    },
    text: () => readMessage(message),
    bytes: () => message,
  }
}

function readMessage(message: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    message.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > MAX_TEXT_BYTES) message.destroy(new Error('the response is too long'))
    })
    message.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    message.on('error', reject)
  })
}
