import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import type { ErrorBody } from '../../client/wire.ts'
import { Failure, type FailureCode, invalid, type Problem, storageFailure } from '../failure.ts'
import type { Log } from '../log.ts'
import { linger } from './linger.ts'

/** The contract's table: the status of every code. */
const STATUS: Record<FailureCode, number> = {
  VALIDATION_ERROR: 400,
  INVALID_JSON: 400,
  INVALID_CODE: 400,
  SIZE_MISMATCH: 400,
  HASH_MISMATCH: 400,
  CONTENT_TYPE_MISMATCH: 400,
  UNAUTHORIZED: 401,
  INVALID_CLAIM_TOKEN: 403,
  INVALID_UPLOAD_TOKEN: 403,
  DOMAIN_LIMIT_REACHED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  UPLOADS_MISSING: 409,
  VERSION_CONFLICT: 409,
  ALREADY_CLAIMED: 409,
  SITE_PENDING: 409,
  DOMAIN_TAKEN: 409,
  VERSION_LIVE: 409,
  SITE_EXPIRED: 410,
  UPLOAD_EXPIRED: 410,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  INSUFFICIENT_STORAGE: 507,
}

/** Turns whatever a handler throws into an answer of the contract; what is nobody's business goes to the log. */
export function answerFailures(app: FastifyInstance, log: Log): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const failure = failureOf(error, request)
    const status = STATUS[failure.code]
    if (status >= 500)
      log.error(failure.message, { request: request.id, route: request.routeOptions.url, error })
    if (failure.code === 'UNAVAILABLE' || failure.code === 'RATE_LIMITED') {
      reply.header('Retry-After', failure.retryAfterSeconds ?? 5)
    }
    linger(request.raw, reply.raw)
    reply.code(status).send(errorBody(failure))
  })
}

/** Spec 2.8. */
export function errorBody(failure: Failure): ErrorBody {
  const { message, code, details } = failure
  return { error: message, code, status: STATUS[code], ...(details === undefined ? {} : { details }) }
}

/** The problems that the schema of a route found, in the contract's words. */
export function schemaProblems(error: FastifyError | Error | undefined): Problem[] {
  const found = (error as FastifyError | undefined)?.validation ?? []
  const where = (error as FastifyError | undefined)?.validationContext ?? 'body'
  return found.map((problem) => {
    const path = fieldName(problem.instancePath)
    const params = problem.params as Record<string, unknown>
    const { parentSchema } = problem as { parentSchema?: { description?: string } }
    if (problem.keyword === 'required') {
      return {
        field: [path, String(params.missingProperty)].filter(Boolean).join('.'),
        message: 'is required',
      }
    }
    const fallback = parentSchema?.description && `must be ${parentSchema.description}`
    return { field: path || where, message: sentence(problem.keyword, params, fallback) }
  })
}

function failureOf(error: FastifyError, request: FastifyRequest): Failure {
  if (error instanceof Failure) return error
  if (error.validation) return invalid(schemaProblems(error))
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Failure(
        'UNSUPPORTED_MEDIA_TYPE',
        `This does not take a body of ${request.headers['content-type']}`,
      )
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Failure(
        'PAYLOAD_TOO_LARGE',
        `A JSON body may have at most ${request.routeOptions.bodyLimit} bytes`,
      )
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'ECONNRESET':
      return new Failure('SIZE_MISMATCH', 'The body ended before its announced length')
  }
  const full = storageFailure(error)
  if (full) return full
  return new Failure('INTERNAL', `Something went wrong here; it is logged as request ${request.id}`, {
    cause: error,
  })
}

/** `/files/3/path` as `files[3].path`. */
function fieldName(pointer: string): string {
  return pointer
    .slice(1)
    .replaceAll(/(^|\/)(\d+)(?=\/|$)/g, '[$2]')
    .replaceAll('/', '.')
}

function sentence(keyword: string, params: Record<string, unknown>, fallback = 'is not valid'): string {
  switch (keyword) {
    case 'type':
      return `must be ${[params.type].flat().map(typeName).join(' or ')}`
    case 'maxLength':
      return `must have at most ${params.limit} characters`
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must be at most ${params.limit}`
    case 'enum':
      return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`
    default:
      return fallback
  }
}

function typeName(type: unknown): string {
  const names: Record<string, string> = {
    string: 'a string',
    integer: 'a whole number',
    boolean: 'true or false',
    object: 'an object',
    array: 'an array',
    null: 'null',
  }
  return names[String(type)] ?? String(type)
}
