import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, test } from 'node:test'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import type { Limits } from '../../server/publish/archive/archive.ts'
import { GIB, KIB, MIB } from '../support/units.ts'
import { counted, endless, gzipped } from './bodies.ts'
import { buildArchive, KINDS } from './build-archive.ts'
import { text } from './bytes.ts'
import { folders } from './malformed-zip.ts'
import { assertRefused, read, selection, spoolFolder } from './reading.ts'
import { paxPart, paxRecord, TAR_END, tarHeader, tarPart } from './tar-file.ts'
import { zip } from './zip-file.ts'

const code = 'PAYLOAD_TOO_LARGE'

describe('limits', () => {
  const cases: [what: string, limits: Partial<Limits>, sizes: number[], message: RegExp][] = [
    ['too many files', { files: 2 }, [1, 1, 1], /limit is 2 per site/],
    ['a small file over its limit', { fileBytes: 10 }, [10, 11], /^f1: too large\. The limit is 10 bytes/],
    ['a large file over its limit', { fileBytes: MIB }, [1, MIB + 1], /^f1: too large\. The limit is 1 MB/],
    ['too much together', { totalBytes: 1000 }, [500, 500, 1], /limit is 1 kB per site/],
  ]
  for (const kind of KINDS) {
    for (const [what, limits, sizes, message] of cases) {
      test(`${kind}: ${what} is refused, one less is accepted`, async () => {
        const files = sizes.map((size, index) => ({ name: `f${index}`, data: Buffer.alloc(size, 'x') }))
        await assertRefused(kind, buildArchive(kind, files), { code, message, limits })
        const { files: fine } = await read(kind, buildArchive(kind, files.slice(0, -1)), { limits })
        assert.equal(fine.length, files.length - 1)
      })
    }

    test(`${kind}: a path over its limit, counted in code points, is refused with its beginning in the error`, async () => {
      const fine = `${'a/'.repeat(100)}${'😀'.repeat(300)}`
      // A top folder may not belong to the site.
      for (const name of [fine, `top/${fine}`]) {
        const { files } = await read(kind, buildArchive(kind, [{ name, data: text('x') }]))
        assert.equal(files[0]?.path, name)
      }
      for (const name of [`${fine}aaa`, `__MACOSX/${fine}a`]) {
        const message = /^(a\/|__MACOSX\/)[a/]+\.\.\.: must have at most 500 characters, not 50[1-9]|51\d$/
        await assertRefused(kind, buildArchive(kind, [{ name, data: text('x') }]), { message })
      }
    })

    test(`${kind}: excluded files are limited, too`, async () => {
      const files = Array.from({ length: 41 }, (_, index) => ({ name: `._${index}`, data: text('x') }))
      await assertRefused(kind, buildArchive(kind, files), {
        code,
        message: /too many excluded files\. The limit is 40/,
        limits: { files: 10, selection: selection() },
      })
      await assertRefused(kind, buildArchive(kind, [{ name: '._big', data: Buffer.alloc(1001) }]), {
        code,
        message: /limit is 1 kB per site/,
        limits: { totalBytes: 1000, selection: selection() },
      })
    })
  }
})

test('what the rules cost for the names of one archive is not counted for others', async () => {
  const early = Array.from({ length: 2000 }, (_, index) => {
    return { path: `.${'n'.repeat(490)}${index}`, reason: 'dotfile' } as const
  })
  for (let archive = 0; archive < 30; archive++) {
    const { excluded } = await selection().select({ files: [], links: new Map() }, early)
    assert.equal(excluded.length, early.length)
  }
})

describe('archive bombs are refused early', () => {
  const none = text('')
  const empty = tarPart({ name: 'a', data: none })
  const huge = (name: string, type: string) => tarHeader({ name, type, declares: 10 * GIB })
  const metadata = /too much metadata/

  test('tar.gz: a file of 10 GiB in 10 MB is refused at its header', async () => {
    const { body, taken } = counted(gzipped(huge('a', '0'), Buffer.alloc(MIB), 10 * KIB))
    await assertRefused('tar.gz', body, { code, message: /^a: too large/, before: 0 })
    assert.ok(taken() < MIB, `took ${taken()} bytes`)
  })

  const tars: [what: string, first: Buffer, repeated: Buffer, message: RegExp][] = [
    ['folders', none, repeat(tarPart({ name: 'folder/', type: '5', data: none }), KIB), metadata],
    ['empty files', none, repeat(empty, KIB), /limit is 1,000 per site/],
    ['extended headers', none, repeat(paxPart({ a: 'b' }), KIB), metadata],
    ['large extended headers', none, paxPart({ a: 'b'.repeat(MIB - 100) }), metadata],
    [
      'empty records of an extended header',
      none,
      tarPart({ name: 'p', type: 'x', data: Buffer.alloc(20 * KIB, '4 =\n') }),
      metadata,
    ],
    ['global headers', none, paxPart({ a: 'b'.repeat(MIB - 100) }, 'g'), metadata],
    ['long names', none, tarPart({ name: 'L', type: 'L', data: Buffer.alloc(MIB, 'n') }), metadata],
    ['zeros behind the end', TAR_END, Buffer.alloc(MIB), metadata],
    ['excluded files', none, repeat(tarPart({ name: 'node_modules/a', data: none }), KIB), metadata],
    ['a folder with contents', huge('a/', '0'), Buffer.alloc(MIB), metadata],
    ['an extended header of 10 GiB', huge('x', 'x'), Buffer.alloc(MIB), metadata],
    [
      'an extended header of 2 MiB',
      tarHeader({ name: 'x', type: 'x', declares: 2 * MIB }),
      Buffer.alloc(MIB),
      /extended header may have at most/,
    ],
  ]
  for (const [what, first, repeated, message] of tars) {
    test(`tar: endless ${what}`, async () => {
      const { body, taken } = counted(endless(first, repeated))
      const limits = what.includes('excluded') ? { selection: selection() } : {}
      await assertRefused('tar', body, { code, message, limits })
      const most = what.includes('records') ? 1 : 32
      assert.ok(taken() <= most * MIB, `took ${taken()} bytes`)
    })
  }

  test('tar: a global header of 100,000 records does not slow down later headers', async () => {
    let keys = ''
    for (let key = 0; keys.length < MIB - 100; key++) keys += paxRecord(`k${key.toString(36)}`, '')
    const global = tarPart({ name: 'g', type: 'g', data: text(keys) })
    const headers = repeat(paxPart({ a: 'b' }), 5000)
    const archive = Buffer.concat([global, headers, tarPart({ name: 'a' }), TAR_END])
    const { files } = await read('tar', archive)
    assert.equal(files.length, 1)
  })

  test('tar.gz: endless zeros behind the end', async () => {
    const { body, taken } = counted(gzipped(TAR_END, Buffer.alloc(MIB), Number.POSITIVE_INFINITY))
    await assertRefused('tar.gz', body, { code, message: metadata })
    assert.ok(taken() <= MIB, `took ${taken()} bytes`)
  })

  for (const [kind, what, first, repeated] of [
    ['tar.gz', 'empty members', none, repeat(gzipSync(''), KIB)],
    ['zip', 'bytes', text('PK'), Buffer.alloc(MIB)],
  ] as const) {
    test(`${kind}: endless ${what}`, async () => {
      const { body, taken } = counted(endless(first, repeated))
      const refusal = { code, message: /archive is too large/, limits: { totalBytes: MIB } }
      await assertRefused(kind, body, refusal)
      assert.ok(taken() <= 32 * MIB, `took ${taken()} bytes`)
      assert.deepEqual(readdirSync(spoolFolder), [])
    })
  }

  const raw = repeat(deflateRawSync(Buffer.alloc(MIB), { finishFlush: constants.Z_FULL_FLUSH }), 10 * KIB)
  for (const [size, expected, most] of [
    [10, 'VALIDATION_ERROR', 0],
    [MIB, 'VALIDATION_ERROR', MIB],
    [2 ** 31, code, 0],
    [2 ** 32 - 2, code, 0],
  ] as const) {
    test(`zip: 10 GiB in 10 MB that declare ${size} bytes yield at most ${most}`, async () => {
      let bytes = 0
      await assertRefused('zip', zip([{ name: 'a', data: none, raw, size }]), {
        code: expected,
        message: /^a: /,
        async each({ body }) {
          for await (const chunk of body) bytes += chunk.length
        },
      })
      assert.ok(bytes <= most, `${bytes} bytes came out`)
    })
  }

  test('zip: 65,535 entries in the directory', () =>
    assertRefused('zip', zip(folders(65_535)), { code, message: metadata, before: 0 }))
})

function repeat(bytes: Buffer, times: number): Buffer {
  return Buffer.alloc(bytes.length * times, bytes)
}
