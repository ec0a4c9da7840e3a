import { once } from 'node:events'
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import { buffer } from 'node:stream/consumers'
import { listen } from '../support/listen.ts'

/** What happens to a request in place of the plain exchange. */
export type S3Fault =
  /** 503 SlowDown; nothing is done. */
  | 'slow-down'
  /** 403 InvalidAccessKeyId; nothing is done. */
  | 'deny'
  /** The connection is reset before anything is done. */
  | 'reset'
  /** The request is done, and the connection reset in place of the response. */
  | 'lose-response'
  /** The response has half of its body. */
  | 'cut-body'
  /** One bit of the response's body is turned. */
  | 'turn-bit'
  /** One bit of the request's body is turned. */
  | 'turn-request-bit'
  /** The response is that of a success, and nothing is done. */
  | 'pretend'
  /** No response, and the connection stays open. */
  | 'silence'

export interface ProxiedRequest {
  method: string
  /** With the query. */
  path: string
  headers: IncomingHttpHeaders
}

/** A proxy in front of an S3 server, for faults. */
export interface S3Proxy extends AsyncDisposable {
  endpoint: string
  /** All requests since `requests` was emptied, in order. */
  requests: ProxiedRequest[]
  /** The fault of a request, by default none. */
  fault: (request: ProxiedRequest) => S3Fault | undefined
  /** Bytes of request bodies that were forwarded. */
  forwardedBytes: number
}

const REFUSALS: Partial<Record<S3Fault, { status: number; code: string }>> = {
  'slow-down': { status: 503, code: 'SlowDown' },
  deny: { status: 403, code: 'InvalidAccessKeyId' },
}

export async function startS3Proxy(endpoint: string): Promise<S3Proxy> {
  const agent = new Agent({ keepAlive: true })
  const server = createServer()
  const proxy: S3Proxy = {
    endpoint: '',
    requests: [],
    fault: () => undefined,
    forwardedBytes: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      agent.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  const handle = (incoming: IncomingMessage, response: ServerResponse) => {
    const { method = '', url: path = '', headers } = incoming
    const proxied = { method, path, headers }
    proxy.requests.push(proxied)
    const fault = proxy.fault(proxied)
    if (fault === 'silence') return
    if (fault === 'reset') return void incoming.socket.resetAndDestroy()
    const refusal = fault && REFUSALS[fault]
    if (refusal) {
      const body = `<?xml version="1.0"?><Error><Code>${refusal.code}</Code><Message>No</Message></Error>`
      incoming.resume()
      response.writeHead(refusal.status, { 'content-type': 'application/xml', 'content-length': body.length })
      return void response.end(body)
    }
    if (fault === 'pretend') return void incoming.resume().on('end', () => response.end())
    if (headers.expect !== undefined) response.writeContinue()
    forward(incoming, response, fault).catch(() => incoming.socket.destroy())
  }
  async function forward(
    incoming: IncomingMessage,
    response: ServerResponse,
    fault?: S3Fault,
  ): Promise<void> {
    const { expect: _, ...headers } = incoming.headers
    const outgoing = request(`${endpoint}${incoming.url}`, { method: incoming.method!, headers, agent })
    const arrival = once(outgoing, 'response') as Promise<[IncomingMessage]>
    arrival.catch(() => undefined)
    incoming.on('aborted', () => outgoing.destroy())
    let turned = fault !== 'turn-request-bit'
    // The server may respond before the end of the body, and then accepts no more of it.
    let isAnswered = false
    outgoing.on('response', () => {
      isAnswered = true
    })
    outgoing.on('error', () => undefined)
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      if (isAnswered) continue
      if (!turned) chunk[0]! ^= 1
      turned = true
      proxy.forwardedBytes += chunk.length
      if (!outgoing.write(chunk)) await Promise.race([once(outgoing, 'drain'), arrival])
    }
    outgoing.end()
    const [answer] = await arrival
    const body = await buffer(answer)
    if (fault === 'lose-response') return void incoming.socket.resetAndDestroy()
    if (fault === 'turn-bit' && body.length > 0) body[body.length >> 1]! ^= 1
    const { 'transfer-encoding': _chunked, ...answered } = answer.headers
    response.writeHead(answer.statusCode!, { ...answered, 'content-length': body.length })
    if (fault !== 'cut-body') return void response.end(body)
    response.write(body.subarray(0, body.length >> 1))
    response.flushHeaders()
    setImmediate(() => response.destroy())
  }
  server.on('request', handle)
  server.on('checkContinue', handle)
  proxy.endpoint = `http://127.0.0.1:${await listen(server)}`
  return proxy
}
