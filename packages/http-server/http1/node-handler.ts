import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { findSendQueue } from '../clients/send-queue.ts'
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
  HttpResult,
  RequestHeaders,
  ResultWithBody,
} from '../http-handler.ts'
import { isTls } from '../is-tls.ts'
import { pipeBody, writableSink } from '../pipe-body.ts'
import { readTarget } from '../request-target.ts'

interface Exchange {
  handler: HttpHandler
  httpRequest: HttpRequest
  request: IncomingMessage
  response: ServerResponse
}

/** Handles a request that Node's parser has read. Never throws. */
export function handleNodeRequest(
  handler: HttpHandler,
  request: IncomingMessage,
  response: ServerResponse,
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
  const exchange = { handler, httpRequest, request, response }
  if (!target) sendUncounted(exchange, handler.errorResponse(400))
  else if (isRead) serveExchange(exchange)
  else void handler.respondToMethod(httpRequest, request).then((found) => sendUncounted(exchange, found))
}

function serveExchange(exchange: Exchange): void {
  const { handler, httpRequest } = exchange
  const result = handler.respond(httpRequest)
  if (result === undefined) sendUncounted(exchange, handler.errorResponse(404))
  else if (result instanceof Promise) void result.then((later) => fetchAndSend(exchange, later))
  else fetchAndSend(exchange, result)
}

function fetchAndSend(exchange: Exchange, result: HttpResult): void {
  const { response } = result
  const body = exchange.handler.peekBody(response)
  if (!response.content || body || exchange.httpRequest.isHead) send(exchange, result, body)
  else void openBody(exchange, result).then((found) => found && stream(exchange, found))
}

/** Pipelined requests may arrive together; their files are opened one after another, as they are sent. */
async function openBody(
  { handler, httpRequest, response }: Exchange,
  result: HttpResult,
): Promise<ResultWithBody | undefined> {
  if (!response.socket && !response.destroyed) await once(response, 'socket').catch(() => undefined)
  const memory = findSendQueue(response.socket)?.reserve()
  return response.destroyed ? undefined : handler.openBody(httpRequest, result, memory)
}

function stream(exchange: Exchange, result: ResultWithBody): void {
  const { response } = exchange
  const { body } = result
  if (body === undefined || Buffer.isBuffer(body)) return void send(exchange, result, body)
  if (response.destroyed) return void body.close()
  sendHead(exchange, result)
  const sink = writableSink(response, findSendQueue(response.socket))
  void pipeBody(body, sink).then((isWhole) => isWhole && response.end())
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
