import { example as sample } from '../../protocol/api/examples.ts'
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
  /** The body is an archive of any type. */
  isDirect: boolean
}

/** A curl command for an operation with its required fields, or one field when none is required. */
export function curlExample({ method, base, path, needsKey, query, json, isDirect }: ExampleCall): string {
  if (isDirect) return `curl -T site.zip ${fillPath(base, path)}`
  const sendsBytes = method === 'PUT' && json === undefined
  // The URL of a single file carries its type; several files are sent as tar.
  const sendsTar = sendsBytes && !query.some(({ name }) => name === 'ct')
  const listed = query.filter(({ required }) => required || sendsBytes)
  const search = listed.map(({ name }) => `${name}=${encodeURIComponent(value(name))}`)
  const filled = fillPath(base, path)
  const url = search.length > 0 ? `'${filled}?${search.join('&')}'` : filled
  const implied = (method === 'GET' && !json) || (method === 'POST' && json) || sendsBytes
  return [
    `${sendsTar ? 'tar -C folder -c . | ' : ''}curl ${implied ? '' : `-X ${method} `}${url}`,
    needsKey && `-H 'Authorization: Bearer sl_live_…'`,
    sendsTar && `-H 'Content-Type: application/x-tar' -T -`,
    sendsBytes && !sendsTar && `-H 'Content-Type: text/html' -T index.html`,
    json && `-H 'Content-Type: application/json'`,
    json && `-d '${JSON.stringify(sample({ ...json }, ''))}'`,
  ]
    .filter((part) => typeof part === 'string')
    .join(' \\\n  ')
}

function fillPath(base: string, path: string): string {
  return base + path.replace(/\{(\w+)\}/g, (_, name: string) => value(name))
}

function value(name: string): string {
  return String(sample({ type: 'string' }, name))
}
