import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ignoreRules } from '../../protocol/ignore/default-rules.ts'
import { Exclusions } from '../../protocol/ignore/exclusions.ts'
import type { Limits } from '../../server/publish/archive/archive.ts'
import { MIB } from '../support/units.ts'
import { assertRefused } from './assert-refused.ts'
import { buildArchive, KINDS } from './build-archive.ts'
import { text } from './bytes.ts'
import { read } from './reading.ts'

describe('limits', () => {
  for (const kind of KINDS) {
    for (const [what, limits, sizes, message] of [
      ['too many files', { files: 2 }, [1, 1, 1], /limit is 2 per site/],
      ['a small file over its limit', { fileBytes: 10 }, [10, 11], /^f1: too large\. The limit is 10 bytes/],
      ['a large file over its limit', { fileBytes: MIB }, [1, MIB + 1], /^f1: too large\. The limit is 1 MB/],
      ['too much together', { totalBytes: 1000 }, [500, 500, 1], /limit is 1 kB per site/],
    ] as [string, Partial<Limits>, number[], RegExp][]) {
      test(`${kind}: ${what} is refused, one less is accepted`, async () => {
        const files = sizes.map((size, index) => ({ name: `f${index}`, data: Buffer.alloc(size, 'x') }))
        await assertRefused(kind, buildArchive(kind, files), { code: 'PAYLOAD_TOO_LARGE', message, limits })
        const { files: fine } = await read(kind, buildArchive(kind, files.slice(0, -1)), { limits })
        assert.equal(fine.length, files.length - 1)
      })
    }

    test(`${kind}: a path over its limit, counted in code points, is refused with its beginning in the error`, async () => {
      const fine = `${'a/'.repeat(100)}${'😀'.repeat(300)}`
      const { files } = await read(kind, buildArchive(kind, [{ name: fine, data: text('x') }]))
      assert.equal(files[0]?.path, fine)
      for (const name of [`${fine}a`, `__MACOSX/${fine}`]) {
        await assertRefused(kind, buildArchive(kind, [{ name, data: text('x') }]), {
          code: 'VALIDATION_ERROR',
          message: /^(a\/|__MACOSX\/)[a/]+…: must have at most 500 characters$/,
        })
      }
    })

    test(`${kind}: excluded files are limited, too`, async () => {
      const exclusions = new Exclusions(ignoreRules(''))
      const files = Array.from({ length: 41 }, (_, index) => ({ name: `._${index}`, data: text('x') }))
      await assertRefused(kind, buildArchive(kind, files), {
        code: 'PAYLOAD_TOO_LARGE',
        message: /too many excluded files\. The limit is 40/,
        limits: { files: 10, exclusions },
      })
      await assertRefused(kind, buildArchive(kind, [{ name: '._big', data: Buffer.alloc(1001) }]), {
        code: 'PAYLOAD_TOO_LARGE',
        message: /limit is 1 kB per site/,
        limits: { totalBytes: 1000, exclusions },
      })
    })
  }
})
