/** Code length of each byte and of EOS, in base 36 (RFC 7541, appendix B). The code is canonical. */
const LENGTHS = [
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad677777777777777777777',
  '77878djde6f56565666577666567655677777fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmo',
  'lmnnllmlnmnnkmmmnmmnqqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu',
].join('')

const END_OF_STRING = 256
/** Padding is shorter than a byte. */
const MAX_PADDING_BITS = 7

/** A table entry: the next state, whether input may end there, and the completed byte. */
const COMPLETE = 1 << 8
const MAY_END = 1 << 9
const NEXT = 10

interface Node {
  number: number
  children: [Node | number | undefined, Node | number | undefined]
  /** Number of one bits that lead here; infinite when a bit is zero. */
  padding: number
}

/** By state and the next four bits; -1 where input is invalid. No code is shorter than five bits. */
const TABLE = makeTable(readCode())

const decoded = Buffer.allocUnsafeSlow(64 * 1024)

/** Decodes at most 32 KiB, as latin1; undefined when they contain EOS or invalid padding (RFC 7541, 5.2). */
export function huffmanDecode(bytes: Uint8Array, from: number, to: number): string | undefined {
  let entry = MAY_END
  let length = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!
    entry = TABLE[((entry >> NEXT) << 4) | (byte >> 4)]!
    if (entry < 0) return undefined
    if ((entry & COMPLETE) !== 0) decoded[length++] = entry
    entry = TABLE[((entry >> NEXT) << 4) | (byte & 15)]!
    if (entry < 0) return undefined
    if ((entry & COMPLETE) !== 0) decoded[length++] = entry
  }
  return (entry & MAY_END) === 0 ? undefined : decoded.toString('latin1', 0, length)
}

function readCode(): Node[] {
  const nodes: Node[] = [{ number: 0, children: [undefined, undefined], padding: 0 }]
  const lengths = Array.from(LENGTHS, (digit) => Number.parseInt(digit, 36))
  const symbols = [...lengths.keys()].sort((one, other) => lengths[one]! - lengths[other]! || one - other)
  let code = 0
  let bits = 0
  for (const symbol of symbols) {
    code <<= lengths[symbol]! - bits
    bits = lengths[symbol]!
    insertCode(nodes, symbol, { code, bits })
    code++
  }
  return nodes
}

function insertCode(nodes: Node[], symbol: number, { code, bits }: { code: number; bits: number }): void {
  let node = nodes[0]!
  for (let bit = bits - 1; bit > 0; bit--) {
    const side = ((code >> bit) & 1) as 0 | 1
    if (node.children[side] === undefined) {
      const padding = side === 1 ? node.padding + 1 : Number.POSITIVE_INFINITY
      const child: Node = { number: nodes.length, children: [undefined, undefined], padding }
      nodes.push(child)
      node.children[side] = child
    }
    node = node.children[side] as Node
  }
  node.children[(code & 1) as 0 | 1] = symbol
}

function makeTable(nodes: Node[]): Int32Array {
  const table = new Int32Array(nodes.length * 16)
  for (const node of nodes) {
    for (let bits = 0; bits < 16; bits++) table[node.number * 16 + bits] = step(nodes[0]!, node, bits)
  }
  return table
}

function step(root: Node, start: Node, bits: number): number {
  let node = start
  let complete = 0
  for (let bit = 3; bit >= 0; bit--) {
    const child = node.children[((bits >> bit) & 1) as 0 | 1]!
    if (child === END_OF_STRING) return -1
    if (typeof child === 'number') complete = COMPLETE | child
    node = typeof child === 'number' ? root : child
  }
  return (node.number << NEXT) | (node.padding <= MAX_PADDING_BITS ? MAY_END : 0) | complete
}
