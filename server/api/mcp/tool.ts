import type { FieldError } from '../../../protocol/api/errors.schema.ts'
import type { Answer } from '../../../protocol/api/operations.schema.ts'
import type { OperationId } from '../../../protocol/api/paths.ts'
import type { ProgramScope } from '../../../protocol/api/programs.ts'
import { type Schema, text } from '../../../protocol/api/schema.ts'
import { truncate } from '../../../protocol/format.ts'

export type Arguments = Record<string, unknown>

export interface ApiCall {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: Record<string, unknown>
}

export interface ApiClient {
  baseUrl: string
  /** CallError when the API refuses the call. */
  call<Id extends OperationId>(id: Id, call?: ApiCall): Promise<Answer<Id>>
  /** From byte `offset`. CallError when the API refuses the call. */
  read(id: OperationId, call: ApiCall, part: { offset: number; maxBytes: number }): Promise<FilePart>
}

interface FilePart {
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
  isAnonymous?: true
  call(api: ApiClient, args: Arguments): Promise<object>
}

export type Tools = Readonly<Record<string, Omit<Tool, 'name'>>>

/** See the specification of the protocol, "Tools". Some clients require all of these. */
interface ToolAnnotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  openWorldHint: boolean
}

export const READ = {
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
  scope: 'read',
} as const
const ADD: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, openWorldHint: true }

export function adds(scope: ProgramScope): Pick<Tool, 'annotations' | 'scope'> {
  return { annotations: ADD, scope }
}

/** Visitors see something else afterwards. */
export function replaces(scope: ProgramScope): Pick<Tool, 'annotations' | 'scope'> {
  return { annotations: { ...ADD, destructiveHint: true }, scope }
}

export const MAX_INLINE_BYTES = 4 * 2 ** 20

export const MAX_LISTED = 50

export function dashboardUrl({ baseUrl }: ApiClient, slug: unknown): string {
  return `${baseUrl}/sites/${slug}`
}

/** Of a text whose schema has no length of its own. Contents of files are in a list. */
const MAX_TEXT_LENGTH = 2000

const MAX_PROBLEMS = 20

export const site = text('The site: the first label of its URL, or the URL')

/**
 * Problems that the routes of the API do not find: names that the tool does not have, which would be ignored without a
 * word, and texts that would become long URLs, or none.
 */
export function findProblems(args: Arguments, { name, input }: Tool): FieldError[] {
  const problems = undeclared(args, input, name).take(MAX_PROBLEMS).toArray()
  // The version that a program last saw would be published in place of its files.
  if (args.files !== undefined && args.versionId !== undefined)
    problems.push({ field: 'versionId', message: 'takes the place of files; did you mean baseVersionId?' })
  const declared = input.properties as Record<string, Schema>
  for (const [field, value] of Object.entries(args)) {
    if (typeof value !== 'string') continue
    if (value.length > MAX_TEXT_LENGTH && declared[field]?.maxLength === undefined)
      problems.push({ field, message: `must have at most ${MAX_TEXT_LENGTH} characters` })
    if (!value.isWellFormed()) problems.push({ field, message: 'must have no half of a surrogate pair' })
  }
  return problems
}

function* undeclared(value: object, schema: Schema, owner: string, path = ''): Generator<FieldError> {
  const declared = schema.properties as Record<string, Schema>
  for (const [name, member] of Object.entries(value)) {
    const field = path + name
    if (!Object.hasOwn(declared, name)) {
      const known = Object.keys(declared).join(', ')
      yield { field: truncate(field, 100), message: `is not an argument of ${owner}, which has ${known}` }
      continue
    }
    const items = declared[name]!.items as Schema | undefined
    if (!items?.properties || !Array.isArray(member)) continue
    for (const [index, item] of member.entries())
      if (typeof item === 'object' && item !== null)
        yield* undeclared(item, items, name, `${field}[${index}].`)
  }
}

/** From a slug, or the URL of a site, a version or a preview; undefined for a URL that is not one of this service. */
export function readSlug(given: string, siteDomain: string): string | undefined {
  if (!/[.:/]/.test(given)) return given
  const url = URL.parse(given.includes('://') ? given : `https://${given}`)
  const suffix = `.${siteDomain}`
  if (!url?.hostname.endsWith(suffix)) return undefined
  return url.hostname.slice(0, -suffix.length).split('--').at(-1)
}

type FieldOf<Response> = Response extends unknown ? keyof Response & string : never

/** Takes the fields that a result always has, and those left out without a value, so that a result is short. */
export function project<Response>(
  required: readonly FieldOf<Response>[],
  optional: readonly FieldOf<Response>[] = [],
): (response: object) => Record<string, unknown> {
  return (response) =>
    Object.fromEntries(
      [...required, ...optional]
        .map((name) => [name, (response as Record<string, unknown>)[name]] as const)
        .filter(([name, value]) => required.includes(name) || !isEmpty(value)),
    )
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

/** Without descriptions, which are in the reference of the API: a list of tools fills a context. */
export function brief(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema, (key, value) => (isDescription(key, value) ? undefined : value)))
}

/** Some clients translate a schema to a dialect without lists of types, and refuse the tool otherwise. */
export function withSingleTypes(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (_, value) => {
    if (!Array.isArray(value?.type)) return value
    const { type: types, description, ...rest } = value
    const anyOf = types.map((type: string) => (type === 'null' ? { type } : { type, ...rest }))
    return { description, anyOf }
  })
}

/** Whether an entry of a schema describes it. A property of this name has a schema, not a text. */
function isDescription(key: string, value: unknown): boolean {
  return (key === 'description' || key === 'title') && typeof value === 'string'
}
