import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, test } from 'node:test'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import { ignoreRules } from '../../protocol/ignore/default-rules.ts'
import { Exclusions } from '../../protocol/ignore/exclusions.ts'
import { GIB, KIB, MIB } from '../support/units.ts'
import { assertRefused } from './assert-refused.ts'
import { counted, endless, gzipped } from './bodies.ts'
import { text } from './bytes.ts'
import { folders } from './malformed-zip.ts'
import { read, spoolFolder } from './reading.ts'
import { paxPart, paxRecord, TAR_END, tarHeader, tarPart } from './tar-file.ts'
import { zip } from './zip-file.ts'

describe('archive bombs are refused early', () => {
  const block = tarPart({ name: 'folder/', type: '5', data: text('') })

  test('tar.gz: a file of 10 GiB in 10 MB is refused at its header', async () => {
    const { body, taken } = counted(
      gzipped(tarHeader({ name: 'a', declares: 10 * GIB }), Buffer.alloc(MIB), 10 * KIB),
    )
    await assertRefused('tar.gz', body, {
      code: 'PAYLOAD_TOO_LARGE',
      message: /^a: too large/,
      before: 0,
    })
    assert.ok(taken() < MIB, `took ${taken()} bytes`)
  })

  for (const [what, first, repeated, message] of [
    ['folders', text(''), repeat(block, KIB), /too much metadata/],
    ['empty files', text(''), repeat(tarPart({ name: 'a', data: text('') }), KIB), /limit is 1,000 per site/],
    ['extended headers', text(''), repeat(paxPart({ a: 'b' }), KIB), /too much metadata/],
    ['large extended headers', text(''), paxPart({ a: 'b'.repeat(MIB - 100) }), /too much metadata/],
    ['global headers', text(''), paxPart({ a: 'b'.repeat(MIB - 100) }, 'g'), /too much metadata/],
    [
      'long names',
      text(''),
      tarPart({ name: 'L', type: 'L', data: Buffer.alloc(MIB, 'n') }),
      /too much metadata/,
    ],
    ['zeros behind the end', TAR_END, Buffer.alloc(MIB), /too much metadata/],
    [
      'a folder with contents',
      tarHeader({ name: 'a/', declares: 10 * GIB }),
      Buffer.alloc(MIB),
      /too much metadata/,
    ],
    [
      'an extended header of 10 GiB',
      tarHeader({ name: 'x', type: 'x', declares: 10 * GIB }),
      Buffer.alloc(MIB),
      /too much metadata/,
    ],
    [
      'an extended header of 2 MiB',
      tarHeader({ name: 'x', type: 'x', declares: 2 * MIB }),
      Buffer.alloc(MIB),
      /extended header may have at most/,
    ],
  ] as [string, Buffer, Buffer, RegExp][]) {
    test(`tar: endless ${what}`, async () => {
      const { body, taken } = counted(endless(first, repeated))
      await assertRefused('tar', body, { code: 'PAYLOAD_TOO_LARGE', message })
      assert.ok(taken() <= 32 * MIB, `took ${taken()} bytes`)
    })
    test(`tar.gz: endless ${what}`, async () => {
      const { body, taken } = counted(gzipped(first, repeated, Number.POSITIVE_INFINITY))
      await assertRefused('tar.gz', body, { code: 'PAYLOAD_TOO_LARGE', message })
      assert.ok(taken() <= 2 * MIB, `took ${taken()} bytes`)
    })
  }

  for (const [what, name] of [
    ['excluded files', 'node_modules/a'],
    ['empty files that are excluded', 'a'],
  ] as const) {
    test(`tar: endless ${what}`, async () => {
      const exclusions = new Exclusions(ignoreRules(''))
      const { body, taken } = counted(endless(text(''), repeat(tarPart({ name, data: text('') }), KIB)))
      await assert.rejects(read('tar', body, { limits: { exclusions } }), /too much metadata/)
      assert.ok(taken() <= 32 * MIB, `took ${taken()} bytes`)
    })
  }

  test('tar: a global header of 100,000 records does not slow down later headers', async () => {
    let keys = ''
    for (let key = 0; keys.length < MIB - 100; key++) keys += paxRecord(`k${key.toString(36)}`, '')
    const global = tarPart({ name: 'g', type: 'g', data: text(keys) })
    const archive = Buffer.concat([
      global,
      repeat(paxPart({ a: 'b' }), 5000),
      tarPart({ name: 'a' }),
      TAR_END,
    ])
    const { files } = await read('tar', archive)
    assert.equal(files.length, 1)
  })

  test('tar.gz: endless empty members', async () => {
    const { body, taken } = counted(endless(text(''), repeat(gzipSync(''), KIB)))
    await assertRefused('tar.gz', body, {
      code: 'PAYLOAD_TOO_LARGE',
      message: /archive is too large/,
      limits: { totalBytes: MIB },
    })
    assert.ok(taken() <= 32 * MIB, `took ${taken()} bytes`)
  })

  test('zip: an endless body', async () => {
    const { body, taken } = counted(endless(text('PK'), Buffer.alloc(MIB)))
    await assertRefused('zip', body, {
      code: 'PAYLOAD_TOO_LARGE',
      message: /archive is too large/,
      limits: { totalBytes: MIB },
    })
    assert.ok(taken() <= 32 * MIB, `took ${taken()} bytes`)
    assert.deepEqual(readdirSync(spoolFolder), [])
  })

  for (const [declared, code, most] of [
    [10, 'VALIDATION_ERROR', 0],
    [MIB, 'VALIDATION_ERROR', MIB],
    [2 ** 31, 'PAYLOAD_TOO_LARGE', 0],
    [2 ** 32 - 2, 'PAYLOAD_TOO_LARGE', 0],
  ] as const) {
    test(`zip: 10 GiB in 10 MB that declare ${declared} bytes yield at most ${most}`, async () => {
      let bytes = 0
      const raw = repeat(deflateRawSync(Buffer.alloc(MIB), { finishFlush: constants.Z_FULL_FLUSH }), 10 * KIB)
      await assertRefused('zip', zip([{ name: 'a', data: text(''), raw, size: declared }]), {
        code,
        message: /^a: /,
        async each({ body }) {
          for await (const chunk of body) bytes += chunk.length
        },
      })
      assert.ok(bytes <= most, `${bytes} bytes came out`)
    })
  }

  test('zip: 65,535 entries in the directory', () =>
    assertRefused('zip', zip(folders(65_535)), {
      code: 'PAYLOAD_TOO_LARGE',
      message: /too much metadata/,
      before: 0,
    }))
})

function repeat(bytes: Buffer, times: number): Buffer {
  return Buffer.alloc(bytes.length * times, bytes)
}
