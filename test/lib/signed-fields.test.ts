import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { computeMac, encodeFields, Signer } from '../../server/lib/tokens.ts'
import { numbers } from '../support/random.ts'

type Fields = (string | number)[]

/** Characters used as separators and quotes, and characters that encodings lose. */
// biome-ignore format: short values
const PIECES = [
  'a', 'b', '/', '.', ',', '"', '\\', '[', ']', '\n', '\0',
  ' ', '%2F', '0', '1', 'é', 'e\u0301', '\u{1f600}', '\ud800', '\udc00', '\u2028', 'null', '',
]

/** Similar lists: the same text split differently. */
function randomFields(next: (bound: number) => number): Fields {
  const field = () =>
    next(4) === 0
      ? [0, 1, -1, 10, 2 ** 53, 0.1, 1e21][next(7)]!
      : Array.from({ length: next(4) }, () => PIECES[next(PIECES.length)]).join('')
  return Array.from({ length: next(5) }, field)
}

describe('a list of signed fields', () => {
  test('has a unique encoding: no two lists of fields have the same signature', (context) => {
    const next = numbers(context)
    const encodings = new Map<string, Fields>()
    for (let round = 0; round < 20_000; round++) {
      const fields = randomFields(next)
      const encoded = encodeFields(fields)
      assert.deepEqual(JSON.parse(encoded), fields)
      const other = encodings.get(encoded)
      if (other) assert.deepEqual(other, fields)
      encodings.set(encoded, fields)
    }
    assert.ok(encodings.size > 5000)
  })

  test('has another signature when the same text is split differently', () => {
    const signer = new Signer('a secret of this test, long enough', 'cuts')
    const text = 'slug/version/path/1.2.3'
    const cuts = Array.from({ length: text.length + 1 }, (_, at) => [text.slice(0, at), text.slice(at)])
    const signatures = [[text], [text, ''], ['', text], ...cuts, [...text], ['1'], [1]].map((fields) =>
      signer.sign(fields),
    )
    // [text, ''] and ['', text] are also the first and the last split.
    assert.equal(new Set(signatures).size, signatures.length - 2)
  })

  test('verifies for its own fields, purpose and secret only', () => {
    const [secret, other] = ['a secret of this test, long enough', 'another secret of it, long enough']
    const signature = new Signer(secret, 'one purpose').sign(['a', 1])
    assert.ok(new Signer(secret, 'one purpose').verify(['a', 1], signature))
    for (const [key, purpose, fields] of [
      [secret, 'another purpose', ['a', 1]],
      [other, 'one purpose', ['a', 1]],
      [secret, 'one purpose', ['a', '1']],
      [secret, 'one purpose', ['a']],
      [secret, 'one purpose', ['a', 1, '']],
    ] as [string, string, Fields][])
      assert.equal(new Signer(key, purpose).verify(fields, signature), false)
  })

  test('never contains a number without a unique text', () => {
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
      assert.throws(() => computeMac('key', ['a', number]), TypeError)
  })

  test('is encoded in one place: only that and the clients of ACME and S3, which have encodings of their own, create an HMAC', () => {
    const makers = globSync('{server,packages}/**/*.ts').filter((path) =>
      /createHmac\(/.test(readFileSync(path, 'utf8')),
    )
    assert.deepEqual(makers.sort(), [
      'packages/acme-client/jws.ts',
      'packages/s3-client/client.ts',
      'server/lib/tokens.ts',
    ])
  })
})
