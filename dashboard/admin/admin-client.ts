import { readJson, sendRequest } from '../../client/sdk/response.ts'
import type { HttpRequest } from '../../client/sdk/transport.ts'
import { serverNow } from '../api/server-clock.ts'
import { transport } from '../api/slipway.ts'

type Query = Readonly<Record<string, string | undefined>>

/** Reads from a route below `/api/admin/`. */
export function readAdmin<T>(path: string, query: Query = {}): Promise<T> {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]))
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  return send<T>({ method: 'GET', url: `/api/admin/${path}${search}`, headers: {} })
}

/** Changes something by a route below `/api/admin/`. */
export function changeAdmin<T>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  json?: unknown,
): Promise<T> {
  const url = `/api/admin/${path}`
  if (json === undefined) return send<T>({ method, url, headers: {} })
  const headers = { 'Content-Type': 'application/json' }
  return send<T>({ method, url, headers, body: JSON.stringify(json) })
}

async function send<T>(request: HttpRequest): Promise<T> {
  return readJson<T>(await sendRequest(transport, request, serverNow), request)
}
