import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { rateLimitSubnet } from '../../../packages/http-server/clients/client-ip.ts'
import { type ProgramScope, scopesUpTo } from '../../../protocol/api/programs.ts'
import { accepts } from '../../edge/respond/negotiation.ts'
import { ConcurrencyLimiter } from '../../lib/concurrency-limiter.ts'
import { ApiError, invalidField } from '../../lib/errors.ts'
import { MINUTE_MS, SECOND_MS } from '../../lib/time.ts'
import type { Services } from '../../services.ts'
import { charge, recognizeForeignPages } from '../auth.ts'
import { reportError } from '../errors.ts'
import { answerPreflights, methodError } from '../unrouted.ts'
import { withToolHint } from './internal-client.ts'
import { MCP_ACCOUNT_PATH, MCP_PATH, resourceMetadataUrl } from './resource.ts'
import { MAX_INLINE_BYTES } from './tool.ts'
import type { Exchange, ToolServer, ToolServerOptions } from './tool-server.ts'

/** The largest call: base64 is longer by a third, and JSON escapes quotes and ends of lines. */
const MAX_BODY_BYTES = 2 * MAX_INLINE_BYTES

/** What a call has changed stays changed. */
const MAX_CALL_MS = MINUTE_MS

const MAX_CONCURRENT_CALLS = { total: 64, perKey: 8 }

const JSON_TYPE = 'application/json'

interface McpOptions extends ToolServerOptions, Pick<Services, 'telemetry' | 'limits'> {
  anonymousBodyLimit: number
}

/**
 * Streamable HTTP, without sessions: every node of a fleet handles every message. A call of a tool calls routes of the
 * API, which authorize, charge and validate it. Each message is charged before its body is read. The second path
 * refuses everything without a token, for clients that otherwise never sign in.
 */
export async function mcp(app: FastifyInstance, options: McpOptions): Promise<void> {
  const { baseUrl, anonymousBodyLimit } = options
  const handler = withOwnPages(baseUrl, messageHandler(options))
  // Its own response refuses pages from outside, also with a token.
  const pages = { foreignPages: true } as const
  const config = { access: 'any', charge: 'message', programs: true, ...pages, anonymousBodyLimit } as const
  for (const path of [MCP_PATH, MCP_ACCOUNT_PATH]) {
    const hooks = {
      onSend: async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
        if (reply.statusCode === 401 && !reply.hasHeader('WWW-Authenticate'))
          reply.header('WWW-Authenticate', challenge(request, baseUrl))
        return payload
      },
      errorHandler: (error: Error) => {
        throw error instanceof ApiError ? withToolHint(error) : error
      },
    }
    const auth = path === MCP_PATH ? 'optional' : 'required'
    const route = { ...hooks, config: { ...config, auth } } as const
    for (const url of [path, `${path}/`]) {
      app.route({ ...route, method: 'POST', url, bodyLimit: MAX_BODY_BYTES, handler })
      answerPreflights(app, url, () => 'POST')
      const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
        throw methodError(request, reply, 'POST')
      }
      app.route({ ...route, method: ['GET', 'DELETE'], url, onRequest, handler: () => undefined })
    }
  }
}

function messageHandler(options: McpOptions): RouteHandlerMethod {
  const limiter = new ConcurrencyLimiter(MAX_CONCURRENT_CALLS)
  let opening: Promise<ToolServer> | undefined
  return async (request, reply) => {
    const { caller, body } = request
    const messages = readMessages(request)
    // A service that no program calls does not need the tools and the library of the protocol.
    opening ??= import('./tool-server.ts').then(({ openToolServer }) => openToolServer(options))
    const server = await opening
    const askForToken = (tool: unknown) =>
      reply.header('WWW-Authenticate', challenge(request, options.baseUrl, { scope: server.scopeOf(tool) }))
    const refused = caller.account ? undefined : messages.map(calledTool).find(server.needsAccount)
    if (refused !== undefined) {
      askForToken(refused)
      throw new ApiError('UNAUTHORIZED', `${refused} needs an account`)
    }
    using call = beginCall(reply)
    const handle = async (message: unknown) => {
      const { rest, args } = withoutArguments(message)
      const exchange: Exchange = { request, args, signal: call.signal }
      const webRequest = toWebRequest(request, options.baseUrl, call.signal)
      const response = await server.handle(webRequest, rest, exchange)
      // The stream of a response ends after the call.
      const text = await response.text()
      // The library does not answer a call that has ended.
      if (text === '') call.assertInTime()
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
      return { status: response.status, text: isStream ? eventData(text) : text, missing: exchange.missing }
    }
    return await limiter.run(caller.account?.id ?? rateLimitSubnet(caller.address), async () => {
      if (Array.isArray(body)) {
        const answer = async (message: unknown, index: number) => {
          call.assertInTime()
          if (index > 0) await charge(options.limits, request, reply, 'message')
          await request.confirmCaller()
          return (await handle(message)).text
        }
        const report = (error: unknown) => reportError(error, request, options)
        const answers = await answerBatch(messages, answer, { report, signal: call.signal })
        return send(reply, answers === '' ? 202 : 200, answers)
      }
      const { status, text, missing } = await handle(messages[0])
      if (missing instanceof ApiError) {
        askForToken(calledTool(messages[0]))
        throw missing
      }
      return missing ? refuseScope(request, reply, missing, options.baseUrl) : send(reply, status, text)
    })
  }
}

/** The signal ends when the call takes too long, or its client leaves. */
function beginCall(reply: FastifyReply) {
  const call = new AbortController()
  const { signal } = call
  const sentence = `The call did not end within ${MAX_CALL_MS / SECOND_MS} seconds. What it has changed stays changed.`
  const end = () => call.abort(new ApiError('UNAVAILABLE', sentence, { isIsolated: true }))
  const timer = setTimeout(end, MAX_CALL_MS)
  reply.raw.once('close', () => call.abort())
  const assertInTime = () => {
    if (signal.reason instanceof ApiError) throw signal.reason
  }
  return { signal, assertInTime, [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Empty when no message has an answer. An error is an answer, unless the first message has done nothing yet. */
async function answerBatch(
  messages: readonly unknown[],
  answer: (message: unknown, index: number) => Promise<string>,
  { report, signal }: { report: (error: unknown) => ApiError; signal: AbortSignal },
): Promise<string> {
  const answers: string[] = []
  for (const [index, message] of messages.entries()) {
    const text = await answer(message, index).catch((error: unknown) => {
      // What earlier messages have done is done, and their results are shown once.
      if (index === 0 && !signal.aborted) throw error
      return refusal(message, report(error))
    })
    if (text !== '') answers.push(text)
  }
  return answers.length === 0 ? '' : `[${answers.join()}]`
}

/** Of one message of a batch; JSON-RPC has no other place for it, and none for that of a notification. */
function refusal(message: unknown, { code, message: sentence }: ApiError): string {
  const { id } = (message ?? { id: null }) as { id?: unknown }
  if (id === undefined) return ''
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: `${code}: ${sentence}` } })
}

function send(reply: FastifyReply, status: number, text: string): FastifyReply {
  reply.code(status)
  return text === '' ? reply.send() : reply.type(JSON_TYPE).send(text)
}

/** RFC 6750, section 3.1. */
function refuseScope(
  request: FastifyRequest,
  reply: FastifyReply,
  scope: ProgramScope,
  baseUrl: string,
): FastifyReply {
  return reply
    .code(403)
    .header('WWW-Authenticate', challenge(request, baseUrl, { scope, error: 'insufficient_scope' }))
    .send({ error: 'insufficient_scope', scope })
}

const FOREIGN_PAGE = {
  jsonrpc: '2.0',
  error: {
    code: -32000,
    message: 'This service is of a private network, and not for pages of other origins',
  },
  id: null,
}

/** On a private service refuses requests of pages from outside, also with a token (the protocol, "Transports"). */
function withOwnPages(baseUrl: string, handle: RouteHandlerMethod): RouteHandlerMethod {
  const isForeignPage = recognizeForeignPages(baseUrl)
  return function (request, reply) {
    return isForeignPage(request.headers)
      ? reply.code(403).send(FOREIGN_PAGE)
      : handle.call(this, request, reply)
  }
}

/** The library gets the body parsed. It serves only clients that accept events too, which none gets. */
function toWebRequest({ method, headers }: FastifyRequest, baseUrl: string, signal: AbortSignal): Request {
  const copied = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
  const request = new Request(baseUrl + MCP_PATH, { method, headers: copied, signal })
  const type = accepts(headers.accept, JSON_TYPE) ? `${JSON_TYPE}, text/event-stream` : 'text/html'
  request.headers.set('accept', type)
  return request
}

/** Asked for first, when no tool says more: users allow deletion and domains when they are needed. */
const FIRST_SCOPE: ProgramScope = 'publish'

/** RFC 6750, section 3; RFC 9728, section 5.1. Without `error`: `invalid_token` when the request had a token. */
function challenge(
  { headers, routeOptions }: FastifyRequest,
  baseUrl: string,
  { scope = FIRST_SCOPE, error }: { scope?: ProgramScope | undefined; error?: 'insufficient_scope' } = {},
): string {
  const problem = error ?? (headers.authorization === undefined ? undefined : 'invalid_token')
  const metadata = resourceMetadataUrl(baseUrl, routeOptions.url!.replace(/\/$/, ''))
  return `Bearer ${problem ? `error="${problem}", ` : ''}scope="${scopesUpTo(scope)}", resource_metadata="${metadata}"`
}

const MAX_BATCH_MESSAGES = 20

/** Revisions that have batches, which name themselves only in later messages. */
const BATCH_REVISIONS: readonly unknown[] = [undefined, '2025-03-26', '2024-11-05']

/** Limit without the arguments of a call; each member counts as 16 more characters. */
const MAX_MESSAGE_SIZE = 64 * 1024

/** One, or those of a batch, which revision 2025-03-26 has. They are handled one after another. */
function readMessages({ body, headers }: FastifyRequest): readonly unknown[] {
  if (!Array.isArray(body)) return [assertSmall(body)]
  const problem = !BATCH_REVISIONS.includes(headers['mcp-protocol-version'])
    ? 'must be one message: the revision of the protocol has no batches'
    : body.length === 0 || body.length > MAX_BATCH_MESSAGES
      ? `must be a message, or a batch of 1 to ${MAX_BATCH_MESSAGES} messages`
      : undefined
  if (problem) throw invalidField('body', problem)
  return body.map(assertSmall)
}

/** Refuses what would take the library of the protocol long. It does not get the arguments of calls. */
function assertSmall(message: unknown): unknown {
  if (remainingSize(withoutArguments(message).rest, MAX_MESSAGE_SIZE) < 0)
    throw invalidField('body', 'is too large: only the arguments of a call may be long')
  return message
}

/** Negative as soon as the size is exceeded. */
function remainingSize(value: unknown, size: number): number {
  if (typeof value === 'string') return size - value.length
  if (typeof value !== 'object' || value === null) return size
  let left = size
  for (const [name, member] of Object.entries(value)) {
    left = remainingSize(member, left - name.length - 16)
    if (left < 0) break
  }
  return left
}

interface CallMessage {
  method?: unknown
  params?: { name?: unknown; arguments?: unknown } | null
}

function calledTool(message: unknown): unknown {
  const { method, params } = (message ?? {}) as CallMessage
  return method === 'tools/call' ? params?.name : undefined
}

/** A call without its arguments, and these; another message as it is. */
function withoutArguments(message: unknown): { rest: unknown; args: unknown } {
  if (calledTool(message) === undefined) return { rest: message, args: undefined }
  const call = message as CallMessage
  const { arguments: args, ...params } = call.params!
  return { rest: { ...call, params }, args }
}

function eventData(text: string): string {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trim())
    .join('')
}
