import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { resolveReferences } from '../../scripts/reference/resolve-references.ts'

/** The parts of an OpenAPI document that the tests read. */
export interface ApiDocument {
  openapi: string
  info: { title: string; version: string; description?: string }
  servers: { url: string }[]
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { securitySchemes: Record<string, object> }
}

interface Operation {
  operationId: string
  summary?: string
  description?: string
  tags?: string[]
  security: Record<string, unknown>[]
  parameters?: { name: string; in: string; required?: boolean; schema: object }[]
  requestBody?: { content: Content }
  responses: Record<string, { description: string; content?: Content; headers?: Record<string, object> }>
}

type Content = Record<string, { schema: object; examples?: Record<string, { value: unknown }> }>

/** Each operation, named by its method and path. */
export function operations({ paths }: ApiDocument): [name: string, operation: Operation][] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  )
}

/** Those of all services of a process, which compiles each schema once. */
const AJV = new Ajv2020({ strict: false, allErrors: true })
const RESOLVED = new Map<string, ApiDocument>()

/** Checks responses against the service's own OpenAPI document. */
export class Conformance {
  /** Without references. */
  readonly document: ApiDocument
  /** Documented responses that were received and conform, such as `GET /api/v1/me 200`. */
  readonly seen = new Set<string>()

  constructor(document: ApiDocument) {
    const text = JSON.stringify(document)
    this.document = RESOLVED.get(text) ?? resolveReferences(document)
    RESOLVED.set(text, this.document)
  }

  /** Asserts that a JSON response of a documented route conforms to its schema; ignores other routes. */
  check(method: string, path: string, status: number, body: unknown): void {
    const [template, operation] = this.#find(method, path) ?? []
    if (!template || !operation) return
    const name = `${method} ${template} ${status}`
    const answer = operation.responses[status]
    assert.ok(answer, `${name} is documented: ${JSON.stringify(body)}`)
    const { code } = body as { code?: string }
    if (status >= 400)
      assert.ok(answer.description.split(', ').includes(code!), `${code} of ${name} is documented`)
    const schema = answer.content?.['application/json']?.schema
    assert.ok(schema, `${name} is documented as JSON`)
    const valid = AJV.validate(schema, body)
    assert.ok(valid, `${name} conforms: ${AJV.errorsText()} in ${JSON.stringify(body)}`)
    this.seen.add(name)
  }

  /** Asserts that the content type of a response without schema is documented. */
  checkBytes(method: string, path: string, status: number, contentType: string): void {
    const [template, operation] = this.#find(method, path) ?? []
    if (!template || !operation) return
    const types = Object.keys(operation.responses[status]?.content ?? {})
    const documented = types.some((type) => type === '*/*' || type === contentType.split(';', 1)[0])
    assert.ok(documented, `${method} ${template} ${status} of ${contentType} is documented`)
    this.seen.add(`${method} ${template} ${status}`)
  }

  #find(method: string, path: string): [string, Operation] | undefined {
    for (const [template, operations] of Object.entries(this.document.paths)) {
      const operation = operations[method.toLowerCase()]
      if (operation && toPattern(template).test(path)) return [template, operation]
    }
    return undefined
  }
}

function toPattern(template: string): RegExp {
  return new RegExp(`^${template.replace('{path}', '.+').replace(/\{\w+\}/g, '[^/]+')}$`)
}
