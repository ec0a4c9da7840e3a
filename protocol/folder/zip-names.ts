/** A name of a zip. */
export interface ZipName {
  bytes: Uint8Array
  /** The path of a valid extra field with a Unicode path, which replaces the bytes. */
  unicode: string | undefined
  /** The upper byte of "version made by" (APPNOTE 4.4.2.2). */
  system: number
}

interface ZipNames {
  names: string[]
  /** What was guessed, as sentences. */
  notes: string[]
}

const UNIX_SYSTEMS = new Set([3, 19])

// biome-ignore format: one row of the code page each
const CP437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0'
const CP850 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0'

/**
 * Code pages in the order in which they are tried; an archive of a Unix system more likely has names in windows-1252. The
 * Encoding Standard has no tables for those of DOS in Western Europe.
 */
const CODE_PAGES: [label: string, upperHalf?: string][] = [
  ['cp437', CP437],
  ['cp850', CP850],
  ['windows-1252'],
  ['ibm866'],
  ['windows-1251'],
  ['shift_jis'],
  ['gbk'],
  ['euc-kr'],
]

/** Names that are decoded between two pauses: about 10 ms. */
const BYTES_PER_TURN = 256 * 1024
/** Decoding an empty name takes time too. */
const MIN_NAME_BYTES = 64

/** Of the names that the code page is chosen by. */
const MAX_SAMPLE_BYTES = 8192

/**
 * The names of a zip: UTF-8 if valid, whatever the flag, because many archivers omit it; otherwise in the code page in
 * which they are words. Older programs for Windows write backslashes, though APPNOTE 4.4.17.1 demands slashes; other
 * programs read them as slashes when no name has both. Pauses between parts of the work.
 */
export async function decodeZipNames(
  entries: readonly ZipName[],
  pause: () => Promise<unknown>,
): Promise<ZipNames> {
  const notes: string[] = []
  const decoded: (string | undefined)[] = []
  await forEachName(entries, pause, ({ bytes, unicode }, at) => {
    decoded[at] = unicode ?? decodeStrictly(bytes, 'utf-8')
  })
  const legacy = entries.filter((_, at) => decoded[at] === undefined)
  if (legacy.length > 0) {
    const codePage = guessCodePage(legacy)
    notes.push(`The names in the archive are not UTF-8. They were read in the code page ${codePage[0]}.`)
    await forEachName(entries, pause, ({ bytes }, at) => {
      decoded[at] ??= decode(bytes, codePage)
    })
  }
  const isPath = decoded.some((name) => name?.includes('\\') && name.includes('/'))
  const names: string[] = []
  let hasBackslashes = false
  await forEachName(entries, pause, (_, at) => {
    const name = decoded[at] ?? ''
    names[at] = isPath ? name : name.replaceAll('\\', '/')
    hasBackslashes ||= names[at] !== name
  })
  if (hasBackslashes) notes.push('Backslashes in the names of the archive were read as folders.')
  return { names, notes }
}

/** Pauses between parts of the work, which is short for each byte of a name. */
export async function forEachName(
  entries: readonly ZipName[],
  pause: () => Promise<unknown>,
  work: (entry: ZipName, at: number) => void,
): Promise<void> {
  let bytes = 0
  for (const [at, entry] of entries.entries()) {
    bytes += MIN_NAME_BYTES + entry.bytes.length
    if (bytes > BYTES_PER_TURN) {
      bytes = 0
      await pause()
    }
    work(entry, at)
  }
}

function decode(bytes: Uint8Array, [label, upperHalf]: (typeof CODE_PAGES)[number]): string | undefined {
  if (upperHalf === undefined) return decodeStrictly(bytes, label)
  return Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : upperHalf[byte - 128]!)).join(
    '',
  )
}

const decoders = new Map<string, TextDecoder>()

/** Undefined for what the encoding does not have. An exception for each name would take most of the time. */
function decodeStrictly(bytes: Uint8Array, label: string): string | undefined {
  const decoder = decoders.get(label) ?? new TextDecoder(label, { ignoreBOM: true })
  decoders.set(label, decoder)
  const text = decoder.decode(bytes)
  const isWhole = !text.includes('\uFFFD') || (label === 'utf-8' && isEncodingOf(text, bytes))
  return isWhole ? text : undefined
}

function isEncodingOf(text: string, bytes: Uint8Array): boolean {
  const encoded = new TextEncoder().encode(text)
  return encoded.length === bytes.length && encoded.every((byte, at) => byte === bytes[at])
}

function guessCodePage(names: readonly ZipName[]): (typeof CODE_PAGES)[number] {
  const isUnix = UNIX_SYSTEMS.has(names[0]!.system)
  const ordered = isUnix
    ? [...CODE_PAGES].sort(([a], [b]) => Number(b === 'windows-1252') - Number(a === 'windows-1252'))
    : CODE_PAGES
  let left = MAX_SAMPLE_BYTES
  const sample = names.filter(({ bytes }, at) => {
    left -= bytes.length
    return at === 0 || left >= 0
  })
  const scored = ordered.flatMap((codePage) => {
    const texts = sample.map(({ bytes }) => decode(bytes, codePage))
    return texts.includes(undefined) ? [] : { codePage, penalty: penalize(texts.join('/')) }
  })
  return scored.reduce((best, one) => (one.penalty < best.penalty ? one : best)).codePage
}

/** How unlikely it is that people name files so. */
function penalize(text: string): number {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0
  const others = text.replace(/[\0-\x7F]/g, '')
  const isHangul = others.length >= 4 && /^\p{Script=Hangul}+$/u.test(others)
  return (
    5 * count(/[^\0-\x7F\p{L}\p{M}\p{N}]/gu) +
    3 * count(/[\uFF61-\uFF9F]/g) +
    3 *
      count(
        /\p{Script=Latin}[\p{Script=Greek}\p{Script=Cyrillic}]|[\p{Script=Greek}\p{Script=Cyrillic}]\p{Script=Latin}/gu,
      ) +
    2 * count(/\p{Ll}\p{Lu}|[\u0080-\u024F]{4,}/gu) -
    (isHangul ? 1 : 0)
  )
}
