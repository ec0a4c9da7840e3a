/** A decoded email message. `headers` has lower-case names; `raw` is the message as sent. */
export interface ReadLetter {
  from: string
  to: string
  subject: string
  text: string
  headers: Map<string, string>
  raw: string
}

/** Parses a message with one plain-text part (RFC 5322, 2045, 2047). */
export function readLetter(raw: string): ReadLetter {
  const [head, ...body] = raw.replaceAll('\r\n', '\n').split('\n\n')
  const headers = new Map<string, string>()
  for (const line of head!.replaceAll(/\n[ \t]+/g, ' ').split('\n')) {
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim()))
  }
  const header = (name: string) => headers.get(name) ?? ''
  const text = decodeBody(body.join('\n\n'), header('content-transfer-encoding').toLowerCase())
  return { from: header('from'), to: header('to'), subject: header('subject'), text, headers, raw }
}

function decodeBody(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(body.replaceAll('=\n', ''))
  return body
}

function decodeWords(value: string): string {
  return value
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?[^?]+\?([BQ])\?([^?]*)\?=/gi, (_, kind: string, word: string) =>
      kind.toUpperCase() === 'B'
        ? Buffer.from(word, 'base64').toString()
        : decodeQuotedPrintable(word.replaceAll('_', ' ')),
    )
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text.replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(bytes, 'latin1').toString()
}
