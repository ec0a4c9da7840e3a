import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { Answer, Body, Operation, Parameters, Query } from '../../protocol/api/operations.schema.ts'
import type { OperationId } from '../../protocol/api/paths.ts'
import type { Schema } from '../../protocol/api/schema.ts'
import { type Caller, requireAccount } from '../accounts/authorization.ts'
import type { Account } from '../store/tables/accounts.ts'
import { readQuery } from './query.ts'

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
}

/** The status of a response is that of the operation, unless the handler sets another one. */
export type Handlers = {
  [Id in OperationId]: (call: Call<Id>) => Response<Id> | Promise<Response<Id>>
}

type Response<Id extends OperationId> = Answer<Id> | FastifyReply
