import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { KeyScope } from '../../../protocol/api/keys.ts'
import { rateLimitSubnet } from '../../lib/client-ip.ts'
import { ConcurrencyLimiter } from '../../lib/concurrency-limiter.ts'
import { ApiError, validationError } from '../../lib/errors.ts'
import { MINUTE_MS } from '../../lib/time.ts'
import { foreignPages } from '../local-pages.ts'
import { MCP_PATH, resourceMetadataUrl } from './resource.ts'
import { MAX_INLINE_BYTES } from './tool.ts'
import type { Exchange, ToolServer, ToolServerOptions } from './tool-server.ts'

/** The largest call: base64 is longer by a third, and JSON escapes quotes and ends of lines. */
const MAX_BODY_BYTES = 2 * MAX_INLINE_BYTES

/** Maximum duration of a call. What it has changed stays changed. */
const MAX_CALL_MS = MINUTE_MS

const MAX_CONCURRENT_CALLS = { total: 64, perKey: 8 }

/**
 * The Model Context Protocol over Streamable HTTP, without sessions: every node of a fleet handles every message. A
 * call of a tool calls routes of the API, which authorize, charge and validate it.
 */
export async function mcp(app: FastifyInstance, options: ToolServerOptions): Promise<void> {
  const handleMessage = messageHandler(options)
  const challenge = `Bearer resource_metadata="${resourceMetadataUrl(options.baseUrl)}"`
  app.route({
    method: 'POST',
    url: MCP_PATH,
    bodyLimit: MAX_BODY_BYTES,
    // A call is charged by the routes that it calls.
    config: { access: 'any', auth: 'optional', charge: 'handler', programs: true },
    onSend: async (_, reply, payload) => {
      if (reply.statusCode === 401) reply.header('WWW-Authenticate', challenge)
      return payload
    },
    handler: withOwnPages(options.baseUrl, handleMessage),
  })
}

function messageHandler(options: ToolServerOptions): RouteHandlerMethod {
  const limiter = new ConcurrencyLimiter(MAX_CONCURRENT_CALLS)
  let opening: Promise<ToolServer> | undefined
  return async (request, reply) => {
    const { caller, body } = request
    assertSingleMessage(body)
    // A service that no program calls does not need the tools and the library of the protocol.
    opening ??= import('./tool-server.ts').then(({ openToolServer }) => openToolServer(options))
    const server = await opening
    if (!caller.account && server.needsAccount(calledTool(body))) throw signInRequired()
    const call = new AbortController()
    const timer = setTimeout(() => call.abort(), MAX_CALL_MS)
    reply.raw.once('close', () => call.abort())
    const exchange: Exchange = { request, signal: call.signal }
    try {
      const key = caller.account?.id ?? rateLimitSubnet(caller.address)
      return await limiter.run(key, async () => {
        const message = toWebRequest(request, options.baseUrl + MCP_PATH, call.signal)
        const response = await server.handle(message, exchange)
        // The stream of a response ends after the call.
        const text = await response.text()
        if (exchange.missing === 'account') throw signInRequired()
        if (exchange.missing) return refuseScope(reply, exchange.missing, options.baseUrl)
        return reply.code(response.status).headers(Object.fromEntries(response.headers)).send(text)
      })
    } finally {
      clearTimeout(timer)
    }
  }
}

/** A batch would run any number of calls together; the protocol has none since 2025-06-18. */
function assertSingleMessage(body: unknown): void {
  if (Array.isArray(body))
    throw validationError([{ field: 'body', message: 'must be one message, not a batch' }])
}

/** The name of the tool that a message calls; undefined for another message. */
function calledTool(body: unknown): unknown {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { name?: unknown } | null }
  return method === 'tools/call' ? params?.name : undefined
}

/** Asks the program for a token that permits more (RFC 6750, section 3.1). */
function refuseScope(reply: FastifyReply, scope: KeyScope, baseUrl: string): FastifyReply {
  const url = resourceMetadataUrl(baseUrl)
  return reply
    .code(403)
    .header(
      'WWW-Authenticate',
      `Bearer error="insufficient_scope", scope="${scope}", resource_metadata="${url}"`,
    )
    .send({ error: 'insufficient_scope', scope })
}

function signInRequired(): ApiError {
  return new ApiError('UNAUTHORIZED', 'This tool needs an account')
}

/**
 * Refuses requests of pages from outside on a private service, also with a token (the protocol, "Transports", security
 * warning).
 */
function withOwnPages(baseUrl: string, handle: RouteHandlerMethod): RouteHandlerMethod {
  const isForeignPage = foreignPages(baseUrl)
  return function (request, reply) {
    return isForeignPage(request.headers) ? reply.code(403).send() : handle.call(this, request, reply)
  }
}

/** The request for the library, which gets the body parsed. */
function toWebRequest({ method, headers }: FastifyRequest, url: string, signal: AbortSignal): Request {
  const copied = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
  return new Request(url, { method, headers: copied, signal })
}
