import type { ErrorCode } from '../../protocol/api/errors.ts'
import { ERROR_CODES } from '../../server/lib/error-codes.ts'
import { STATUS } from '../../server/lib/errors.ts'
import { type Html, html } from '../../server/lib/html.ts'
import { example } from './example.ts'
import { type FieldSchema, fieldList, row } from './fields.ts'

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
  content?: Content
}

interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema?: FieldSchema
}

type Content = Record<string, { schema?: FieldSchema }>

interface Call extends Operation {
  method: string
  path: string
  id: string
  base: string
  security: object[]
}

/** Renders the API reference from an OpenAPI 3.1 document with inlined schemas. */
export function referenceContent(document: object): string {
  const { info = {}, ...api } = document as ApiDocument
  const base = api.servers?.[0]?.url ?? ''
  const calls = listCalls(api, base)
  const sections = [...Map.groupBy(calls, (call) => call.tags?.[0] ?? 'Other')]
  return html`<div class="with-contents">
      ${contents(sections)}
      <main id="reference" tabindex="-1" class="page stack wide">
        <div class="stack">
          <h1>API reference</h1>
          <p class="lead">${info.description}</p>
        </div>
        ${basics(base, info.version)}
        ${sections.map(section)}
        ${errors()}
      </main>
    </div>`.text
}

function listCalls({ paths = {}, security = [] }: ApiDocument, base: string): Call[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      security,
      ...operation,
      method: method.toUpperCase(),
      path: path.replace('{*}', '{path}'),
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

function contents(sections: [string, Call[]][]): Html {
  const item = ({ id, summary, path }: Call) =>
    html`<li><a href="#${id}">${shortened(summary) ?? path}</a></li>`
  return html`<nav class="contents" aria-label="Contents">
        <ul>
          <li><a href="#basics">Basics</a></li>
          ${sections.map(([tag, calls]) => html`<li><a href="#${anchor(tag)}">${tag}</a><ul>${calls.map(item)}</ul></li>`)}
          <li><a href="#errors">Errors</a></li>
        </ul>
      </nav>`
}

function shortened(summary: string | undefined): string | undefined {
  return summary?.split(';', 1)[0]
}

function basics(base: string, version: string | undefined): Html {
  return html`<section class="stack" aria-labelledby="basics">
          <h2 id="basics">Basics</h2>
          <p>
            This is version ${version} at <code>${base}</code>. Bodies are JSON unless a call says otherwise. Sizes are bytes;
            times are ISO 8601 in UTC. Ignore fields you do not know: more may come.
          </p>
          <p>
            <strong>Key.</strong> Have a code mailed to you, exchange it for a key, and send the key with each call:
            <code>Authorization: Bearer sl_live_…</code>. Publishing works without one; such a site expires unless it is
            claimed.
          </p>
          <p>
            <strong>Limits.</strong> Requests are counted by the hour. Each answer says where you stand:
            <code>X-RateLimit-Limit</code>, <code>X-RateLimit-Remaining</code> and <code>X-RateLimit-Reset</code>, a Unix
            time. Uploads are not counted.
          </p>
        </section>`
}

function section([tag, calls]: [string, Call[]]): Html {
  return html`<section class="stack wide" aria-labelledby="${anchor(tag)}">
          <h2 id="${anchor(tag)}">${tag}</h2>
          ${calls.map(operation)}
        </section>`
}

function operation(call: Call): Html {
  const { id, method, path, summary, description, responses = {} } = call
  return html`<article id="${id}" class="stack operation" aria-labelledby="${id}-title">
            <h3 id="${id}-title"><a href="#${id}">${summary ?? path}</a></h3>
            <p class="call"><b>${method}</b> <span>${path}</span> <em>${keyWords(call)}</em></p>
            ${description && html`<p>${description}</p>`}
            ${parameterList(call, 'path')}
            ${bodyFields(call)}
            ${parameterList(call, 'query')}
            <pre><code>${buildExample(call)}</code></pre>
            ${Object.entries(responses).map(renderResponse)}
          </article>`
}

function keyWords({ security }: Call): string {
  if (security.length === 0) return 'no key'
  return isKeyNeeded(security) ? 'needs a key' : 'with or without a key'
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
  return row({ name: name === '*' ? 'path' : name, schema: described, required }, 'required')
}

/** When an operation accepts JSON or bytes, query parameters belong to the bytes. */
function bodyFields({ requestBody }: Call): Html | undefined {
  if (!requestBody) return undefined
  const { 'application/json': json, ...others } = requestBody.content
  const types = Object.keys(others)
  return html`<h4>Body</h4>
            ${json?.schema && fieldList(json.schema, 'required')}
            ${types.length > 0 ? html`<h4>Or bytes as the body</h4><p>${types.map(renderCode)}. What the fields say then stands in the query.</p>` : undefined}`
}

function renderCode(text: string, index: number): Html {
  return html`${index > 0 ? ', ' : ''}<code>${text}</code>`
}

function renderResponse([status, { content }]: [string, DocumentedResponse]): Html | undefined {
  if (/^[45]/.test(status)) return undefined
  const schema = content?.['application/json']?.schema
  if (!schema) return html`<p class="answer"><b>${status}</b> <span>The bytes</span></p>`
  return html`<details class="answer"><summary><b>${status}</b> <span>What comes back</span></summary>${fieldList(schema, 'optional')}</details>`
}

function buildExample({ method, path, base, security, parameters = [], requestBody }: Call): string {
  const query = parameters.filter((parameter) => parameter.in === 'query')
  return example({
    method,
    base,
    path,
    needsKey: isKeyNeeded(security),
    query: query.map(({ name, required = false }) => ({ name, required })),
    json: requestBody?.content['application/json']?.schema,
  })
}

function errors(): Html {
  const rows = Object.entries(ERROR_CODES).map(([code, { meaning, hint }]) => {
    const status = STATUS[code as ErrorCode]
    return html`<div id="${code}"><dt><code>${code}</code> <span>${status}</span></dt><dd>${meaning} ${hint}</dd></div>`
  })
  return html`<section class="stack" aria-labelledby="errors">
          <h2 id="errors">Errors</h2>
          <p>
            Every error is JSON: <code>error</code> is a sentence for a person, <code>code</code> identifies the error and never
            changes, <code>status</code> is the HTTP status, <code>hint</code> says what to do next, <code>docs</code> links to
            the code in this list, and <code>details</code> names what is wrong, where possible.
          </p>
          <dl class="fields">${rows}</dl>
        </section>`
}
