import type { ProgramScope } from '../../../protocol/api/programs.ts'
import type { Schema } from '../../../protocol/api/schema.ts'

/** The arguments of a call, which match the input schema of its tool. */
export type Arguments = Record<string, unknown>

export interface ApiCall {
  /** Of the path of the route. */
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: Record<string, unknown>
}

/** The routes of the API, called for the caller of a tool. */
export interface ApiClient {
  baseUrl: string
  /** The response to a call of the route with this id. CallError when the API refuses the call. */
  call<T>(routeId: string, call?: ApiCall): Promise<T>
  /** At most `maxBytes` of a response, from byte `offset`. CallError when the API refuses the call. */
  read(routeId: string, call: ApiCall, part: { offset: number; maxBytes: number }): Promise<FilePart>
}

export interface FilePart {
  type: string
  bytes: Buffer
  /** Whether the response has more bytes. */
  isCut: boolean
}

/** A tool of the Model Context Protocol: routes of the API, with arguments and results for a program. */
export interface Tool {
  name: string
  title: string
  /** What it does and when to use it, for a model. */
  description: string
  input: Schema
  /** Only of a tool whose result a program reads: schemas fill the context of a model. */
  output?: Schema
  annotations: ToolAnnotations
  /** What a token must permit. */
  scope: ProgramScope
  /** Whether a call can do without an account. */
  isAnonymous?: true
  call(api: ApiClient, args: Arguments): Promise<object>
}

/** What clients show before a call; see the specification of the protocol, "Tools". Some require all of these. */
interface ToolAnnotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  openWorldHint: boolean
}

export const READ: ToolAnnotations = { readOnlyHint: true, destructiveHint: false, openWorldHint: false }
export const ADD: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, openWorldHint: true }
/** Visitors see something else afterwards. */
export const REPLACE: ToolAnnotations = { ...ADD, destructiveHint: true }

/** Maximum bytes of the files whose contents are in a call, together. */
export const MAX_INLINE_BYTES = 4 * 2 ** 20

/** Maximum number of files, sites or versions that a result lists. */
export const MAX_LISTED = 50

/** The page of a site in the dashboard. */
export function dashboardUrl({ baseUrl }: ApiClient, slug: unknown): string {
  return `${baseUrl}/sites/${slug}`
}
