import { inNfc } from '../nfc.ts'

/**
 * The path of a file, folder or page in the one spelling that tables know: what a URL cannot have as it is, and `%`,
 * is percent-encoded. So a plain path needs no reading, and no malformed one is the path of anything.
 */
export function pathOf(name: string): string {
  return `/${encodeURI(name)}`
}

/** The name that a spelled path is of. */
export function nameOf(path: string): string {
  return decodeURI(path.slice(1))
}

/** Where a browser finds a path: percent-encoded in full, so that nothing in it reads as a query or as a host. */
export function addressOf(path: string): string {
  return `/${nameOf(path).split('/').map(encodeURIComponent).join('/')}`
}

/** What a path ends in. */
export function lastName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The folder of a path, with its slash. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1)
}

/**
 * The one spelling of a path as it came in a request, or undefined when it is not percent-encoded UTF-8. Names are
 * compared as they are: dot segments and empty ones are names that no manifest has. Neither has any a slash within a
 * segment or a null byte, so an encoded slash may become the latter and never parts segments.
 */
export function spelled(path: string): string | undefined {
  if (KEPT.test(path)) return path
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

/** The same path with its characters composed (Unicode NFC). */
export function composed(path: string): string {
  return path.includes('%') ? encodeURI(inNfc(decodeURI(path))) : path
}

/** What `encodeURI` leaves as it is. */
const KEPT = /^[\w;,/?:@&=+$.!~*'()#-]*$/

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
