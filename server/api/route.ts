import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { FieldError } from '../../protocol/api/errors.schema.ts'
import {
  type Answer,
  type Body,
  OPERATIONS,
  type Operation,
  type Parameters,
  type Query,
} from '../../protocol/api/operations.schema.ts'
import { type OperationId, PATHS } from '../../protocol/api/paths.ts'
import { CLAIM_TOKEN_HEADER } from '../../protocol/api/publish.ts'
import type { Schema } from '../../protocol/api/schema.ts'
import { type Caller, requireAccount, requireKeyHash } from '../accounts/authorization.ts'
import { hashToken } from '../lib/tokens.ts'
import type { Account } from '../store/tables/accounts.ts'

export interface Route extends Omit<Operation, 'body'> {
  id: OperationId
  method: string
  url: string
  body?: Schema
  handle: RouteHandlerMethod
}

/**
 * The parts have passed their schemas, unless the operation charges or parses on its own (`attachValidation`): its
 * handler reads `request.validationError` first.
 */
export class Call<Id extends OperationId> {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly #query: Schema | undefined

  constructor(request: FastifyRequest, reply: FastifyReply, query: Schema | undefined) {
    this.request = request
    this.reply = reply
    this.#query = query
  }

  get body(): Body<Id> {
    return this.request.body as Body<Id>
  }

  get query(): Query<Id> {
    return readQuery(this.#query, this.request.query).values as unknown as Query<Id>
  }

  get params(): Parameters<Id> {
    return this.request.params as Parameters<Id>
  }

  get caller(): Caller {
    return this.request.caller
  }

  /** UNAUTHORIZED without one. */
  get account(): Account {
    return requireAccount(this.request.caller)
  }

  /** Of its session or key, as the store has it. */
  get credentialHash(): string {
    const { sessionToken, caller } = this.request
    return sessionToken === undefined ? requireKeyHash(caller) : hashToken(sessionToken)
  }
}

/** The status of a response is that of the operation, unless the handler sets another one. */
export type Handlers = {
  [Id in OperationId]: (call: Call<Id>) => Response<Id> | Promise<Response<Id>>
}

type Response<Id extends OperationId> = Answer<Id> | FastifyReply

export function toRoute<Id extends OperationId>(id: Id, handlers: Handlers, maxFiles: number): Route {
  const [method, url] = PATHS[id].split(' ') as [string, string]
  const { body, ...operation }: Operation = OPERATIONS[id]
  const [status] = operation.answer
  return {
    ...operation,
    ...(body && { body: typeof body === 'function' ? body(maxFiles) : body }),
    id,
    method,
    url,
    handle: (request, reply) => handlers[id](new Call<Id>(request, reply.code(status), operation.query)),
  }
}

/**
 * The parameters with numbers and flags in place of their text, and what is wrong: a parameter that is set twice, or a
 * flag with another word. A query that has passed its schema has no problems.
 */
export function readQuery(
  schema: Schema | undefined,
  query: unknown,
): { values: Record<string, unknown>; problems: FieldError[] } {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { type?: string }> }
  const values: Record<string, unknown> = {}
  const problems: FieldError[] = []
  for (const [field, text] of Object.entries(query as Record<string, unknown>)) {
    if (typeof text !== 'string') {
      problems.push({ field, message: 'must be set only once' })
      continue
    }
    if (!Object.hasOwn(properties, field)) continue
    const { type } = properties[field]!
    if (type === 'integer') values[field] = Number(text)
    else if (type !== 'boolean') values[field] = text
    else if (text === 'true' || text === 'false') values[field] = text === 'true'
    else problems.push({ field, message: 'must be true or false' })
  }
  return { values, problems }
}

export function withClaimToken<T extends { claimToken?: string | undefined }>(
  { headers }: FastifyRequest,
  request: T,
): T {
  const claimToken = headers[CLAIM_TOKEN_HEADER]
  return typeof claimToken === 'string' ? { ...request, claimToken } : request
}
