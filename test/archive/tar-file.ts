import { text } from './bytes.ts'
import type { Part } from './part.ts'

export const TAR_END = Buffer.alloc(1024)

export interface TarPart extends Partial<Part> {
  type?: string
  prefix?: string
  /** What a link leads to. */
  linkName?: string
  magic?: string
  /** The size in the header, if it differs from that of the data. */
  declares?: number
  binarySize?: boolean
  sizeField?: Buffer
}

export function tar(files: Part[]): Buffer {
  const parts = files.flatMap((file) => {
    if (Buffer.byteLength(file.name) <= 100) return [tarPart(folderOrFile(file))]
    return [paxPart({ path: String(file.name) }), tarPart({ ...folderOrFile(file), name: 'cut' })]
  })
  return Buffer.concat([...parts, TAR_END])
}

export function tarPart(part: TarPart): Buffer {
  const { data = text('x') } = part
  const padding = Buffer.alloc((512 - (data.length % 512)) % 512)
  return Buffer.concat([tarHeader({ ...part, declares: part.declares ?? data.length }), data, padding])
}

export function tarHeader({
  name = 'a',
  type = '0',
  prefix = '',
  linkName = 'target',
  magic = 'ustar\x0000',
  ...size
}: TarPart): Buffer {
  const block = Buffer.alloc(512)
  Buffer.from(name as string).copy(block)
  block.write('0000644\0', 100)
  tarSize(size).copy(block, 124)
  block.write('00000000000\0', 136)
  block.write(type, 156, 'latin1')
  block.write(linkName, 157)
  block.write(magic, 257, 'latin1')
  block.write(prefix, 345)
  block.fill(' ', 148, 156)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

export function paxPart(records: Record<string, string>, type = 'x'): Buffer {
  const body = Object.entries(records).map(([key, value]) => paxRecord(key, value))
  return tarPart({ name: 'pax', type, data: text(body.join('')) })
}

export function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  let length = Buffer.byteLength(rest)
  while (String(length).length + Buffer.byteLength(rest) !== length) {
    length = String(length).length + Buffer.byteLength(rest)
  }
  return `${length}${rest}`
}

function folderOrFile(file: Part): TarPart {
  return String(file.name).endsWith('/') ? { ...file, type: '5' } : file
}

function tarSize({ declares = 0, binarySize, sizeField }: Omit<TarPart, 'name'>): Buffer {
  if (sizeField) return sizeField
  if (!binarySize && declares < 8 ** 11) return text(`${declares.toString(8).padStart(11, '0')}\0`)
  const field = Buffer.alloc(12)
  field[0] = 0x80
  field.writeBigUInt64BE(BigInt(declares), 4)
  return field
}
