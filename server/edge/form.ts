import type { IncomingMessage } from 'node:http'

const MOST_BYTES = 4096

/** The fields of a posted form, or the status that refuses it. A body that is not read to its end ends the connection. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams | 413 | 415> {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') return 415
  if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) return 413
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_BYTES) return 413
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString())
}
