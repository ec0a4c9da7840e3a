import type { RequestListener } from 'node:http'
import type { ErrorBody } from '../../../protocol/api/errors.schema.ts'
import type { Caller } from '../../accounts/authorization.ts'
import { type InternalResponse, requestInternally } from '../internal-requests.ts'
import type { Route } from '../route.ts'
import { CallError } from './call-error.ts'
import { type ApiCall, type ApiClient, MAX_INLINE_BYTES } from './tool.ts'

interface ClientOptions {
  baseUrl: string
  routes: ReadonlyMap<string, Route>
  handle: RequestListener
  caller: Caller
  signal: AbortSignal
}

/** Calls the API as a client with the credential of the caller would. */
export function internalClient({ baseUrl, routes, handle, caller, signal }: ClientOptions): ApiClient {
  const send = async (routeId: string, { params = {}, query = {}, body }: ApiCall) => {
    const { method, url } = routes.get(routeId)!
    const response = await requestInternally(handle, {
      method,
      url: fillPath(url, params) + formatQuery(query),
      caller: { client: 'mcp', ...caller },
      body,
      maxContentBytes: MAX_INLINE_BYTES,
      signal,
    })
    if (response.status >= 400) throw await toCallError(response)
    return response
  }
  return {
    baseUrl,
    call: async (routeId, call = {}) => readJson(await send(routeId, call)),
    read: async (routeId, call, { offset, maxBytes }) => {
      const { headers, body } = await send(routeId, call)
      const chunks: Buffer[] = []
      let [skip, length] = [offset, 0]
      for await (const chunk of body) {
        const kept = chunk.subarray(skip)
        skip -= chunk.length - kept.length
        chunks.push(kept)
        length += kept.length
        if (length > maxBytes) break
      }
      const bytes = Buffer.concat(chunks).subarray(0, maxBytes)
      return { type: String(headers['content-type']), bytes, isCut: length > maxBytes }
    },
  }
}

/** Each parameter is one segment, except that of `*`. */
function fillPath(url: string, params: Record<string, unknown>): string {
  return url.replaceAll(/:(\w+)|\*/g, (match, name?: string) =>
    name === undefined
      ? String(params[match]).split('/').map(encodeURIComponent).join('/')
      : encodeURIComponent(String(params[name])),
  )
}

function formatQuery(query: Record<string, unknown>): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

async function readJson<T>({ body }: InternalResponse): Promise<T> {
  return JSON.parse(Buffer.concat(await Array.fromAsync(body)).toString()) as T
}

async function toCallError(response: InternalResponse): Promise<CallError> {
  const retryAfter = response.headers['retry-after']
  const body = await readJson<ErrorBody>(response)
  return new CallError(body, retryAfter === undefined ? undefined : Number(retryAfter))
}
