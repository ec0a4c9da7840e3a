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
import { Visitor } from '../visitor.ts'
import { isEncrypted } from './encrypted.ts'
import { pour } from './pour.ts'

/** Bytes of a body without use that are read and dropped, so that the connection can go on. */
const MOST_DROPPED = 2 ** 20

/** One request and what is to become of it. */
interface Visit {
  edge: Edge
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
  const head = request.method === 'HEAD'
  const asked = { host, secure, target: target ?? { path: '/', query: '' }, headers, head }
  const visit = { edge, request, response, asked }
  if (!target) send(visit, MALFORMED)
  else if (request.method === 'GET' || head) serve(visit)
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

function serve(visit: Visit): void {
  const answer = visit.edge.answer(visit.asked) ?? NO_SITE
  if (answer instanceof Promise) void answer.then((later) => fetchAndSend(visit, later))
  else fetchAndSend(visit, answer)
}

function fetchAndSend(visit: Visit, answer: Answer): void {
  const { content } = answer
  const bytes = content && visit.edge.warm(content)
  if (!content || bytes || visit.asked.head) send(visit, answer, bytes)
  else void open(visit, answer).then((delivery) => delivery && stream(visit, delivery))
}

/** Requests may come all at once on one connection; their files are opened one after another, as they are sent. */
async function open({ edge, asked, response }: Visit, answer: Answer): Promise<Delivery | undefined> {
  if (!response.socket && !response.destroyed) await once(response, 'socket').catch(() => undefined)
  return response.destroyed ? undefined : edge.deliver(asked, answer)
}

function stream(visit: Visit, { answer, body }: Delivery): void {
  const { edge, asked, request, response } = visit
  if (body === undefined || Buffer.isBuffer(body)) return void send(visit, answer, body)
  if (response.destroyed) return void body.close()
  edge.count(asked, answer, new Visitor(request.socket))
  response.writeHead(answer.status, headersFor(request, answer))
  pour(body, response)
    .then((whole) => whole && response.end())
    .catch((error: unknown) => {
      edge.damaged(asked, answer.content!, error)
      response.destroy()
    })
}

function send({ edge, asked, request, response }: Visit, answer: Answer, body = answer.body): void {
  if (response.destroyed || (request.destroyed && !request.complete)) return
  edge.count(asked, answer, new Visitor(request.socket))
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
