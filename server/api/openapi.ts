import {
  ERROR_CODES,
  type ErrorBody,
  type ErrorCode,
  errorResponse,
} from '../../protocol/api/errors.schema.ts'
import { example, requestExamples, responseExamples } from '../../protocol/api/examples.ts'
import { slug, versionId } from '../../protocol/api/fields.schema.ts'
import { UPLOAD_PATH } from '../../protocol/api/paths.ts'
import { ARCHIVE_TYPES, CLAIM_TOKEN_HEADER } from '../../protocol/api/publish.ts'
import { integer, type Schema, text } from '../../protocol/api/schema.ts'
import type { Branding } from '../../protocol/branding.ts'
import type { Route } from './route.ts'

const TAGS = {
  'Sign-in': 'An emailed code gives you an API key. There are no passwords.',
  Publish: 'Send a manifest, upload the files to signed URLs, finalize: the site is live.',
  Sites: 'List, change, copy, claim and delete your sites.',
  Versions: 'Every publish creates a version. Kept versions can be restored.',
  Previews: 'Show versions at addresses of their own. A preview can be made live.',
  Reviews: 'Comment on a preview or on the live version, and approve it.',
  Domains: 'Serve a site at your own domain, with HTTPS.',
  Reports: 'Tell the operator of the service about a page.',
  Administration:
    'For administrators of the service: with a key of scope `admin`, or a browser session, which must be at most 12 hours old for changes. For all others these paths do not exist.',
}

const BINARY = { type: 'string', format: 'binary' }

const PATH_PARAMETERS: Record<string, Schema> = {
  slug,
  versionId,
  id: text(
    'The id, from listSessions, listKeys, listTrusts, listPrograms or listAccounts; of an authorization, from the URL of its page',
  ),
  domain: text('The host name'),
  path: text('The path of the file. Its slashes may be sent as they are or as %2F'),
}

/** Components of these headers have their names. */
const RATE_LIMIT_HEADERS = {
  'X-RateLimit-Limit': integer('Requests an hour'),
  'X-RateLimit-Remaining': integer('Requests left in this hour'),
  'X-RateLimit-Reset': integer('Unix time at which the hour ends'),
}

/** No operation has it. */
const METHOD_NOT_ALLOWED = ERROR_CODES.METHOD_NOT_ALLOWED.status

const RETRY_AFTER = { 'Retry-After': integer('Seconds until a retry makes sense') }

/** OpenAPI 3.1. A schema with a `title` becomes a component; a wildcard in a URL becomes the parameter `{path}`. */
export function openApiDocument(
  table: readonly Route[],
  { baseUrl, branding, version }: { baseUrl: string; branding: Branding; version: string },
): object {
  const schemas = new SchemaComponents()
  const paths: Record<string, Record<string, object>> = {}
  for (const route of table) {
    paths[toTemplate(route.url)] ??= {}
    paths[toTemplate(route.url)]![route.method.toLowerCase()] = operation(route, schemas)
  }
  const responses = errorResponses(schemas)
  return {
    openapi: '3.1.0',
    info: {
      title: branding.name,
      version,
      description: 'Publish static sites: send a manifest, upload to signed URLs, finalize, live.',
      ...(branding.termsUrl !== '' && { termsOfService: branding.termsUrl }),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.byName,
      responses,
      headers: { ...describeHeaders(RATE_LIMIT_HEADERS), ...describeHeaders(RETRY_AFTER) },
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key: sl_live_ and 32 hex characters. Operations list the scope that they need: read; preview, which includes read; publish, which includes both; manage, which is everything in the account; or admin, which is also the administration of the service.',
        },
      },
    },
  }
}

/** Named schemas, which replace their occurrences. */
class SchemaComponents {
  readonly byName: Record<string, Schema> = {}

  /** Throws when two schemas have one name. */
  reference(schema: Schema): Schema {
    const { title, variants } = schema
    const inner = variants
      ? { title, oneOf: this.#referenceIn('oneOf', variants) }
      : Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.#referenceIn(key, value)]))
    if (typeof title !== 'string') return inner
    const known = this.byName[title]
    if (known && JSON.stringify(known) !== JSON.stringify(inner))
      throw new Error(`Two schemas have the name ${title}`)
    this.byName[title] = inner
    return { $ref: `#/components/schemas/${title}` }
  }

  #referenceIn(key: string, value: unknown): unknown {
    const isMap = key === 'properties'
    if (isMap || key === 'items' || key === 'additionalProperties') {
      if (typeof value !== 'object' || value === null) return value
      if (!isMap) return this.reference(value as Schema)
      const entries = Object.entries(value as Record<string, Schema>)
      return Object.fromEntries(entries.map(([name, schema]) => [name, this.reference(schema)]))
    }
    return Array.isArray(value) && (key === 'anyOf' || key === 'oneOf')
      ? value.map((one: Schema) => this.reference(one))
      : value
  }
}

function toTemplate(url: string): string {
  return url.replace('*', '{path}').replace(/:(\w+)/g, '{$1}')
}

function operation(route: Route, schemas: SchemaComponents): object {
  const { id, tag, summary, method, url, access } = route
  const parameters = [
    ...[...toTemplate(url).matchAll(/\{(\w+)\}/g)].map(([, name]) => pathParameter(name!)),
    ...listParameters('query', route.query, schemas),
    ...listParameters('header', route.headers, schemas),
  ]
  const requestBody = body(route, schemas)
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: describeRoute(route),
    security: security(route),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(requestBody && method !== 'GET' ? { requestBody } : {}),
    responses: {
      [route.answer[0]]: success(route, schemas),
      ...(typeof access === 'object' && access.byName && { 200: success(route, schemas) }),
      ...Object.fromEntries([...routeErrors(route)].map(referError)),
    },
  }
}

/** The scope that a key needs is listed as a role (OpenAPI 3.1, Security Requirement Object). */
function security({ access, auth }: Route): Record<string, string[]>[] {
  if (access === 'public') return []
  if (access === 'admin') return [{ key: [access] }]
  const keys = access === 'any' ? [[]] : [[access.scope], ...(access.previews ? [['preview']] : [])]
  return [...keys.map((key) => ({ key })), ...(auth === 'optional' ? [{}] : [])]
}

function pathParameter(name: string): object {
  const schema = PATH_PARAMETERS[name] ?? text(name)
  return { name, in: 'path', required: true, ...describe(schema), example: example(schema, name) }
}

function listParameters(place: 'query' | 'header', shape: Schema | undefined, schemas: SchemaComponents) {
  const { properties = {}, required = [] } = (shape ?? {}) as {
    properties?: Record<string, Schema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...describe(schemas.reference(schema)),
  }))
}

/** The description of a schema belongs to the parameter. */
function describe({ description, ...schema }: Schema): { description: unknown; schema: Schema } {
  return { description, schema }
}

function body({ id, body: shape, archives, bytes }: Route, schemas: SchemaComponents): object | undefined {
  const others = [...(archives ? ARCHIVE_TYPES : []), ...(bytes ? [bytes] : [])]
  if (!shape && others.length === 0) return undefined
  const isOptional = Array.isArray(shape?.type) && shape.type.includes('null')
  return {
    required: !isOptional,
    content: {
      ...(shape
        ? {
            'application/json': { schema: schemas.reference(shape), examples: requestExamples(id, shape) },
          }
        : {}),
      ...Object.fromEntries(
        others.map((type) => [type, { schema: type === 'text/html' ? { type: 'string' } : BINARY }]),
      ),
    },
  }
}

function success({ id, answer: [, shape], archives, bytes }: Route, schemas: SchemaComponents): object {
  const headers = referHeaders(RATE_LIMIT_HEADERS)
  if (shape === 'events') {
    const description = 'Server-sent events, one after the other'
    return { description, headers, content: { 'text/event-stream': { schema: { type: 'string' } } } }
  }
  if (shape === 'bytes') return { description: 'The bytes', headers, content: { '*/*': { schema: BINARY } } }
  const schema = schemas.reference(shape)
  const examples = responseExamples(id, shape)
  const json = { 'application/json': { schema, examples } }
  const content =
    archives && bytes
      ? { 'text/plain': { schema: text('The URL of the site, or of the preview') }, ...json }
      : json
  return { description: 'Success', headers, content }
}

/** A reference may have a description of its own (OpenAPI 3.1, Reference Object). */
function referError([status, codes]: [number, ErrorCode[]]): [number, object] {
  const $ref = `#/components/responses/${errorComponent(status)}`
  return [status, { $ref, description: codes.join(', ') }]
}

function errorResponses(schemas: SchemaComponents): object {
  const schema = schemas.reference(errorResponse)
  const describeStatus = (status: number) => {
    const codes = ALL.filter((code) => ERROR_CODES[code].status === status)
    const hasRetry = status === 429 || status === 503
    return {
      description: codes.join(', '),
      headers: referHeaders({ ...RATE_LIMIT_HEADERS, ...(hasRetry ? RETRY_AFTER : {}) }),
      content: {
        'application/json': { schema, examples: { [codes[0]!]: { value: errorExample(codes[0]!) } } },
      },
    }
  }
  const statuses = new Set(Object.values(ERROR_CODES).map(({ status }) => status))
  const documented = [...statuses].filter((status) => status !== METHOD_NOT_ALLOWED)
  return Object.fromEntries(documented.map((status) => [errorComponent(status), describeStatus(status)]))
}

function describeHeaders(headers: Record<string, Schema>): object {
  return Object.fromEntries(Object.entries(headers).map(([name, schema]) => [name, describe(schema)]))
}

function referHeaders(headers: Record<string, Schema>): object {
  return Object.fromEntries(
    Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )
}

/** Beside the summary: the route's own sentences, then its access and its charge. */
function describeRoute(route: Route): string {
  return [route.details, describeAccess(route), describeCharge(route)].filter(Boolean).join(' ')
}

function describeAccess({ access, auth, headers, method }: Route): string {
  if (access === 'public') return 'Needs no key.'
  if (access === 'any')
    return `Accepts every valid key${auth === 'optional' ? ', and requests without one' : ', whatever its scope'}.`
  if (access === 'admin')
    return `For administrators: needs a key of scope admin, or a browser session${method === 'GET' ? '' : ' that began in the last 12 hours'}.`
  const { scope, reach, previews, byName } = access
  const update = byName ? ', or for an update by name one that permits updateSite' : ''
  const keys = `Needs a key of scope ${scope}${previews ? ' (preview for a preview)' : ''}${REACH[reach]}${update}`
  if (auth !== 'optional') return `${keys}.`
  if (!headers) return `${keys}, or no key.`
  return `${keys}, or the ${takesClaimToken(headers) ? 'claim token of a site without an owner' : 'token of a review link'}.`
}

function takesClaimToken(headers: Route['headers']): boolean {
  return headers !== undefined && CLAIM_TOKEN_HEADER in (headers.properties as object)
}

const REACH = {
  site: '',
  account: ' that is not limited to sites',
  credentials: ' that is not limited to sites and does not expire',
}

function describeCharge({ charge, ends }: Route): string | undefined {
  if (charge === 'none') return 'It does not count towards the hourly limit of requests.'
  if (charge === 'sign-in') return 'It counts towards the hourly limit of sign-ins of the network.'
  if (charge === 'handler') return undefined
  return ends
    ? 'It does not count towards the hourly limit of requests.'
    : 'It counts towards the hourly limit of requests.'
}

const ALL = Object.keys(ERROR_CODES) as ErrorCode[]

function errorComponent(status: number): string {
  return `Error${status}`
}

/** The codes by status: those that follow from the facts of the route, and its own. */
function routeErrors(route: Route): Map<number, ErrorCode[]> {
  const codes = new Set([...ofService(route), ...ofCaller(route), ...ofBody(route), ...(route.errors ?? [])])
  const inOrder = ALL.filter((code) => codes.has(code))
  return Map.groupBy(inOrder, (code) => ERROR_CODES[code].status)
}

/** An error that a service with default settings responds with. */
function errorExample(code: ErrorCode): ErrorBody {
  const { status, meaning: error, hint } = ERROR_CODES[code]
  return { error, code, status, hint, docs: `https://slipway.example.net/docs/errors#${code}` }
}

/** Each route refuses a query that is too long. */
function ofService({ method, charge }: Route): ErrorCode[] {
  return [
    'VALIDATION_ERROR',
    'BLOCKED',
    'INTERNAL',
    'UNAVAILABLE',
    ...when(charge !== 'none', 'RATE_LIMITED'),
    ...when(method !== 'GET', 'INSUFFICIENT_STORAGE'),
  ]
}

/** Also without need of a key: on a service of a private network, for pages of other origins. */
function ofCaller({ access, method, url, headers }: Route): ErrorCode[] {
  const isChange = method !== 'GET'
  const isRefused = access !== 'public' || (isChange && !url.startsWith(UPLOAD_PATH))
  const isScoped = typeof access === 'object'
  const isOfSite = isScoped && url.includes(':slug')
  return [
    ...when(isRefused, 'UNAUTHORIZED'),
    ...when(/[:*]/.test(url) || access === 'admin', 'NOT_FOUND'),
    ...when(access === 'admin' && isChange, 'SIGN_IN_AGAIN'),
    ...when(isScoped, 'INSUFFICIENT_SCOPE'),
    ...when(isScoped && isChange && (method !== 'DELETE' || isOfSite), 'ACCOUNT_SUSPENDED'),
    ...when(isOfSite, 'SITE_EXPIRED'),
    // A suspended site can be read, and it and its parts can be deleted.
    ...when(isOfSite && isChange && method !== 'DELETE' && access.scope !== 'read', 'SITE_SUSPENDED'),
    // The live version is reviewed, which a preview does not need.
    ...when(url.startsWith('/api/v1/publish/:slug/review'), 'SITE_PENDING'),
    ...when(takesClaimToken(headers), 'INVALID_CLAIM_TOKEN'),
  ]
}

function ofBody({ body, bytes, archives }: Route): ErrorCode[] {
  const takesBody = body !== undefined || bytes !== undefined || archives === true
  return [
    ...when(takesBody, 'REQUEST_TIMEOUT', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'),
    ...when(body !== undefined, 'INVALID_JSON'),
    ...when(bytes !== undefined, 'SIZE_MISMATCH'),
    // Until it is live, newer uploads of the site may end its version.
    ...when(archives === true, 'UPLOADS_MISSING', 'UPLOAD_EXPIRED'),
  ]
}

function when(isSo: boolean, ...codes: ErrorCode[]): ErrorCode[] {
  return isSo ? codes : []
}
