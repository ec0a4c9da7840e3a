import assert from 'node:assert/strict'
import { fstatSync } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { diskBlobs } from '../../server/blobs/disk.ts'
import { deterministicBytes, received, toBody } from './bytes.ts'

for (const size of [1000, 300_000]) {
  test(`bytes that are uploaded again during commit do not replace the flushed ones: ${size}`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'slipway-blobs-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const blobs = diskBlobs({ folder, bootId: 'this-run' })
    const bytes = deterministicBytes('again', size)
    const receive = () => blobs.put('an-area', toBody(bytes), { size })
    await receive()
    const flushed = await afterEachFlush(t, receive)

    assert.deepEqual(await blobs.commit('an-area', [received(bytes)]), [])
    const { hash } = received(bytes)
    const { ino } = await stat(join(folder, hash.slice(0, 2), hash))
    assert.ok(flushed.has(ino), 'the file in place is one that was flushed')
  })
}

/** Runs `event` after each flush of a file, before it returns to its caller; returns the flushed inodes. */
async function afterEachFlush(t: TestContext, event: () => Promise<unknown>): Promise<Set<number>> {
  const flushed = new Set<number>()
  const any = await open(import.meta.filename)
  const handles = Object.getPrototypeOf(any) as FileHandle
  await any.close()
  const { sync } = handles
  t.mock.method(handles, 'sync', async function (this: FileHandle) {
    await sync.call(this)
    flushed.add(fstatSync(this.fd).ino)
    await event()
  })
  return flushed
}
