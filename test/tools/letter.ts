/** A decoded email. `headers` has lower-case names; `raw` is the email as sent. */
export interface ReadLetter {
  from: string
  to: string
  subject: string
  text: string
  html: string
  headers: Map<string, string>
  raw: string
}

/** Parses an email with a text and an HTML part (RFC 5322, 2045, 2046, 2047). */
export function readLetter(raw: string): ReadLetter {
  const { headers, body } = splitEntity(raw.replaceAll('\r\n', '\n'))
  const header = (name: string) => headers.get(name) ?? ''
  const boundary = /boundary="([^"]+)"/.exec(header('content-type'))?.[1]
  const parts = body.split(`--${boundary}`).slice(1, -1).map(splitEntity)
  const part = (type: string) => {
    const found = parts.find((one) => one.headers.get('content-type')?.startsWith(type))
    const encoding = found?.headers.get('content-transfer-encoding')?.toLowerCase() ?? ''
    return found ? decodeBody(found.body, encoding) : ''
  }
  const [from, to, subject] = [header('from'), header('to'), header('subject')]
  return { from, to, subject, text: part('text/plain'), html: part('text/html'), headers, raw }
}

/** A header section and a body. */
function splitEntity(text: string): { headers: Map<string, string>; body: string } {
  const [head, ...body] = text.trimStart().split('\n\n')
  const headers = new Map<string, string>()
  for (const line of head!.replaceAll(/\n[ \t]+/g, ' ').split('\n')) {
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim()))
  }
  return { headers, body: body.join('\n\n') }
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
