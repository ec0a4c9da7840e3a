import type { Body, Parameters, Value } from '../../protocol/api/operations.schema.ts'
import { type OperationId, PATHS, type ParameterOf, type Path } from '../../protocol/api/paths.ts'
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

/** The method of an operation, and its path with these parameters and query. */
export function operationTarget(
  id: OperationId,
  { params = {}, query }: Pick<AnyCall, 'params' | 'query'>,
): { method: string; path: string } {
  const [method, template] = PATHS[id].split(' ') as [string, string]
  const path = template.replace(/:(\w+)|\*/g, (all, name: string | undefined) =>
    encodePath(params[name ?? all]!, all === '*'),
  )
  return { method, path: path + buildQuery(query) }
}

/** The slashes of the path of a file stay. NOT_FOUND for `.` and `..`, with which the URL would be that of another request. */
function encodePath(value: string, isFile: boolean): string {
  const names = isFile ? value.split('/') : [value]
  if (names.some((name) => name === '.' || name === '..'))
    throw new SlipwayError(`Not found: ${value}`, { code: 'NOT_FOUND' })
  return names.map(encodeURIComponent).join('/')
}

function buildQuery(values: object = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value))
  const text = query.toString()
  return text && `?${text}`
}
