import type { RouteHandlerMethod } from 'fastify'
import type { ErrorCode } from '../../protocol/api/errors.schema.ts'
import type * as shape from '../../protocol/api/schema.ts'
import type { RouteAccess } from './auth.ts'

/** A row of the route table: the shape of a request, its charge, its authentication and its handler. */
export interface Route {
  /** `operationId` of the OpenAPI document: generated clients name methods by it, so it never changes. */
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  tag: string
  summary: string
  /** Sentences of the OpenAPI document that do not follow from the other fields, such as what is permanent. */
  details?: string
  body?: shape.Schema
  query?: shape.Schema
  headers?: shape.Schema
  /** Status and schema of success; 'bytes' for a file, 'events' for an event stream. */
  answer: [number, shape.Schema | 'bytes' | 'events']
  /** The errors that do not follow from the other fields (`routeErrors`). */
  errors?: readonly ErrorCode[]
  /** See `auth.ts`; default `api`. */
  charge?: 'sign-in' | 'name' | 'none' | 'handler'
  /** See `auth.ts`. */
  ends?: 'key' | 'dashboard'
  /** See `auth.ts`. */
  access: RouteAccess
  /** See `auth.ts`; default `required`. */
  auth?: 'optional'
  /** See `auth.ts`. */
  foreignPages?: true
  /** Accepts an archive as its body, beside JSON where it has `body`. */
  archives?: true
  /**
   * Accepts a body of any type and leaves it as a stream; the media type to document. With `archives`, it is a direct
   * upload: an archive of any type, which is answered with text or JSON.
   */
  bytes?: string
  /** Maximum size of the body in bytes, if it is not the default one. */
  bodyLimit?: number
  handle: RouteHandlerMethod
}
