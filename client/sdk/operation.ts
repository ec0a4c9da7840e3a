import type { Body, Parameters, Value } from '../../protocol/api/operations.schema.ts'
import { type OperationId, PATHS, type ParameterOf, type Path } from '../../protocol/api/paths.ts'
import { requestTarget } from '../../protocol/api/request-target.ts'
import type { AnyCall } from './options.ts'
import { SlipwayError } from './slipway-error.ts'

type Parts<Id extends OperationId> = Omit<AnyCall, 'params' | 'query' | 'json'> & {
  query?: Sent<Value<Id, 'query'>>
  json?: Sent<Body<Id>>
}

/** Optional for an operation whose path has no parameters. */
export type Call<Id extends OperationId> = [ParameterOf<Path<Id>>] extends [never]
  ? [Parts<Id>?]
  : [Parts<Id> & { params: Parameters<Id> }]

/** Undefined fields are not sent. */
type Sent<T> = T extends object
  ? { [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K] }
  : T

/**
 * The method of an operation, and its path with these parameters and query. NOT_FOUND for `.` and `..`, with which the URL
 * would be that of another request.
 */
export function operationTarget(
  id: OperationId,
  { params = {}, query }: Pick<AnyCall, 'params' | 'query'>,
): { method: string; path: string } {
  const [method, template] = PATHS[id].split(' ') as [string, string]
  for (const value of Object.values(params))
    if (value.split('/').some((name) => name === '.' || name === '..'))
      throw new SlipwayError(`Not found: ${value}`, { code: 'NOT_FOUND' })
  return { method, path: requestTarget(template, params, query) }
}
