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
  const space = new SpoolSpace({ total: 5 * MIB, perNetwork: 5 * MIB })
  const place = (network: string) => ({ folder: folder.path, space: space.shareOf(network) })
  {
    await using first = await Spool.from(archive(3 * MIB), place('one'))
    assert.equal(first.size, 3 * MIB)
    await assert.rejects(Spool.from(archive(3 * MIB), place('other')), { code: 'UNAVAILABLE' })
    assert.equal(space.usedBytes, 3 * MIB, 'a refused archive uses none')
  }
  assert.equal(space.usedBytes, 0)
  await using next = await Spool.from(archive(5 * MIB), place('other'))
  assert.equal(next.size, 5 * MIB)
})

test('the archives of one network leave disk space for those of others', async () => {
  await using folder = await memoryFolder()
  const space = new SpoolSpace({ total: 8 * MIB, perNetwork: 4 * MIB })
  const place = (network: string) => ({ folder: folder.path, space: space.shareOf(network) })
  {
    await using _first = await Spool.from(archive(2 * MIB), place('one'))
    await assert.rejects(Spool.from(archive(3 * MIB), place('one')), { code: 'UNAVAILABLE' })
    await using _other = await Spool.from(archive(4 * MIB), place('other'))
  }
  await using _next = await Spool.from(archive(4 * MIB), place('one'))
  await assert.rejects(Spool.from(archive(5 * MIB), place('other')), { code: 'PAYLOAD_TOO_LARGE' })
})

test('an archive that is larger than the setting is too large, and leaves nothing', async () => {
  await using folder = await memoryFolder()
  const space = new SpoolSpace({ total: 2 * MIB, perNetwork: 2 * MIB })
  const place = { folder: folder.path, space: space.shareOf('one') }
  await assert.rejects(Spool.from(archive(3 * MIB), place), { code: 'PAYLOAD_TOO_LARGE' })
  assert.equal(space.usedBytes, 0)
})
