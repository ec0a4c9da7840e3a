import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FolderSelection } from '../../protocol/folder/folder-selection.ts'
import { readArchive } from '../../server/publish/archive/archive.ts'
import { Spool, SpoolSpace } from '../../server/publish/archive/spool.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { toStream } from './bodies.ts'
import { drain, LIMITS, options } from './reading.ts'
import { zip } from './zip-file.ts'

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

test('the directories of many zips are read in turns, one of each network, so that they take the memory of a few', async () => {
  await using folder = await memoryFolder()
  const space = new SpoolSpace({ total: MIB, perNetwork: MIB })
  const reading = new Map<FolderSelection, string>()
  const most = { all: 0, ofNetwork: 0 }
  class WatchedSelection extends FolderSelection {
    network = ''
    override isIgnoreFile(path: string) {
      reading.set(this, this.network)
      return super.isIgnoreFile(path)
    }
    override async findEarly(path: string) {
      const networks = [...reading.values()]
      most.all = Math.max(most.all, networks.length)
      most.ofNetwork = Math.max(most.ofNetwork, networks.length - new Set(networks).size + 1)
      await nextTurn()
      return super.findEarly(path)
    }
  }
  const body = zip(Array.from({ length: 20 }, (_, n) => ({ name: `${n}.html`, data: Buffer.from('x') })))
  const archives = Array.from({ length: 24 }, async (_, number) => {
    const selection = new WatchedSelection()
    selection.network = `network ${number % 6}`
    const place = { spoolFolder: folder.path, spoolSpace: space.shareOf(selection.network) }
    const source = { ...options('zip', toStream([body])), ...place, limits: { ...LIMITS, selection } }
    const { kept } = await readArchive(source, (file) => {
      reading.delete(selection)
      return drain(file)
    })
    assert.equal(kept.size, 20)
  })
  await Promise.all(archives)
  assert.deepEqual(most, { all: 4, ofNetwork: 1 })
})

test('an archive that is larger than the setting is too large, and leaves nothing', async () => {
  await using folder = await memoryFolder()
  const space = new SpoolSpace({ total: 2 * MIB, perNetwork: 2 * MIB })
  const place = { folder: folder.path, space: space.shareOf('one') }
  await assert.rejects(Spool.from(archive(3 * MIB), place), { code: 'PAYLOAD_TOO_LARGE' })
  assert.equal(space.usedBytes, 0)
})
