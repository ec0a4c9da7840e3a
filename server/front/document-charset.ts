/** Encodings in which a byte below 0x80 is not always a character of ASCII. */
const NOT_OVER_ASCII: ReadonlySet<string | undefined> = new Set(['utf-16le', 'utf-16be', 'iso-2022-jp'])

/**
 * The encoding of an HTML document as browsers find it (Encoding Standard; HTML, 13.2.3): by its byte order mark, by its
 * media type, then by what it declares itself. Undefined when nothing says it.
 */
export function charsetOfDocument(
  bytes: Buffer,
  contentType: string,
  declared: string | undefined,
): string | undefined {
  const mark = bytes.toString('latin1', 0, 3)
  if (mark.startsWith('\xFE\xFF')) return 'utf-16be'
  if (mark.startsWith('\xFF\xFE')) return 'utf-16le'
  if (mark === '\xEF\xBB\xBF') return 'utf-8'
  return encodingNamed(charsetIn(contentType)) ?? declared
}

/** The encoding that a `<meta>` with these attributes declares; undefined when it declares none that is known. */
export function charsetOfMeta(attributes: ReadonlyMap<string, string>): string | undefined {
  const isType = attributes.get('http-equiv')?.toLowerCase() === 'content-type'
  const label = attributes.get('charset') ?? (isType ? charsetIn(attributes.get('content') ?? '') : undefined)
  const encoding = encodingNamed(label)
  // Who can read the declaration does not read UTF-16.
  return encoding?.startsWith('utf-16') ? 'utf-8' : encoding
}

/** Whether text in ASCII can be put between the tags of such a document. */
export function isOverAscii(charset: string | undefined): boolean {
  return !NOT_OVER_ASCII.has(charset)
}

function charsetIn(contentType: string): string | undefined {
  return /charset\s*=\s*["']?\s*([^\s;"']+)/i.exec(contentType)?.[1]
}

function encodingNamed(label: string | undefined): string | undefined {
  if (label === undefined) return undefined
  try {
    return new TextDecoder(label).encoding
  } catch {
    return undefined
  }
}
