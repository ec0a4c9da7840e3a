import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { findSendQueue } from '../clients/send-queue.ts'
import { CountedResponse } from '../counted-response.ts'
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
  HttpResult,
  RequestHeaders,
  ResultWithBody,
} from '../http-handler.ts'
import { isTls } from '../is-tls.ts'
import type { Log } from '../log.ts'
import { pipeBody, writableSink } from '../pipe-body.ts'
import { readTarget } from '../request-target.ts'

interface Exchange {
  handler: HttpHandler
  httpRequest: HttpRequest
  request: IncomingMessage
  response: ServerResponse
}

/** Handles a request that Node's parser has read. Never throws: an error of the handler ends the connection. */
export function handleNodeRequest(
  handler: HttpHandler,
  request: IncomingMessage,
  response: ServerResponse,
  log?: Log,
): void {
  const target = readTarget(request)
  const isHead = request.method === 'HEAD'
  const isRead = request.method === 'GET' || isHead
  const httpRequest = {
    host: request.headers.host ?? '',
    isSecure: isTls(request.socket),
    target: target ?? { path: '/', query: '' },
    headers: request.headers as RequestHeaders,
    socket: request.socket,
    isHead,
    ...(isRead ? {} : { method: request.method ?? '' }),
  }
  if (response instanceof CountedResponse) response.allowsHalfClose = true
  const exchange = { handler, httpRequest, request, response }
  if (!target) sendUncounted(exchange, handler.errorResponse(400))
  else
    serveExchange(exchange).catch((error: unknown) => {
      log?.error('HTTP/1 request failed', { error })
      request.socket.destroy()
    })
}

async function serveExchange(exchange: Exchange): Promise<void> {
  const { handler, httpRequest, request } = exchange
  if (httpRequest.method !== undefined)
    return sendUncounted(exchange, await handler.respondToMethod(httpRequest, request))
  const result = handler.respond(httpRequest)
  if (result === undefined) return sendUncounted(exchange, handler.errorResponse(404))
  return fetchAndSend(exchange, result instanceof Promise ? await result : result)
}

async function fetchAndSend(exchange: Exchange, result: HttpResult): Promise<void> {
  const { handler, httpRequest, response } = exchange
  const body = handler.peekBody(result.response)
  if (!result.response.content || body || httpRequest.isHead) return send(exchange, result, body)
  // Pipelined requests may arrive together; their files are opened one after another, as they are sent.
  if (!response.socket && !response.destroyed) await once(response, 'socket').catch(() => undefined)
  using memory = findSendQueue(response.socket)?.reserve()
  if (!response.destroyed) await stream(exchange, await handler.openBody(httpRequest, result, memory))
}

async function stream(exchange: Exchange, result: ResultWithBody): Promise<void> {
  const { response } = exchange
  const { body } = result
  if (body === undefined || Buffer.isBuffer(body)) return send(exchange, result, body)
  if (response.destroyed) return body.close()
  sendHead(exchange, result)
  const sink = writableSink(response, findSendQueue(response.socket))
  if (await pipeBody(body, sink)) response.end()
}

function sendUncounted(exchange: Exchange, response: HttpResponse): void {
  send(exchange, { response }, response.body)
}

function send(exchange: Exchange, result: HttpResult, body: Buffer | undefined): void {
  const { request, response } = exchange
  if (response.destroyed || (request.destroyed && !request.complete)) return
  sendHead(exchange, result)
  if (body && request.method !== 'HEAD') response.end(body)
  else response.end()
}

function sendHead({ handler, httpRequest, request, response }: Exchange, result: HttpResult): void {
  handler.count(httpRequest, result, handler.trackClient(request.socket))
  response.writeHead(result.response.status, result.response.headers as string[])
}
