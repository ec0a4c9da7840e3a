import { gunzipSync } from 'node:zlib'
import { sha256 } from '../api/content.ts'
import { findHeader, type WireResponse } from './wire.ts'

/** What matters of an answer to a visitor, in words that can be compared between servers; `none` is not there. */
export interface Seen {
  status: string
  /** A file by its name, `part` and a hash, or `own page` for what the server wrote itself. */
  body: string
  type: string
  length: string
  range: string
  ranges: string
  location: string
  /** Strong or weak. */
  etag: string
  /** Given or none. */
  modified: string
  allow: string
  encoding: string
  vary: string
  /** Stays or closes. */
  connection: string
}

/** Puts an answer into these words; `names` has the names of files by the hashes of their bytes. */
export function seen(answer: WireResponse, names: ReadonlyMap<string, string>): Seen {
  const value = (name: string) => findHeader(answer, name) ?? 'none'
  const body = comparableBody(answer, names)
  const isOwn = body === 'own page' || (body === 'none' && answer.status >= 300 && answer.status !== 404)
  const etag = value('etag')
  return {
    status: String(answer.status),
    body,
    type: isOwn ? 'of its own' : value('content-type'),
    length: isOwn ? 'of its own' : value('content-length'),
    range: value('content-range'),
    ranges: value('accept-ranges'),
    location: value('location'),
    etag: etag.replace(/^W\/".*"$/, 'weak').replace(/^".*"$/, 'strong'),
    modified: value('last-modified').replace(/.* GMT/, 'given'),
    allow: value('allow'),
    encoding: value('content-encoding'),
    vary: value('vary'),
    connection: value('connection').toLowerCase() === 'close' ? 'closes' : 'stays',
  }
}

function comparableBody(
  { status, body, ...answer }: WireResponse,
  names: ReadonlyMap<string, string>,
): string {
  if (body.length === 0) return 'none'
  const isGzip = answer.headers.some(([name, value]) => name === 'content-encoding' && value === 'gzip')
  const hash = sha256(isGzip ? gunzipSync(body) : body)
  return names.get(hash) ?? (status === 206 ? `part ${hash.slice(0, 12)}` : 'own page')
}
