import type { RequestListener } from 'node:http'
import type { ErrorBody, ErrorCode } from '../../../protocol/api/errors.schema.ts'
import type { OperationId } from '../../../protocol/api/paths.ts'
import { requestTarget } from '../../../protocol/api/request-target.ts'
import { truncate } from '../../../protocol/format.ts'
import type { Caller } from '../../accounts/authorization.ts'
import { ApiError } from '../../lib/errors.ts'
import { type InternalResponse, requestInternally } from '../internal-requests.ts'
import type { Route } from '../route.ts'
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
  const send = async (id: OperationId, { params, query, body }: ApiCall) => {
    const { method, url } = routes.get(id)!
    const response = await requestInternally(handle, {
      method,
      url: requestTarget(url, params, query),
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
    call: async (id, call = {}) => readJson(await send(id, call)),
    read: async (id, call, { offset, maxBytes }) => {
      const { headers, body } = await send(id, call)
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

async function readJson<T>({ body }: InternalResponse): Promise<T> {
  return JSON.parse(Buffer.concat(await Array.fromAsync(body)).toString()) as T
}

async function toCallError(response: InternalResponse): Promise<CallError> {
  const retryAfter = response.headers['retry-after']
  const body = await readJson<ErrorBody>(response)
  return new CallError(body, retryAfter === undefined ? undefined : Number(retryAfter))
}

const MAX_DETAILS_CHARACTERS = 2000

/** In place of the hints of the API, which name requests. */
const HINTS: Partial<Record<ErrorCode, string>> = {
  UNAUTHORIZED:
    'Sign in: the client asks for it at the address /mcp/account of this server, or send an API key as "Authorization: Bearer". publish_site works without signing in and without name, and update_files with the claimToken of an anonymous site.',
  INVALID_CLAIM_TOKEN: 'Pass the claimToken from the result that created the site.',
  NOT_FOUND:
    'Check the slug with list_sites, which also lists the trash, a path with get_site, a versionId with list_versions, a preview with list_previews, a thread with list_feedback. Keep an anonymous site with claim_site before you use other tools on it.',
  SITE_PENDING: 'Publish a version with publish_site first.',
  SITE_EXPIRED: 'Call publish_site without slug to create a new site.',
  UPLOADS_MISSING: 'Upload the missing files, then call publish_site with slug and versionId again.',
  UPLOAD_EXPIRED: 'Call publish_site with the files again to get new upload targets.',
  PAYLOAD_TOO_LARGE:
    'Pass the files as path, size, contentType and hash, without their contents, to get upload targets; the message has the limit.',
  VERSION_CONFLICT:
    'Compare with the live version in details. To publish on top of it, pass its id as baseVersionId; to overwrite it, leave baseVersionId out.',
  NAME_TAKEN:
    'Choose another name, or leave name out to get a generated one. Pass a site that is shared with you as slug.',
  DOMAIN_TAKEN: 'The domain belongs to another site. Remove it there first, or choose another domain.',
  RATE_LIMITED:
    'Wait until the time in the message; without an account, signing in raises the limit. Published sites stay online.',
}

export function withToolHint(error: ApiError): ApiError {
  const hint = HINTS[error.code]
  return hint === undefined ? error : new ApiError(error.code, error.message, { ...error, hint })
}

export class CallError extends Error {
  readonly body: ErrorBody
  readonly retryAfterSeconds: number | undefined

  constructor(body: ErrorBody, retryAfterSeconds?: number) {
    super(body.error)
    this.body = body
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export function formatCallError({ body, retryAfterSeconds }: CallError): string {
  const { code, error, hint, docs, details } = body
  const known = retryAfterSeconds === undefined ? details : { ...(details as object), retryAfterSeconds }
  const lines = [`${code}: ${error}`, `Next: ${HINTS[code] ?? hint}`, `Docs: ${docs}`]
  if (known !== undefined) lines.push(`Details: ${truncate(JSON.stringify(known), MAX_DETAILS_CHARACTERS)}`)
  return lines.join('\n')
}
