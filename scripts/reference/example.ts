import type { FieldSchema } from './fields.ts'

interface ExampleCall {
  method: string
  /** The URL of the service. */
  base: string
  /** The path template, with `{name}` for parameters. */
  path: string
  needsKey: boolean
  query: { name: string; required: boolean }[]
  /** The schema of a JSON body. */
  json: FieldSchema | undefined
}

/** Example values by name. */
const VALUES: Record<string, string> = {
  slug: 'amber-harbor-k7x3m2',
  siteSlug: 'amber-harbor-k7x3m2',
  versionId: 'VERSION_ID',
  claimToken: 'CLAIM_TOKEN',
  token: 'TOKEN',
  ct: 'text/html',
  exp: 'TIME',
  path: 'index.html',
  contentType: 'text/html',
  email: 'you@example.com',
  code: 'ABCD-2345',
  domain: 'www.example.com',
  title: 'My site',
}

/** A curl command for an operation with its required fields, or one field when none is required. */
export function example({ method, base, path, needsKey, query, json }: ExampleCall): string {
  const sendsBytes = method === 'PUT' && json === undefined
  // The URL of a single file carries its type; several files are sent as tar.
  const sendsTar = sendsBytes && !query.some(({ name }) => name === 'ct')
  const listed = query.filter(({ required }) => required || sendsBytes)
  const search = listed.map(({ name }) => `${name}=${encodeURIComponent(VALUES[name] ?? name.toUpperCase())}`)
  const filled = base + path.replace(/\{(\w+)\}/g, (_, name: string) => VALUES[name] ?? name.toUpperCase())
  const url = search.length > 0 ? `'${filled}?${search.join('&')}'` : filled
  const implied = (method === 'GET' && !json) || (method === 'POST' && json) || sendsBytes
  return [
    `${sendsTar ? 'tar -C folder -c . | ' : ''}curl ${implied ? '' : `-X ${method} `}${url}`,
    needsKey && `-H 'Authorization: Bearer sl_live_…'`,
    sendsTar && `-H 'Content-Type: application/x-tar' -T -`,
    sendsBytes && !sendsTar && `-H 'Content-Type: text/html' -T index.html`,
    json && `-H 'Content-Type: application/json'`,
    json && `-d '${JSON.stringify(sample(json, ''))}'`,
  ]
    .filter((part) => typeof part === 'string')
    .join(' \\\n  ')
}

function sample(schema: FieldSchema, name: string): unknown {
  const [first] = schema.anyOf ?? []
  if (first) return sample(first, name)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  switch ([schema.type].flat()[0]) {
    case 'object':
      return sampleObject(schema)
    case 'array':
      return schema.items ? [sample(schema.items, name)] : []
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 0, 14)
    case 'boolean':
      return true
    default:
      return VALUES[name] ?? name.toUpperCase()
  }
}

function sampleObject({ properties = {}, required = [] }: FieldSchema): Record<string, unknown> {
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1)
  return Object.fromEntries(names.map((name) => [name, sample(properties[name] ?? {}, name)]))
}
