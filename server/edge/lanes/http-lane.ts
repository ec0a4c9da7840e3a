import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Answer } from '../answer.ts'
import type { Asked, VisitHeaders } from '../asked.ts'
import type { Delivery, Edge } from '../edge.ts'
import {
  MALFORMED,
  NO_SITE,
  NOT_ALLOWED,
  PASSWORD_NOT_ALLOWED,
  PASSWORD_OPTIONS,
  PASSWORD_PATH,
} from '../pages/pages.ts'
import { readTarget } from '../target.ts'
import { isEncrypted } from './encrypted.ts'
import { pour } from './pour.ts'

/** Bytes of a body without use that are read and dropped, so that the connection can go on. */
const MOST_DROPPED = 2 ** 20

/** One request and what is to become of it. */
interface Visit {
  request: IncomingMessage
  response: ServerResponse
  asked: Asked
}

/** Answers a request of a visitor that Node's parser has read. Never throws. */
export function serveVisit(edge: Edge, request: IncomingMessage, response: ServerResponse): void {
  const target = readTarget(request)
  const host = request.headers.host ?? ''
  const headers = request.headers as VisitHeaders
  const secure = isEncrypted(request.socket)
  const asked = { host, secure, target: target ?? { path: '/', query: '' }, headers }
  const visit = { request, response, asked }
  if (!target) send(visit, MALFORMED)
  else if (request.method === 'GET' || request.method === 'HEAD') serve(edge, visit)
  else if (request.method === 'POST' && target.path === PASSWORD_PATH)
    void edge.guess(asked, request).then((answer) => send(visit, answer))
  else if (request.method === 'OPTIONS' && target.path !== PASSWORD_PATH)
    void edge.options(asked).then((answer) => send(visit, answer))
  else send(visit, otherwise(request.method, target.path))
}

/** What every other method gets. */
function otherwise(method: string | undefined, path: string): Answer {
  if (path !== PASSWORD_PATH) return NOT_ALLOWED
  return method === 'OPTIONS' ? PASSWORD_OPTIONS : PASSWORD_NOT_ALLOWED
}

function serve(edge: Edge, visit: Visit): void {
  const answer = edge.answer(visit.asked) ?? NO_SITE
  if (answer instanceof Promise) void answer.then((later) => fetchAndSend(edge, visit, later))
  else fetchAndSend(edge, visit, answer)
}

function fetchAndSend(edge: Edge, visit: Visit, answer: Answer): void {
  const { content } = answer
  const bytes = content && edge.warm(content)
  if (!content || bytes || visit.request.method === 'HEAD') send(visit, answer, bytes)
  else void open(edge, visit, answer).then((delivery) => delivery && stream(edge, visit, delivery))
}

/** Requests may come all at once on one connection; their files are opened one after another, as they are sent. */
async function open(edge: Edge, { asked, response }: Visit, answer: Answer): Promise<Delivery | undefined> {
  if (!response.socket && !response.destroyed) await once(response, 'socket').catch(() => undefined)
  return response.destroyed ? undefined : edge.deliver(asked, answer)
}

function stream(edge: Edge, visit: Visit, { answer, body }: Delivery): void {
  const { asked, request, response } = visit
  if (body === undefined || Buffer.isBuffer(body)) return void send(visit, answer, body)
  if (response.destroyed) return void body.close()
  response.writeHead(answer.status, headersFor(request, answer))
  pour(body, response)
    .then((whole) => whole && response.end())
    .catch((error: unknown) => {
      edge.damaged(asked, answer.content!, error)
      response.destroy()
    })
}

function send({ request, response }: Visit, answer: Answer, body = answer.body): void {
  if (response.destroyed || (request.destroyed && !request.complete)) return
  response.writeHead(answer.status, headersFor(request, answer))
  if (body && request.method !== 'HEAD') response.end(body)
  else response.end()
}

/** A long body that nobody reads ends the connection: it is not ours to take in. */
function headersFor(request: IncomingMessage, { headers }: Answer): string[] {
  const lines = headers as string[]
  return !request.complete && hasLongBody(request) ? [...lines, 'Connection', 'close'] : lines
}

function hasLongBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > MOST_DROPPED
}
