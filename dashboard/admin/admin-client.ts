import { readJson, sendRequest } from '../../client/sdk/response.ts'
import type { HttpRequest } from '../../client/sdk/transport.ts'
import { expire } from '../api/resource.ts'
import { serverNow } from '../api/server-clock.ts'
import { transport } from '../api/slipway.ts'

type Query = Readonly<Record<string, string | undefined>>

/** Reads from a route below `/api/admin/`. */
export function readAdmin<T>(path: string, query: Query = {}): Promise<T> {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]))
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  return send<T>({ method: 'GET', url: `/api/admin/${path}${search}`, headers: {} })
}

/** Changes something by a route below `/api/admin/`. Other pages of the administration are then loaded again. */
export async function changeAdmin<T>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  json?: unknown,
): Promise<T> {
  const url = `/api/admin/${path}`
  const headers = json === undefined ? {} : { 'Content-Type': 'application/json' }
  const body = json === undefined ? {} : { body: JSON.stringify(json) }
  const changed = await send<T>({ method, url, headers, ...body })
  expire('admin')
  return changed
}

async function send<T>(request: HttpRequest): Promise<T> {
  return readJson<T>(await sendRequest(transport, request, serverNow), request)
}
