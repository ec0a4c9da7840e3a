import { normalizeNfc } from '../../protocol/manifest/unicode.ts'

/**
 * The canonical form of a path in route tables: percent-encoded where a URL requires it, and `%`. A plain
 * path is canonical already, and no malformed path is.
 */
export function encodePath(name: string): string {
  return `/${encodeURI(name)}`
}

/** The file name of a canonical path. */
export function decodePath(path: string): string {
  return decodeURI(path.slice(1))
}

/** The URL path of a file: fully percent-encoded, so that nothing in it reads as a query or a host. */
export function toHref(path: string): string {
  return path.replace(/[;,?:@&=+$#]/g, encodeURIComponent)
}

/** The last segment of a path. */
export function basename(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The folder of a path, with its slash. */
export function dirname(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1)
}

/**
 * The canonical form of a request path, or undefined when it is not percent-encoded UTF-8. Names are compared
 * literally: no manifest has dot segments or empty ones, nor a slash or null byte within a segment, so an
 * encoded slash becomes a null byte and never separates segments.
 */
export function canonicalize(path: string): string | undefined {
  if (UNRESERVED.test(path)) return path
  if (/^[!-$&-~]*$/.test(path)) return encodeURI(path)
  if (/%(?![0-9a-f]{2})/i.test(path)) return undefined
  const bytes = path.replace(/%(..)/g, (_, hex: string) => {
    return hex === '2f' || hex === '2F' ? '\0' : String.fromCharCode(Number.parseInt(hex, 16))
  })
  try {
    return encodeURI(utf8.decode(Buffer.from(bytes, 'latin1')))
  } catch {
    return undefined
  }
}

/** What an encoded slash is in a canonical path. */
export const ENCODED_SLASH = '%00'

/** The same spelled path with its characters composed (Unicode NFC). */
export function toNfc(path: string): string {
  if (!path.includes('%')) return path
  const decoded = decodeURI(path)
  const nfc = normalizeNfc(decoded)
  return nfc === decoded ? path : encodeURI(nfc)
}

/** Characters that `encodeURI` leaves unchanged. */
const UNRESERVED = /^[\w;,/?:@&=+$.!~*'()#-]*$/

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
