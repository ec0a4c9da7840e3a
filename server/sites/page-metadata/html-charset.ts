const ASCII_INCOMPATIBLE: ReadonlySet<string | undefined> = new Set(['utf-16le', 'utf-16be', 'iso-2022-jp'])

/**
 * As browsers determine it (Encoding Standard; HTML, 13.2.3): by byte order mark, media type, then the document's own
 * declaration. Undefined without any.
 */
export function detectCharset(
  bytes: Buffer,
  contentType: string,
  declared: string | undefined,
): string | undefined {
  const mark = bytes.toString('latin1', 0, 3)
  if (mark.startsWith('\xFE\xFF')) return 'utf-16be'
  if (mark.startsWith('\xFF\xFE')) return 'utf-16le'
  if (mark === '\xEF\xBB\xBF') return 'utf-8'
  return findEncoding(parseCharset(contentType)) ?? declared
}

/** Undefined when a `<meta>` with these attributes declares no known encoding. */
export function parseMetaCharset(attributes: ReadonlyMap<string, string>): string | undefined {
  const isType = attributes.get('http-equiv')?.toLowerCase() === 'content-type'
  const label =
    attributes.get('charset') ?? (isType ? parseCharset(attributes.get('content') ?? '') : undefined)
  const encoding = findEncoding(label)
  // A readable declaration cannot be UTF-16.
  return encoding?.startsWith('utf-16') ? 'utf-8' : encoding
}

/** Whether ASCII text can be inserted between tags. */
export function isAsciiCompatible(charset: string | undefined): boolean {
  return !ASCII_INCOMPATIBLE.has(charset)
}

function parseCharset(contentType: string): string | undefined {
  return /charset\s*=\s*(?:["']\s*)?([^\s;"']+)/i.exec(contentType)?.[1]
}

function findEncoding(label: string | undefined): string | undefined {
  if (label === undefined) return undefined
  try {
    return new TextDecoder(label).encoding
  } catch {
    return undefined
  }
}
