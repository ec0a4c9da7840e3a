import type { FieldError } from '../../../protocol/api/errors.schema.ts'
import { type Schema, text } from '../../../protocol/api/schema.ts'
import type { Arguments, Tool } from './tool.ts'

/** Contents of files are in a list. */
const MAX_TEXT_LENGTH = 2000

const MAX_PROBLEMS = 20

export const site = text('The site: the first label of its URL, or the URL')

/**
 * Problems that the routes of the API do not find: names that the tool does not have, which would be ignored without a
 * word, and texts that would become long URLs, or none.
 */
export function findProblems(args: Arguments, { name, input }: Tool): FieldError[] {
  const problems: FieldError[] = []
  for (const problem of undeclared(args, input, name)) {
    problems.push(problem)
    if (problems.length === MAX_PROBLEMS) return problems
  }
  for (const [field, value] of Object.entries(args)) {
    if (typeof value !== 'string') continue
    if (value.length > MAX_TEXT_LENGTH)
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
      yield { field: field.slice(0, 100), message: `is not an argument of ${owner}, which has ${known}` }
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
