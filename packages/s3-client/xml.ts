/** The responses of S3: elements without attributes that matter, nested by name (no element contains one of its name). */

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

export function childText(xml: string, name: string): string | undefined {
  return childTexts(xml, name)[0]
}

export function childTexts(xml: string, name: string): string[] {
  const found: string[] = []
  const [open, close] = [`<${name}>`, `</${name}>`]
  for (let at = xml.indexOf(open); at >= 0; ) {
    const end = xml.indexOf(close, at)
    if (end < 0) break
    found.push(decode(xml.slice(at + open.length, end)))
    at = xml.indexOf(open, end)
  }
  return found
}

export function encodeText(text: string): string {
  return text.replace(/[&<>]/g, (character) =>
    character === '&' ? '&amp;' : character === '<' ? '&lt;' : '&gt;',
  )
}

function decode(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hexadecimal, name: string) => {
    if (name !== undefined) return ENTITIES[name] ?? whole
    return String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hexadecimal, 16))
  })
}
