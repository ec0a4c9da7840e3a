import type { RequestListener } from 'node:http'
import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import type { FastifyRequest } from 'fastify'
import { type ProgramScope, widestScope } from '../../../protocol/api/programs.ts'
import type { Schema } from '../../../protocol/api/schema.ts'
import type { Branding } from '../../../protocol/branding.ts'
import { truncate } from '../../../protocol/format.ts'
import type { Caller } from '../../accounts/authorization.ts'
import { ApiError, errorBody, validationError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { toFieldErrors } from '../errors.ts'
import type { Route } from '../route.ts'
import { CallError, formatCallError, internalClient } from './internal-client.ts'
import { PUBLISH_TOOLS } from './publish-tools.ts'
import { MCP_ACCOUNT_PATH } from './resource.ts'
import { REVIEW_TOOLS } from './review-tools.ts'
import { DOMAIN_TOOLS, SITE_TOOLS } from './site-tools.ts'
import {
  type ApiClient,
  type Arguments,
  brief,
  findProblems,
  readSlug,
  type Tool,
  withSingleTypes,
} from './tool.ts'
import { PREVIEW_TOOLS, VERSION_TOOLS } from './version-tools.ts'

export interface ToolServerOptions {
  baseUrl: string
  siteDomain: string
  branding: Branding
  version: string
  routes: readonly Route[]
  handle: RequestListener
  log: Log
}

export interface Exchange {
  request: FastifyRequest
  /** The library does not get the arguments of a call. */
  args: unknown
  signal: AbortSignal
  /** The client can ask its user for a missing account or scope and repeat the call. */
  missing?: ApiError | ProgramScope | undefined
}

export interface ToolServer {
  /** False for an unknown tool. */
  needsAccount(name: unknown): boolean
  /** Undefined for an unknown tool. */
  scopeOf(name: unknown): ProgramScope | undefined
  /** Handles a message without the arguments of a call. */
  handle(request: Request, message: unknown, exchange: Exchange): Promise<Response>
}

function instructions(baseUrl: string): string {
  return `This service publishes static sites. publish_site needs no account; without one, show the user siteUrl and claimUrl, the link that keeps the site. Other tools need an account: the user signs in when the client calls one, or, if it does not ask, when the client is connected to ${baseUrl}${MCP_ACCOUNT_PATH}. Pass the versionId that you last saw as baseVersionId, so that you do not overwrite the changes of others.`
}

export function openToolServer(options: ToolServerOptions): ToolServer {
  const { baseUrl, siteDomain, branding, version, log, handle } = options
  const routes = new Map(options.routes.map((route) => [route.id, route]))
  const all = [PUBLISH_TOOLS, SITE_TOOLS, VERSION_TOOLS, PREVIEW_TOOLS, REVIEW_TOOLS, DOMAIN_TOOLS]
    .flatMap((group) => Object.entries(group))
    .map(([name, tool]): Tool => ({ name, ...tool }))
  const tools = new Map<unknown, Tool>(all.map((tool) => [tool.name, tool]))
  const listed = all.map(describeTool)
  const invalid = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message)
  const createServer = (exchange: Exchange) => {
    const server = new Server(
      { name: 'slipway', title: branding.name, version, websiteUrl: baseUrl },
      { capabilities: { tools: {} }, instructions: instructions(baseUrl) },
    )
    server.setRequestHandler('tools/list', () => ({ tools: listed }))
    server.setRequestHandler('tools/call', ({ params }) => {
      const tool = tools.get(params.name)
      if (!tool) throw invalid(`Unknown tool: ${truncate(params.name, 100)}`)
      const { signal, request } = exchange
      const args = exchange.args ?? {}
      // The library does not get them to check. Each character of a text would become an argument.
      if (typeof args !== 'object' || Array.isArray(args)) throw invalid('arguments must be an object')
      const api = internalClient({ baseUrl, routes, handle, caller: request.caller, signal })
      return callTool(tool, args, { exchange, api, siteDomain })
    })
    return server
  }
  const handler = createMcpHandler(({ authInfo }) => createServer(authInfo!.extra!.exchange as Exchange), {
    // No tool sends notifications, so no stream has to stay open.
    maxSubscriptions: 0,
    onerror: (error) => log.debug('a message to /mcp was refused', { error: error.message }),
  })
  return {
    scopeOf: (name) => tools.get(name)?.scope,
    needsAccount: (name) => tools.has(name) && !tools.get(name)!.isAnonymous,
    handle: (request, message, exchange) =>
      handler.fetch(request, {
        parsedBody: message,
        authInfo: { token: '', clientId: '', scopes: [], extra: { exchange } },
      }),
  }
}

interface CallContext {
  exchange: Exchange
  api: ApiClient
  siteDomain: string
}

/** By the marks, clients that can mix know which calls need a token. */
function describeTool({ name, title, description, input, output, annotations, ...access }: Tool) {
  const oauth2 = { type: 'oauth2', scopes: [access.scope] }
  return {
    name,
    title,
    description,
    inputSchema: { ...withSingleTypes(input), additionalProperties: false, type: 'object' as const },
    ...(output === undefined ? {} : { outputSchema: brief(output) as { type: 'object' } }),
    annotations,
    _meta: { securitySchemes: access.isAnonymous ? [{ type: 'noauth' }, oauth2] : [oauth2] },
  }
}

/** A refusal of the API is a result too, from which a model learns what to do next. */
async function callTool(tool: Tool, given: object, context: CallContext) {
  const { api, exchange } = context
  const args = { ...given } as Arguments
  try {
    checkArguments(tool, args, context)
    const result = (await tool.call(api, args)) as Record<string, unknown>
    return { content: [toText(JSON.stringify(result))], structuredContent: result }
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    const { account } = exchange.request.caller
    exchange.missing = findMissing(error, tool, exchange.request.caller)
    const explained = account ? await describeConflict(error, args, api) : error
    return { content: [toText(formatCallError(explained))], isError: true }
  }
}

/** Only for a token of a program, whose user can allow more. Keys have scopes that programs cannot ask for. */
function findMissing({ body }: CallError, tool: Tool, { account, keyHash }: Caller): Exchange['missing'] {
  if (body.code === 'UNAUTHORIZED' && !account) return new ApiError(body.code, body.error)
  if (body.code !== 'INSUFFICIENT_SCOPE' || keyHash !== undefined) return undefined
  return widestScope((body.details as { requiredScope: string }).requiredScope) ?? tool.scope
}

function toText(text: string) {
  return { type: 'text' as const, text }
}

/** Also replaces the URL of a site by its slug. */
function checkArguments(tool: Tool, args: Arguments, { exchange, api, siteDomain }: CallContext): void {
  const problems = findProblems(args, tool)
  const validate = exchange.request.compileValidationSchema(withoutItems(tool.input), 'body')
  if (problems.length === 0 && !validate(args))
    problems.push(...toFieldErrors({ validation: validate.errors, validationContext: 'body' } as never))
  if (problems.length === 0 && args.slug !== undefined) {
    const slug = readSlug(String(args.slug), siteDomain)
    if (slug === undefined)
      problems.push({ field: 'slug', message: `must be a slug, or a URL below ${siteDomain}` })
    args.slug = slug
  }
  if (problems.length > 0) throw new CallError(errorBody(validationError(problems), api.baseUrl))
}

const checkedSchemas = new WeakMap<Schema, Schema>()

function withoutItems(schema: Schema): Schema {
  const known = checkedSchemas.get(schema)
  if (known) return known
  const properties = Object.entries(schema.properties as Record<string, Schema>).map(
    ([name, { items: _, ...rest }]) => [name, rest],
  )
  const checked = { ...schema, properties: Object.fromEntries(properties) }
  checkedSchemas.set(schema, checked)
  return checked
}

/** Adds who published the live version and when, and what it changed. */
async function describeConflict(error: CallError, { slug }: Arguments, api: ApiClient): Promise<CallError> {
  const { currentVersionId: versionId } = (error.body.details ?? {}) as { currentVersionId?: string }
  if (error.body.code !== 'VERSION_CONFLICT' || !versionId) return error
  const live = await api.call('getVersion', { params: { slug, versionId } }).catch(() => undefined)
  if (!live) return error
  const { publishedBy, publishedWith, publishedAt, message, added, changed, removed } = live
  const details = {
    live: { versionId, publishedBy, publishedWith, publishedAt, message, added, changed, removed },
  }
  return new CallError({ ...error.body, details })
}
