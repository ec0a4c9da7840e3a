import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Spool, SpoolSpace } from '../../server/publish/archive/spool.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

const MIB = 2 ** 20

async function* archive(size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; at += MIB / 2) yield Buffer.alloc(MIB / 2)
}

test('archives that are received at the same time use no more disk than the setting', async () => {
  await using folder = await memoryFolder()
  const place = { folder: folder.path, space: new SpoolSpace(5 * MIB) }
  {
    await using first = await Spool.from(archive(3 * MIB), place)
    assert.equal(first.size, 3 * MIB)
    await assert.rejects(Spool.from(archive(3 * MIB), place), { code: 'UNAVAILABLE' })
    assert.equal(place.space.usedBytes, 3 * MIB, 'a refused archive uses none')
  }
  assert.equal(place.space.usedBytes, 0)
  await using next = await Spool.from(archive(5 * MIB), place)
  assert.equal(next.size, 5 * MIB)
})

test('an archive that is larger than the setting is too large, and leaves nothing', async () => {
  await using folder = await memoryFolder()
  const place = { folder: folder.path, space: new SpoolSpace(2 * MIB) }
  await assert.rejects(Spool.from(archive(3 * MIB), place), { code: 'PAYLOAD_TOO_LARGE' })
  assert.equal(place.space.usedBytes, 0)
})
