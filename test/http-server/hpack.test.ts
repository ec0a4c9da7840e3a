import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HpackDecoder } from '../../packages/http-server/http2/hpack/decoder.ts'
import { encodeHeaders } from '../../packages/http-server/http2/hpack/encoder.ts'
import { numbers } from '../support/random.ts'

function decoded(decoder: HpackDecoder, hex: string): string[] | undefined {
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex')
  return decoder.decode(bytes, 0, bytes.length)?.fields.map(({ name, value }) => `${name}: ${value}`)
}

/** An indexed field (RFC 7541, 6.1), up to index 254. */
function indexed(index: number): string {
  const bytes = index < 127 ? [0x80 | index] : [0xff, index - 127]
  return Buffer.from(bytes).toString('hex')
}

// biome-ignore format: one row per case
const REQUESTS = [
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com', 'cache-control: no-cache'],
  [':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com', 'custom-key: custom-value'],
]
const [DATE_1, DATE_2] = ['date: Mon, 21 Oct 2013 20:13:21 GMT', 'date: Mon, 21 Oct 2013 20:13:22 GMT']
const PLACE = 'location: https://www.example.com'
// biome-ignore format: one row per case
const ANSWERS = [
  [':status: 302', 'cache-control: private', DATE_1, PLACE],
  [':status: 307', 'cache-control: private', DATE_1, PLACE],
  [':status: 200', 'cache-control: private', DATE_2, PLACE, 'content-encoding: gzip', 'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
]
/** The examples of responses use a table of 256 bytes. */
const SMALL_TABLE = '3fe101'

describe('a header block is decoded as in the examples of RFC 7541', () => {
  const examples: [string, string[], string[][]][] = [
    [
      'C.4, requests with Huffman code',
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
      REQUESTS,
    ],
    [
      'C.5, responses, with evictions',
      [
        `${SMALL_TABLE} 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133
         3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
        '4803 3330 37c1 c0bf',
        `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738
         666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33
         3630 303b 2076 6572 7369 6f6e 3d31`,
      ],
      ANSWERS,
    ],
  ]
  for (const [what, blocks, lists] of examples) {
    test(what, () => {
      const decoder = new HpackDecoder()
      const found = blocks.map((hex) => decoded(decoder, hex.replaceAll(/\s/g, '')))
      assert.deepEqual(found, lists)
    })
  }
})

for (const [what, hex] of [
  ['index zero', '80'],
  ['an index beyond the tables', 'be'],
  ['a number without an end', 'ffffffffffff01'],
  ['a truncated number', 'ff'],
  ['a truncated name', '400a6375'],
  ['a missing value', '0f'],
  ['a string with a wrong length', '00056162'],
  ['a table larger than allowed', '3fe21f'],
  ['a table size update after a field', '8220'],
  ['three table size updates', '20203fe11f82'],
  ['Huffman code with EOS', '0084ffffffff00'],
  ['Huffman code that is padded with a whole byte', '008207ff00'],
  ['Huffman code that is padded with zeros', '00811800'],
] as const) {
  test(`an invalid header block is refused ${what}`, () =>
    assert.equal(decoded(new HpackDecoder(), hex), undefined))
}

test('a table keeps its newest fields through evictions, without moving them each time', (t) => {
  const pick = numbers(t)
  const decoder = new HpackDecoder()
  const { splice } = Array.prototype
  let moves = 0
  Object.defineProperty(Array.prototype, 'splice', {
    configurable: true,
    writable: true,
    value(...given: [number, number]) {
      moves++
      return splice.apply(this, given)
    },
  })
  t.after(() => Object.defineProperty(Array.prototype, 'splice', { value: splice }))
  const table: string[] = []
  for (let count = 0; count < 2000; count++) {
    const value = 'v'.repeat(pick(pick(20) === 0 ? 120 : 3))
    const name = String.fromCharCode(97 + pick(26))
    const literal = Buffer.from(`\x40\x01${name}${String.fromCharCode(value.length)}${value}`, 'latin1')
    assert.deepEqual(
      decoder.decode(literal, 0, literal.length)!.fields.map((one) => `${one.name}: ${one.value}`),
      [`${name}: ${value}`],
    )
    table.unshift(`${name}: ${value}`)
    while (table.reduce((sum, one) => sum + one.length - 2 + 32, 0) > 4096) table.pop()
    const at = pick(table.length)
    assert.deepEqual(decoded(decoder, indexed(62 + at)), [table[at]])
    assert.equal(decoded(decoder, indexed(62 + table.length)), undefined)
  }
  assert.equal(moves, 0)
})

test('a short block that expands to many fields is decoded but not collected', () => {
  const decoder = new HpackDecoder()
  const big = Buffer.from(`\x40\x01a\x7f\x81\x1e${'x'.repeat(3968)}`, 'latin1')
  decoder.decode(big, 0, big.length)
  const bomb = Buffer.alloc(16_000, 0xbe)
  const list = decoder.decode(bomb, 0, bomb.length)!
  assert.ok(list.tooLong && list.fields.length <= 4)
  assert.deepEqual(decoded(decoder, '82'), [':method: GET'])
})

test('a response header block does not depend on the dynamic table', () => {
  const lines = ['Content-Type', 'text/plain', 'Connection', 'close', 'X-Own', 'ä', 'Set-Cookie', 'a=b']
  for (const [status, date] of [
    [200, undefined],
    [451, 'Mon, 21 Oct 2013 20:13:21 GMT'],
  ] as const) {
    const bytes = encodeHeaders(status, date, lines)
    for (let time = 0; time < 2; time++) {
      assert.deepEqual(decoded(new HpackDecoder(), bytes.toString('hex')), [
        `:status: ${status}`,
        ...(date ? [`date: ${date}`] : []),
        'content-type: text/plain',
        'x-own: ä',
        'set-cookie: a=b',
      ])
    }
    assert.ok(bytes.includes(Buffer.from('\x1f\x28\x03a=b', 'latin1')), 'cookies are never-indexed literals')
  }
})

test('a block that changes the table, or its size, is a new version: the same bytes may decode differently then', () => {
  const decoder = new HpackDecoder()
  const [path, field, smaller] = ['84', '400a637573746f6d2d6b65790c637573746f6d2d76616c7565', '20']
  const changes = [path, field, path, smaller, path].map((block) => {
    const before = decoder.version
    assert.ok(decoded(decoder, block))
    return decoder.version !== before
  })
  assert.deepEqual(changes, [false, true, false, true, false])
})
