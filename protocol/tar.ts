/** Block size of a tar. */
export const BLOCK_BYTES = 512

/** The two empty blocks at the end of a tar. */
export const TAR_END = new Uint8Array(2 * BLOCK_BYTES)

const MAX_NAME_BYTES = 100
const encoder = new TextEncoder()

/**
 * The header of a file in a tar (POSIX.1-2001, "ustar Interchange Format"); a path that does not fit, or is
 * not ASCII, gets an extended header ("pax"). `size` in bytes, below 8 GiB.
 */
export function tarHeader(path: string, size: number): Uint8Array {
  const name = encoder.encode(path)
  if (isUstarName(name)) return buildHeader(name, size, '0')
  const record = paxRecord('path', name)
  return concat([
    buildHeader(encoder.encode('pax'), record.length, 'x'),
    record,
    padding(record.length),
    buildHeader(encoder.encode('file'), size, '0'),
  ])
}

/** Zeros between the end of a file and the next header. */
export function padding(size: number): Uint8Array {
  return new Uint8Array((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES)
}

/** Bytes of a file in a tar, without the tar's end. */
export function sizeInTar(path: string, size: number): number {
  const name = encoder.encode(path)
  const extended = isUstarName(name) ? 0 : BLOCK_BYTES + paddedSize(paxRecord('path', name).length)
  return extended + BLOCK_BYTES + paddedSize(size)
}

/** Concatenates the chunks. */
export function concat(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.byteLength
  }
  return bytes
}

function isUstarName(name: Uint8Array): boolean {
  return name.length <= MAX_NAME_BYTES && name.every((byte) => byte < 0x80)
}

function buildHeader(name: Uint8Array, size: number, type: string): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES)
  const write = (text: string, at: number) => encoder.encodeInto(text, block.subarray(at))
  block.set(name)
  write('0000644\0', 100)
  write('0000000\0', 108)
  write('0000000\0', 116)
  write(`${octal(size, 11)}\0`, 124)
  write(`${octal(0, 11)}\0`, 136)
  write(type, 156)
  write('ustar\x0000', 257)
  write(' '.repeat(8), 148)
  const sum = block.reduce((total, byte) => total + byte, 0)
  write(`${octal(sum, 6)}\0 `, 148)
  return block
}

function octal(number: number, digits: number): string {
  return number.toString(8).padStart(digits, '0')
}

/**
 * `<length> <key>=<value>
 * `, where the length includes its own digits.
 */
function paxRecord(key: string, value: Uint8Array): Uint8Array {
  const rest = key.length + value.length + 3
  let length = rest
  while (String(length).length + rest !== length) length = String(length).length + rest
  return concat([encoder.encode(`${length} ${key}=`), value, encoder.encode('\n')])
}

function paddedSize(size: number): number {
  return Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
}
