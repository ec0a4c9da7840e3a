import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Limits } from '../../server/publish/archive/archive.ts'
import { KINDS, made } from './archive-file.ts'
import { MIB, text } from './bytes.ts'
import { read } from './reading.ts'
import { assertRefused } from './refusal.ts'

describe('limits', () => {
  for (const kind of KINDS) {
    for (const [what, limits, sizes, says] of [
      ['too many files', { files: 2 }, [1, 1, 1], /more than 2 files/],
      ['a small file over its limit', { fileBytes: 10 }, [10, 11], /^f1: a file may have at most 10 bytes/],
      [
        'a large file over its limit',
        { fileBytes: MIB },
        [1, MIB + 1],
        /^f1: a file may have at most 1048576/,
      ],
      ['too much together', { totalBytes: 1000 }, [500, 500, 1], /at most 1000 bytes together/],
    ] as [string, Partial<Limits>, number[], RegExp][]) {
      test(`${kind}: ${what} is refused, one less is fine`, async () => {
        const files = sizes.map((size, index) => ({ name: `f${index}`, data: Buffer.alloc(size, 'x') }))
        await assertRefused(kind, made(kind, files), { code: 'PAYLOAD_TOO_LARGE', says, limits })
        const { files: fine } = await read(kind, made(kind, files.slice(0, -1)), { limits })
        assert.equal(fine.length, files.length - 1)
      })
    }

    test(`${kind}: a path over its limit is refused with its beginning, characters being code points`, async () => {
      const fine = `${'a/'.repeat(100)}${'😀'.repeat(300)}`
      const { files } = await read(kind, made(kind, [{ name: fine, data: text('x') }]))
      assert.equal(files[0]?.path, fine)
      for (const name of [`${fine}a`, `__MACOSX/${fine}`]) {
        await assertRefused(kind, made(kind, [{ name, data: text('x') }]), {
          code: 'VALIDATION_ERROR',
          says: /^(a\/|__MACOSX\/)[a/]+…: a path may have at most 500 characters$/,
        })
      }
    })

    test(`${kind}: litter is bounded too`, async () => {
      const files = Array.from({ length: 41 }, (_, index) => ({ name: `._${index}`, data: text('x') }))
      await assertRefused(kind, made(kind, files), {
        code: 'PAYLOAD_TOO_LARGE',
        says: /more than 40 files that are left out/,
        limits: { files: 10 },
      })
      await assertRefused(kind, made(kind, [{ name: '._big', data: Buffer.alloc(1001) }]), {
        code: 'PAYLOAD_TOO_LARGE',
        says: /1000 bytes together/,
        limits: { totalBytes: 1000 },
      })
    })
  }
})
