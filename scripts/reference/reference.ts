import type { DocsSection } from '../../protocol/docs-section.ts'
import { type Html, html } from '../../server/lib/html.ts'
import { documentPage } from './contents.ts'
import { curlExample } from './example.ts'
import { type FieldSchema, fieldList, row } from './fields.ts'
import { resolveReferences } from './resolve-references.ts'

/** The supported part of an OpenAPI 3.1 document. */
interface ApiDocument {
  info?: { title?: string; version?: string; description?: string }
  servers?: { url: string }[]
  security?: object[]
  paths?: Record<string, Record<string, Operation>>
}

interface Operation {
  tags?: string[]
  summary?: string
  description?: string
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { content: Content }
  responses?: Record<string, DocumentedResponse>
}

interface DocumentedResponse {
  /** Of an error: its codes, separated by commas. */
  description?: string
  content?: Content
}

interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema?: FieldSchema
}

type Content = Record<string, { schema?: FieldSchema; examples?: Record<string, { value: unknown }> }>

interface Call extends Operation {
  method: string
  path: string
  id: string
  base: string
  security: object[]
}

/** Renders the API reference from an OpenAPI 3.1 document. Operations are folded. */
export function referenceContent(document: object): string {
  const { info = {}, ...api } = resolveReferences(document) as ApiDocument
  const base = api.servers?.[0]?.url ?? ''
  const sections = [...Map.groupBy(listCalls(api, base), ({ tags }) => tags?.[0] ?? 'Other')]
  const entries = sections.map(([tag]) => html`<li><a href="#${anchor(tag)}">${tag}</a></li>`)
  return documentPage(
    'api',
    html`<div class="stack">
          <h1>API reference</h1>
          <p class="lead">${info.description}</p>
        </div>
        ${basics(base, info.version)}
        ${sections.map(section)}`,
    entries,
  )
}

/** The operations of an OpenAPI document for the search. */
export function referenceEntries(document: object): DocsSection[] {
  return listCalls(resolveReferences(document) as ApiDocument, '').map(
    ({ id, method, path, summary = path, description = '' }) => ({
      page: 'api',
      id,
      title: summary,
      text: `${method} ${path} ${description}`.trim(),
    }),
  )
}

function listCalls({ paths = {}, security = [] }: ApiDocument, base: string): Call[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      security,
      ...operation,
      method: method.toUpperCase(),
      path,
      id: anchor(`${method} ${path}`),
      base,
    })),
  )
}

function anchor(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

function basics(base: string, version: string | undefined): Html {
  return html`<section class="stack" aria-labelledby="basics">
          <h2 id="basics">Basics</h2>
          <p>
            This is version ${version} at <code>${base}</code>. Bodies are JSON unless an operation says otherwise. Sizes are in
            bytes; times are ISO 8601 in UTC. Responses may get more fields: ignore fields that you do not know.
          </p>
          <p>
            <strong>API key.</strong> Request a code by email, exchange it for a key, and send the key with each request:
            <code>Authorization: Bearer sl_live_…</code>. Publishing works without a key; such a site expires unless it is
            claimed.
          </p>
          <p>
            <strong>Rate limits.</strong> Requests are counted per hour. Each response has the headers
            <code>X-RateLimit-Limit</code>, <code>X-RateLimit-Remaining</code> and <code>X-RateLimit-Reset</code>, a Unix
            time. Uploads are not counted.
          </p>
        </section>`
}

function section([tag, calls]: [string, Call[]]): Html {
  return html`<section class="stack wide" aria-labelledby="${anchor(tag)}">
          <h2 id="${anchor(tag)}">${tag}</h2>
          <div>${calls.map(operation)}</div>
        </section>`
}

/** A link to the anchor opens the operation, because the anchor is inside. */
function operation(call: Call): Html {
  const { id, method, path, summary, description, responses = {} } = call
  return html`<details class="operation">
            <summary><h3>${summary ?? path}</h3> <span class="call"><b>${method}</b> <span>${path}</span></span></summary>
            <div id="${id}" class="stack">
              <p class="quiet">${keyWords(call)} <a href="#${id}">Link</a></p>
              ${description && html`<p>${description}</p>`}
              ${parameterList(call, 'path')}
              ${bodyFields(call)}
              ${parameterList(call, 'query')}
              <pre><code>${buildExample(call)}</code></pre>
              ${Object.entries(responses).map(renderResponse)}
              ${errorCodes(responses)}
            </div>
          </details>`
}

function keyWords({ security }: Call): string {
  if (security.length === 0) return 'No key.'
  return isKeyNeeded(security) ? 'Needs a key.' : 'With or without a key.'
}

function isKeyNeeded(security: object[]): boolean {
  return security.length > 0 && security.every((way) => Object.keys(way).length > 0)
}

/** Path parameters are visible in the URL and are listed only when they have a description. */
function parameterList({ parameters = [] }: Call, place: 'path' | 'query'): Html | undefined {
  const here = parameters.filter(
    (parameter) => parameter.in === place && (place !== 'path' || parameter.description),
  )
  if (here.length === 0) return undefined
  return html`<h4>In the ${place}</h4><dl class="fields">${here.map(parameterRow)}</dl>`
}

function parameterRow({ name, required = false, description, schema = {} }: Parameter): Html {
  const described = { ...schema, ...(description === undefined ? {} : { description }) }
  return row({ name, schema: described, required }, 'required')
}

/** When an operation accepts JSON or bytes, query parameters belong to the bytes. */
function bodyFields({ requestBody }: Call): Html | undefined {
  if (!requestBody) return undefined
  const { 'application/json': json, ...others } = requestBody.content
  const types = Object.keys(others)
  return html`<h4>Body</h4>
            ${json?.schema && fieldList(json.schema, 'required')}
            ${types.length > 0 && json ? html`<h4>Or bytes as the body</h4><p>${types.map(renderCode)}. The fields then go into the query.</p>` : undefined}
            ${types.length > 0 && !json ? html`<p>Bytes: ${types.map(renderCode)}.</p>` : undefined}`
}

function renderCode(text: string, index: number): Html {
  return html`${index > 0 ? ', ' : ''}<code>${text}</code>`
}

function renderResponse([status, { content }]: [string, DocumentedResponse]): Html | undefined {
  if (/^[45]/.test(status)) return undefined
  const { schema, examples = {} } = content?.['application/json'] ?? {}
  if (!schema) return html`<p class="answer"><b>${status}</b> <span>The bytes</span></p>`
  const samples = Object.values(examples).map(
    ({ value }) => html`<pre><code>${JSON.stringify(value, null, 2)}</code></pre>`,
  )
  return html`<details class="answer"><summary><b>${status}</b> <span>Response</span></summary>${samples}${fieldList(schema, 'optional')}</details>`
}

/** Links to the errors that the operation responds with. */
function errorCodes(responses: Record<string, DocumentedResponse>): Html | undefined {
  const errors = Object.entries(responses).filter(([status]) => /^[45]/.test(status))
  const codes = errors.flatMap(([, { description }]) => description?.split(', ') ?? [])
  if (codes.length === 0) return undefined
  const links = codes.map(
    (code, index) => html`${index > 0 ? ', ' : ''}<a href="/docs/errors#${code}">${code}</a>`,
  )
  return html`<details class="answer"><summary>Errors</summary><p>${links}</p></details>`
}

function buildExample({ method, path, base, security, parameters = [], requestBody }: Call): string {
  const query = parameters.filter((parameter) => parameter.in === 'query')
  return curlExample({
    method,
    base,
    path,
    needsKey: isKeyNeeded(security),
    query: query.map(({ name, required = false }) => ({ name, required })),
    json: requestBody?.content['application/json']?.schema,
    isDirect: ['*/*', 'application/zip'].every((type) => type in (requestBody?.content ?? {})),
  })
}
