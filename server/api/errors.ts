import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import type { FieldError } from '../../protocol/api/errors.schema.ts'
import { formatNumber } from '../../protocol/format.ts'
import { AccountQuotaError } from '../accounts/quotas.ts'
import { ApiError, errorBody, firstError, toStorageError, validationError } from '../lib/errors.ts'
import type { Parts } from '../parts.ts'
import { incompleteBody } from './bodies.ts'

type ErrorOptions = Pick<Parts, 'log' | 'telemetry' | 'baseUrl'>

/** Where nothing tells when a retry makes sense. */
export const RETRY_AFTER_SECONDS = 5

/** Internal details are only logged. */
export function handleErrors(app: FastifyInstance, options: ErrorOptions): void {
  app.setErrorHandler((error, request, reply) => {
    const failure = reportError(error, request, options)
    const { status } = failure
    if (['UNAVAILABLE', 'SCAN_UNAVAILABLE', 'RATE_LIMITED'].includes(failure.code)) {
      reply.header('Retry-After', failure.retryAfterSeconds ?? RETRY_AFTER_SECONDS)
    }
    // RFC 9110, section 15.5.2; routes for programs name where these sign in.
    if (status === 401 && !request.routeOptions.config?.programs) {
      const problem = request.headers.authorization === undefined ? '' : ', error="invalid_token"'
      reply.header('WWW-Authenticate', `Bearer realm="API"${problem}`)
    }
    const body = errorBody(forCaller(failure, request), options.baseUrl)
    // Caches may otherwise keep a 404, 405 or 410 for a time of their choice (RFC 9110, section 15.1). A terminal shows
    // its prompt on a line of its own.
    reply
      .code(status)
      .header('Cache-Control', 'no-store')
      .type('application/json; charset=utf-8')
      .send(`${JSON.stringify(body)}\n`)
  })
}

/** Counts and logs an error; returns what the caller may see of it. */
export function reportError(
  error: unknown,
  request: FastifyRequest,
  { log, telemetry }: Pick<ErrorOptions, 'log' | 'telemetry'>,
): ApiError {
  const failure = toApiError(error, request)
  const fields = { request: request.id, route: request.routeOptions.url }
  telemetry.metrics.counter('slipway_api_errors_total', { code: failure.code }).add()
  // The operator frees space; a stack would not help.
  if (failure.code === 'INSUFFICIENT_STORAGE') log.summarize('warn', failure.message, fields)
  else if (failure.code === 'UNAVAILABLE')
    log.summarize('error', failure.message, {
      ...fields,
      cause: (failure.cause as Error | undefined)?.message,
    })
  else if (failure.status >= 500) log.error(failure.message, { ...fields, error })
  return failure
}

/** A caller that is not signed in may send more with an account. */
function forCaller(failure: ApiError, { caller }: FastifyRequest): ApiError {
  if (failure instanceof AccountQuotaError && failure.accountId !== caller?.account?.id)
    return failure.forOthers()
  if (failure.code !== 'PAYLOAD_TOO_LARGE' || caller?.account) return failure
  const hint = `${failure.hint} Accounts have higher limits: POST /api/auth/agent/request-code, or slipway login.`
  return new ApiError(failure.code, failure.message, { ...failure, hint })
}

export function toFieldErrors(error: FastifyError | Error | undefined): FieldError[] {
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
    const { description = '' } = parentSchema ?? {}
    const rule = description.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase())
    const fallback = rule && `must be ${rule}`
    return { field: path || where, message: sentence(problem.keyword, params, fallback) }
  })
}

function toApiError(thrown: unknown, request: FastifyRequest): ApiError {
  const error = firstError(thrown) as FastifyError
  if (error instanceof ApiError) return error
  if (error.validation) return validationError(toFieldErrors(error))
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError(
        'UNSUPPORTED_MEDIA_TYPE',
        `Unsupported Content-Type "${request.headers['content-type']}"`,
      )
    case 'ECONNRESET':
      return incompleteBody()
  }
  // The framework rejects only invalid requests, so this is never an internal error.
  if (error.code?.startsWith('FST_ERR_') && error.statusCode !== undefined && error.statusCode < 500) {
    return new ApiError('VALIDATION_ERROR', error.message)
  }
  const full = toStorageError(error)
  if (full) return full
  const sentence = `Internal error. The server log has the details under request ID ${request.id}.`
  return new ApiError('INTERNAL', sentence, { cause: error })
}

/** `/files/3/path` as `files[3].path`. */
function fieldName(pointer: string): string {
  return pointer
    .slice(1)
    .replaceAll(/(^|\/)(\d+)(?=\/|$)/g, '[$2]')
    .replaceAll('/', '.')
}

function sentence(keyword: string, params: Record<string, unknown>, fallback: string): string {
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
    case 'maxItems':
      return `must have at most ${formatNumber(params.limit as number)} entries`
    case 'minItems':
      return `must have at least ${params.limit} entries`
    case 'minProperties':
      return `must have at least ${params.limit} fields`
    case 'enum':
      return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`
    default:
      return fallback || 'is invalid'
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

/** Names the path without a final slash, where known. Routes of administrators have the same error for others. */
export function unknownEndpoint(
  { originalUrl }: FastifyRequest,
  isKnown: (path: string) => boolean = () => false,
): ApiError {
  const path = originalUrl.split('?', 1)[0]!
  const url = path.slice(0, -1)
  const hint =
    path.endsWith('/') && isKnown(url)
      ? `Use ${url}, without the final slash.`
      : 'Check the path. /api/openapi.json lists the endpoints, and /llms.txt has instructions.'
  return new ApiError('NOT_FOUND', 'Unknown endpoint. See /docs.', { hint })
}
