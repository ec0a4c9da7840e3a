import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { digestAll } from '../../dashboard/drop/reader/digest.ts'
import { ZipArchive } from '../../dashboard/drop/reader/zip.ts'
import { sha256 } from '../api/content.ts'
import { noise, text } from '../archive/bytes.ts'
import { MIB } from '../support/units.ts'
import { buildZip } from './file-drop.ts'

const toSource = (bytes: Buffer) => ({ path: 'a.bin', source: new Blob([new Uint8Array(bytes)]) })

describe('hashing in a browser', () => {
  const contents = [text('small'), noise(64 * 1024), noise(4 * MIB), noise(4 * MIB + 1), noise(9 * MIB)]
  const expected = contents.map(sha256)
  const total = contents.reduce((sum, { length }) => sum + length, 0)

  test('is correct for files of every size, and reports its progress', async () => {
    const reports: { files: number; bytes: number }[] = []
    const { hashes } = await digestAll(contents.map(toSource), (done) => reports.push({ ...done }))
    assert.deepEqual(hashes, expected)
    assert.deepEqual(reports.at(-1), { files: contents.length, bytes: total })
    assert.ok(reports.every(({ bytes }, at) => at === 0 || bytes >= reports[at - 1]!.bytes))
  })

  test('finds the type of a file by its name and its first bytes, in a file and in a zip', async () => {
    const files: [path: string, content: Buffer, type: string][] = [
      ['a.css', text(''), 'text/css; charset=utf-8'],
      ['NEWS', text('Grüße'), 'text/plain; charset=utf-8'],
      ['data', text('a\0'), 'application/octet-stream'],
      ['large', Buffer.alloc(5 * MIB, 'text'), 'text/plain; charset=utf-8'],
    ]
    const toStream = (bytes: Buffer) => () => new Blob([new Uint8Array(bytes)]).stream()
    for (const make of [(bytes: Buffer) => toSource(bytes).source, toStream]) {
      const named = files.map(([path, bytes]) => ({ path, source: make(bytes) }))
      const expected = files.map(([, , type]) => type)
      assert.deepEqual((await digestAll(named, () => {})).types, expected)
    }
  })

  test('keeps the bytes of small files for sending', async () => {
    const many = Array.from({ length: 300 }, (_, at) => noise(1 + ((at * 997) % 9000)))
    const { hashes, bytes } = await digestAll([...many, noise(MIB)].map(toSource), () => {})
    assert.deepEqual(hashes.slice(0, -1), many.map(sha256))
    assert.ok(many.every((one, at) => one.equals(bytes[at]!)))
    assert.equal(bytes.at(-1), undefined)
  })

  test('is correct without HTTPS, where browsers offer no SubtleCrypto', async (t) => {
    t.mock.getter(globalThis, 'crypto', () => undefined as unknown as Crypto)
    assert.deepEqual((await digestAll(contents.map(toSource), () => {})).hashes, expected)
  })

  test('names a file that cannot be read', async () => {
    const broken = () =>
      new ReadableStream<Uint8Array>({ pull: () => Promise.reject(new Error('unreadable')) })
    await assert.rejects(
      digestAll([toSource(text('a')), { path: 'b', source: broken }, toSource(text('c'))], () => {}),
      { at: 1, message: 'unreadable' },
    )
  })
})

describe('a zip in a browser', () => {
  const parts = { stored: { method: 0 }, deflated: {} }
  for (const [what, part] of Object.entries(parts)) {
    test(`is extracted, ${what}`, async () => {
      const data = noise(700_000)
      const zip = await ZipArchive.open(
        new Blob([new Uint8Array(buildZip([{ name: 'a/b.bin', data, ...part }]))]),
      )
      assert.deepEqual(zip.listing, { entries: [{ path: 'a/b.bin', size: data.length }], notes: [] })
      const blob = await zip.blob(0)
      assert.ok(Buffer.from(await blob.arrayBuffer()).equals(data))
    })
  }

  test('is extracted before the zeros that fill the last block of bsdtar', async () => {
    const bytes = Buffer.concat([buildZip([{ name: 'a', data: text('a') }]), Buffer.alloc(9000)])
    const zip = await ZipArchive.open(new Blob([new Uint8Array(bytes)]))
    assert.deepEqual(zip.listing.entries, [{ path: 'a', size: 1 }])
  })

  const falsified = {
    'another checksum': { crc32: 1 },
    'bytes that are no DEFLATE': { raw: Buffer.alloc(30, 0xff) },
    'fewer bytes': { size: 3 },
    'more bytes': { size: 3_000_000 },
  }
  for (const [what, part] of Object.entries(falsified)) {
    test(`is refused when its directory declares ${what}`, async () => {
      const data = noise(700_000)
      const zip = await ZipArchive.open(new Blob([new Uint8Array(buildZip([{ name: 'a', data, ...part }]))]))
      await assert.rejects(zip.blob(0))
    })
  }

  test('is refused before a huge directory is read into memory', async () => {
    const bytes = new Uint8Array(buildZip([{ name: 'a', data: text('x') }]))
    new DataView(bytes.buffer).setUint32(bytes.length - 10, 18 * MIB, true)
    await assert.rejects(
      ZipArchive.open(new Blob([new Uint8Array(20 * MIB), bytes])),
      /directory is too large/,
    )
  })
})
