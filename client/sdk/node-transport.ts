import { setMaxListeners } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Incoming, Outgoing, Payload, Send } from './transport.ts'

interface NodeTransportOptions {
  /** Connections to one host at a time. */
  maxSockets?: number
  /** Give up on a connection that has been silent this long, in milliseconds. */
  idleMs?: number
}

export interface NodeTransport {
  send: Send
  /** Ends the idle connections, so that a server may stop at once. */
  close(): void
}

/** The transport of Node programs: kept-alive connections and streamed bodies over `node:http`. */
export function nodeTransport({
  maxSockets = 32,
  idleMs = 120_000,
}: NodeTransportOptions = {}): NodeTransport {
  const settings = { keepAlive: true, maxSockets, noDelay: true, autoSelectFamily: true, timeout: idleMs }
  const plain = new http.Agent(settings)
  const secure = new https.Agent(settings)
  return {
    send: (request) => exchange(request, request.url.startsWith('https:') ? secure : plain),
    close() {
      plain.destroy()
      secure.destroy()
    },
  }
}

function exchange(request: Outgoing, agent: http.Agent | https.Agent): Promise<Incoming> {
  const { request: open } = agent instanceof https.Agent ? https : http
  // One signal stops many uploads at once; Node would warn about its eleventh listener.
  if (request.signal) setMaxListeners(0, request.signal)
  return new Promise((resolve, reject) => {
    const outgoing = open(request.url, {
      method: request.method,
      headers: withLength(request),
      agent,
      ...(request.signal && { signal: request.signal }),
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error('the connection went silent')))
    outgoing.on('error', reject)
    outgoing.on('response', (message) => {
      // An answer that comes before the whole body is a refusal: sending the rest would be in vain.
      message.on('end', () => outgoing.writableEnded || outgoing.destroy())
      resolve(incoming(message))
    })
    write(outgoing, request.body).catch(reject)
  })
}

function withLength({ headers, body, size }: Outgoing): Record<string, string> {
  const length = lengthOf(body) ?? size
  return length === undefined ? headers : { ...headers, 'Content-Length': String(length) }
}

function lengthOf(body: Payload | undefined): number | undefined {
  if (typeof body === 'string') return Buffer.byteLength(body)
  if (body instanceof Uint8Array) return body.byteLength
  if (body instanceof Blob) return body.size
  return undefined
}

async function write(outgoing: http.ClientRequest, body: Payload | undefined): Promise<void> {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    outgoing.end(body)
    return
  }
  const chunks = body instanceof Blob ? (body.stream() as unknown as AsyncIterable<Uint8Array>) : body
  await pipeline(Readable.from(chunks, { objectMode: false }), outgoing)
}

function incoming(message: http.IncomingMessage): Incoming {
  return {
    status: message.statusCode ?? 0,
    header(name) {
      const value = message.headers[name]
      return (Array.isArray(value) ? value[0] : value) ?? null
    },
    text: () => text(message),
    bytes: () => message,
  }
}

function text(message: http.IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    message.on('data', (chunk) => chunks.push(chunk))
    message.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    message.on('error', reject)
  })
}
