import type { IncomingMessage } from 'node:http'

const MOST_BYTES = 4096

/** A form fits into a packet or three; who takes longer is holding a connection. */
const MOST_MILLISECONDS = 15_000

/** The fields of a posted form, or the status that refuses it. The connection ends when the form does not. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams | 413 | 415> {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') return 415
  if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) return 413
  const tooLong = setTimeout(() => request.destroy(), MOST_MILLISECONDS)
  try {
    const bytes = await read(request)
    return bytes ? new URLSearchParams(bytes.toString()) : 413
  } finally {
    clearTimeout(tooLong)
  }
}

async function read(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
