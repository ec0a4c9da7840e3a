import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ignoreRules } from '../../protocol/ignore/default-rules.ts'
import { Exclusions } from '../../protocol/ignore/exclusions.ts'
import { assertRefused, expectRefusal } from './assert-refused.ts'
import { text } from './bytes.ts'
import { read } from './reading.ts'
import { paxPart, TAR_END, type TarPart, tarPart } from './tar-file.ts'
import { type ZipPart, zip } from './zip-file.ts'

describe('entries that cannot be published', () => {
  for (const [what, part, message] of [
    ['a symbolic link', { type: '2' }, /^odd: is a symbolic link/],
    ['a hard link', { type: '1' }, /^odd: is a hard link/],
    ['a character device', { type: '3' }, /^odd: is a device/],
    ['a block device', { type: '4' }, /^odd: is a device/],
    ['a named pipe', { type: '6' }, /^odd: is a named pipe/],
    ['a sparse file of GNU', { type: 'S' }, /sparse/],
    ['a kind of its own', { type: 'Q' }, /^odd: is not a regular file/],
    ['a link that is called a folder', { type: '2', name: 'odd/' }, /^odd\/: is a symbolic link/],
  ] as [string, Partial<TarPart>, RegExp][]) {
    test(`tar: ${what}`, () =>
      assertRefused('tar', Buffer.concat([tarPart({ name: 'odd', data: text(''), ...part }), TAR_END]), {
        code: 'VALIDATION_ERROR',
        message,
      }))
  }

  test('tar: a sparse file of pax', () =>
    assertRefused(
      'tar',
      Buffer.concat([paxPart({ 'GNU.sparse.major': '1' }), tarPart({ name: 'a' }), TAR_END]),
      {
        code: 'VALIDATION_ERROR',
        message: /sparse/,
      },
    ))

  for (const [what, part, message] of [
    ['a symbolic link', { mode: 0o120777 }, /^odd: is a symbolic link/],
    ['a device', { mode: 0o060644 }, /^odd: is a device/],
    ['encryption', { flags: 1 }, /^odd: is encrypted/],
    ['strong encryption', { flags: 0x41 }, /strong encryption/],
    ['another method', { method: 93 }, /^odd: uses compression method 93/],
  ] as [string, Partial<ZipPart>, RegExp][]) {
    test(`zip: ${what}`, () =>
      assertRefused(
        'zip',
        zip([
          { name: 'fine', data: text('x') },
          { name: 'odd', data: text('target'), ...part },
        ]),
        {
          code: 'VALIDATION_ERROR',
          message,
          before: 0,
        },
      ))
  }

  test('links in excluded folders are excluded', async () => {
    const exclusions = new Exclusions(ignoreRules(''))
    const name = 'node_modules/.bin/tool'
    const parts = {
      tar: Buffer.concat([tarPart({ name, type: '2', data: text('') }), TAR_END]),
      zip: zip([{ name, data: text('x'), mode: 0o120777 }]),
    }
    for (const kind of ['tar', 'zip'] as const) {
      const { files, excluded } = await read(kind, parts[kind], { limits: { exclusions } })
      assert.deepEqual([files, excluded], [[], [{ path: 'node_modules/', reason: 'dependencies' }]])
    }
  })

  test('zip: all of them are reported at once', async () => {
    const odd = ['a', 'b', 'c'].map((name) => ({ name, data: text('x'), mode: 0o120777 }))
    const failure = await expectRefusal('zip', zip(odd), { code: 'VALIDATION_ERROR', message: /and 2 more/ })
    assert.deepEqual(
      failure.details,
      odd.map(({ name }) => ({ field: name, message: 'is a symbolic link' })),
    )
  })
})
