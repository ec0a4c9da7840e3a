import type { Schema } from '../schemas/schema.ts'

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
  /** The first `maxBytes` of a response. CallError when the API refuses the call. */
  read(routeId: string, call: ApiCall, maxBytes: number): Promise<FileStart>
}

interface FileStart {
  type: string
  bytes: Buffer
  /** Whether the response has more bytes. */
  isCut: boolean
}

/** A tool of the Model Context Protocol: routes of the API, with arguments and results for a program. */
export interface Tool {
  name: string
  title: string
  description: string
  input: Schema
  output: Schema
  annotations: ToolAnnotations
  /** Whether a call needs an account: a claim token does not suffice. */
  needsAccount: boolean
  call(api: ApiClient, args: Arguments): Promise<object>
}

/** What clients show before a call; see the specification of the protocol, "Tools". */
interface ToolAnnotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  idempotentHint: boolean
  openWorldHint: boolean
}

export const READ: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
export const ADD: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: true,
}
/** Visitors see something else afterwards. */
export const REPLACE: ToolAnnotations = { ...ADD, destructiveHint: true, idempotentHint: true }

/** Maximum bytes of the files whose contents are in a call, together. */
export const MAX_INLINE_BYTES = 4 * 2 ** 20

/** Maximum number of files, sites or versions that a result lists. */
export const MAX_LISTED = 50

/** The page of a site in the dashboard. */
export function dashboardUrl({ baseUrl }: ApiClient, slug: unknown): string {
  return `${baseUrl}/sites/${slug}`
}
