import type { Answer } from './answer.ts'
import type { FolderRedirect, ServedFile, Table } from './table.ts'

/** What a path gets. `page` is the site's own 404 page, if it has one for that place. */
export type Outcome =
  | ServedFile
  | FolderRedirect
  | { kind: 'missing'; page: Answer | undefined; asset: boolean }
  | { kind: 'malformed' }

/** A missing script or style is never answered with HTML (contract, "Serving", 3). */
const ASSET = /\.(?:[cm]?js|css)$/i

/** Looks up a path as it came in a request, percent-encoded and beginning with a slash. Pure. */
export function resolve(table: Table, path: string): Outcome {
  const name = nameIn(path)
  if (name === undefined) return { kind: 'malformed' }
  const entry = table.entries.get(name)
  if (entry) return entry
  const composed = name.normalize('NFC')
  return table.entries.get(composed) ?? missing(table, composed)
}

/**
 * The name that a path asks for, or undefined when it is not percent-encoded UTF-8. Names are compared as they
 * are: dot segments and empty ones are names that no manifest has. Neither has any a slash within a segment or
 * a null byte, so an encoded slash may become the latter and never parts segments.
 */
function nameIn(path: string): string | undefined {
  if (/^[!-$&-~]*$/.test(path)) return path.slice(1)
  if (/%(?![0-9a-f]{2})/i.test(path)) return undefined
  const bytes = path.slice(1).replace(/%(..)/g, (_, hex: string) => {
    return hex === '2f' || hex === '2F' ? '\0' : String.fromCharCode(Number.parseInt(hex, 16))
  })
  try {
    return utf8.decode(Buffer.from(bytes, 'latin1'))
  } catch {
    return undefined
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The nearest 404 page upwards. Starts no deeper than the deepest one there is, however long the path. */
function missing(table: Table, name: string): Outcome {
  if (ASSET.test(name)) return { kind: 'missing', page: undefined, asset: true }
  let end = Math.min(name.length, table.deepest)
  while (end > 0) {
    end = name.lastIndexOf('/', end - 1) + 1
    const page = table.missingPages.get(name.slice(0, end))
    if (page) return { kind: 'missing', page, asset: false }
    end--
  }
  return { kind: 'missing', page: table.missingPages.get(''), asset: false }
}
