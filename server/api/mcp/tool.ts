import type { ProgramScope } from '../../../protocol/api/programs.ts'
import type { Schema } from '../../../protocol/api/schema.ts'

export type Arguments = Record<string, unknown>

export interface ApiCall {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: Record<string, unknown>
}

export interface ApiClient {
  baseUrl: string
  /** CallError when the API refuses the call. */
  call<T>(routeId: string, call?: ApiCall): Promise<T>
  /** From byte `offset`. CallError when the API refuses the call. */
  read(routeId: string, call: ApiCall, part: { offset: number; maxBytes: number }): Promise<FilePart>
}

export interface FilePart {
  type: string
  bytes: Buffer
  isCut: boolean
}

/** Routes of the API, with arguments and results for a program. */
export interface Tool {
  name: string
  title: string
  /** For a model: what the tool does and when to use it. */
  description: string
  input: Schema
  /** Only of a tool whose result a program reads: schemas fill the context of a model. */
  output?: Schema
  annotations: ToolAnnotations
  scope: ProgramScope
  /** Whether a call needs no account. */
  isAnonymous?: true
  call(api: ApiClient, args: Arguments): Promise<object>
}

/** See the specification of the protocol, "Tools". Some clients require all of these. */
interface ToolAnnotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  openWorldHint: boolean
}

export const READ: ToolAnnotations = { readOnlyHint: true, destructiveHint: false, openWorldHint: false }
export const ADD: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, openWorldHint: true }
/** Visitors see something else afterwards. */
export const REPLACE: ToolAnnotations = { ...ADD, destructiveHint: true }

export const MAX_INLINE_BYTES = 4 * 2 ** 20

export const MAX_LISTED = 50

export function dashboardUrl({ baseUrl }: ApiClient, slug: unknown): string {
  return `${baseUrl}/sites/${slug}`
}
