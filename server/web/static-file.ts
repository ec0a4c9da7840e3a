import { hash } from 'node:crypto'
import type { HttpRequest } from '../../packages/http-server/http-handler.ts'
import type { Encoding } from '../blobs/encoding.ts'
import { sliceRange } from '../edge/body/body-cache.ts'
import { fileResponse } from '../edge/respond/file-response.ts'
import { publicPolicy, toLastModified } from '../edge/respond/policy.ts'
import { ServedFile, toFileType } from '../edge/respond/served-file.ts'
import type { EdgeResponse } from '../edge/response.ts'

export interface StaticFile {
  served: ServedFile
  bodies: ReadonlyMap<Encoding | undefined, Buffer>
}

export interface PageResponse {
  response: EdgeResponse
  body: Buffer | undefined
}

/** A file without encodings, which clients revalidate. */
export function staticFile(source: {
  path: string
  type: string
  bytes: Buffer
  modifiedAt: number
  /** In addition to the usual ones, name before value. */
  headers?: readonly string[]
}): StaticFile {
  const { path, type, bytes, modifiedAt, headers = [] } = source
  const modified = toLastModified(modifiedAt)
  const policy = publicPolicy({ publishedAt: modified, metadataChangedAt: modified })
  const served = new ServedFile({
    path,
    file: { hash: hash('sha256', bytes), size: bytes.length },
    type: toFileType(type),
    modified,
    policy: { ...policy, cacheControl: 'no-cache', extraHeaders: headers },
  })
  return { served, bodies: new Map([[undefined, bytes]]) }
}

export function toPageResponse(
  { served, bodies }: StaticFile,
  request: Pick<HttpRequest, 'headers' | 'isHead'>,
): PageResponse {
  const response = fileResponse(served.representation(request.headers['accept-encoding']), request)
  const { content } = response
  const body = content ? sliceRange(bodies.get(content.encoding)!, content) : response.body
  return { response, body }
}
