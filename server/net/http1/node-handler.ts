import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ClientTracker } from '../../edge/client-tracker.ts'
import type { Edge, ResultWithBody } from '../../edge/edge.ts'
import type { EdgeRequest } from '../../edge/request.ts'
import { readTarget } from '../../edge/resolve/target.ts'
import {
  BAD_REQUEST,
  METHOD_NOT_ALLOWED,
  PASSWORD_METHOD_NOT_ALLOWED,
  PASSWORD_OPTIONS_RESPONSE,
  PASSWORD_PATH,
  SITE_NOT_FOUND,
} from '../../edge/respond/pages/error-pages.ts'
import type { EdgeResponse, EdgeResult } from '../../edge/response.ts'
import type { RequestHeaders } from '../../edge/visit-headers.ts'
import { sendQueueOf } from '../../lib/send-queue.ts'
import { isTls } from '../is-tls.ts'
import { pipeBody, writableSink } from '../pipe-body.ts'

/** Bytes of an unused body that are read and dropped, so that the connection can continue. */
const MAX_DISCARDED_BODY_BYTES = 2 ** 20

/** A request and its response. */
interface NodeExchange {
  edge: Edge
  request: IncomingMessage
  response: ServerResponse
  siteRequest: EdgeRequest
}

/** Handles a visitor's request that Node's parser has read. Never throws. */
export function handleSiteRequest(edge: Edge, request: IncomingMessage, response: ServerResponse): void {
  const target = readTarget(request)
  const host = request.headers.host ?? ''
  const headers = request.headers as RequestHeaders
  const isSecure = isTls(request.socket)
  const isHead = request.method === 'HEAD'
  const siteRequest = { host, isSecure, target: target ?? { path: '/', query: '' }, headers, isHead }
  const exchange = { edge, request, response, siteRequest }
  if (!target) sendUncounted(exchange, BAD_REQUEST)
  else if (request.method === 'GET' || isHead) serveExchange(exchange)
  else if (request.method === 'POST' && target.path === PASSWORD_PATH)
    void edge.submitPassword(siteRequest, request).then((found) => sendUncounted(exchange, found))
  else if (request.method === 'OPTIONS' && target.path !== PASSWORD_PATH)
    void edge.options(siteRequest).then((found) => sendUncounted(exchange, found))
  else sendUncounted(exchange, methodResponse(request.method, target.path))
}

/** The response to any other method. */
function methodResponse(method: string | undefined, path: string): EdgeResponse {
  if (path !== PASSWORD_PATH) return METHOD_NOT_ALLOWED
  return method === 'OPTIONS' ? PASSWORD_OPTIONS_RESPONSE : PASSWORD_METHOD_NOT_ALLOWED
}

function serveExchange(exchange: NodeExchange): void {
  const result = exchange.edge.respond(exchange.siteRequest)
  if (result === undefined) sendUncounted(exchange, SITE_NOT_FOUND)
  else if (result instanceof Promise) void result.then((later) => fetchAndSend(exchange, later))
  else fetchAndSend(exchange, result)
}

function fetchAndSend(exchange: NodeExchange, result: EdgeResult): void {
  const { content } = result.response
  const bytes = content && exchange.edge.peek(content)
  if (!content || bytes || exchange.siteRequest.isHead) send(exchange, result, bytes)
  else void openBody(exchange, result).then((found) => found && stream(exchange, found))
}

/** Pipelined requests may arrive all at once; their files are opened one after another, as they are sent. */
async function openBody(
  { edge, siteRequest, response }: NodeExchange,
  result: EdgeResult,
): Promise<ResultWithBody | undefined> {
  if (!response.socket && !response.destroyed) await once(response, 'socket').catch(() => undefined)
  const memory = sendQueueOf(response.socket)?.reserve()
  return response.destroyed ? undefined : edge.withBody(siteRequest, result, memory)
}

function stream(exchange: NodeExchange, result: ResultWithBody): void {
  const { edge, siteRequest, request, response } = exchange
  const { response: found, body } = result
  if (body === undefined || Buffer.isBuffer(body)) return void send(exchange, result, body)
  if (response.destroyed) return void body.close()
  edge.count(siteRequest, result, new ClientTracker(request.socket))
  response.writeHead(found.status, headersFor(request, found))
  void pipeBody(body, writableSink(response, sendQueueOf(response.socket)), (error) =>
    edge.reportCorruptBlob(siteRequest, found.content!, error),
  ).then((isWhole) => isWhole && response.end())
}

function sendUncounted(exchange: NodeExchange, response: EdgeResponse): void {
  send(exchange, { response, visit: undefined })
}

function send(
  { edge, siteRequest, request, response }: NodeExchange,
  result: EdgeResult,
  body = result.response.body,
): void {
  if (response.destroyed || (request.destroyed && !request.complete)) return
  edge.count(siteRequest, result, new ClientTracker(request.socket))
  response.writeHead(result.response.status, headersFor(request, result.response))
  if (body && request.method !== 'HEAD') response.end(body)
  else response.end()
}

/** A long unused body closes the connection instead of being read. */
function headersFor(request: IncomingMessage, { headers }: EdgeResponse): string[] {
  const lines = headers as string[]
  return !request.complete && hasLongBody(request) ? [...lines, 'Connection', 'close'] : lines
}

function hasLongBody({ headers }: IncomingMessage): boolean {
  return (
    headers['transfer-encoding'] !== undefined ||
    Number(headers['content-length'] ?? 0) > MAX_DISCARDED_BODY_BYTES
  )
}
