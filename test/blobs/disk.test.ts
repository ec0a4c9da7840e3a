import assert from 'node:assert/strict'
import { fstatSync } from 'node:fs'
import {
  type FileHandle,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Blobs } from '../../server/blobs/blobs.ts'
import { diskBlobs } from '../../server/blobs/disk.ts'
import { newId } from '../../server/lib/tokens.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { attachStrace } from '../tools/strace.ts'
import { cutOff, deterministicBytes, keep, received, toBody } from './bytes.ts'
import { blobsContract } from './contract.ts'

async function freshFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-blobs-'))
  return {
    folder,
    open: (bootId = 'this-run') => diskBlobs({ folder, bootId }),
    uncommitted: () => filesIn(join(folder, 'staged')),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

blobsContract('disk', freshFolder)

const SMALL = deterministicBytes('small', 5000)
const LARGE = deterministicBytes('large', 300_000)

/** Arguments of strace. */
const FAILING_FLUSH = ['-e', 'inject=fsync,fdatasync:error=EIO']

const damages: Record<string, (file: string) => Promise<void>> = {
  truncated: (file) => truncate(file, 4000),
  emptied: (file) => truncate(file, 0),
  'longer than before': (file) => truncate(file, 400_000),
  'of the same length with zeros, as after a power failure': async (file) =>
    writeFile(file, Buffer.alloc((await readFile(file)).length)),
  'of the same length with one bit flipped': async (file) => {
    const bytes = await readFile(file)
    bytes[bytes.length - 1]! ^= 1
    await writeFile(file, bytes)
  },
}

for (const [how, damage] of Object.entries(damages)) {
  test(`a damaged upload of an earlier run is not committed and has to be sent again: ${how}`, async () => {
    await using place = await freshFolder()
    const earlier = place.open('earlier-run')
    for (const bytes of [SMALL, LARGE]) await earlier.put('an-area', toBody(bytes), { size: bytes.length })
    for (const file of await place.uncommitted()) await damage(file)
    const later = place.open('later-run')
    const wanted = [received(SMALL), received(LARGE)]
    assert.deepEqual(await later.commit('an-area', wanted), wanted)
    assert.deepEqual(await Array.fromAsync(later.list()), [])
    for (const bytes of [SMALL, LARGE]) await later.put('an-area', toBody(bytes), { size: bytes.length })
    assert.deepEqual(await later.commit('an-area', wanted), [])
    for (const bytes of [SMALL, LARGE]) assert.ok((await later.bytes(received(bytes).hash))?.equals(bytes))
  })
}

test('a file that a killed process of this run wrote in part is not committed', async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  for (const bytes of [SMALL, LARGE]) await blobs.put('an-area', toBody(bytes), { size: bytes.length })
  for (const file of await place.uncommitted()) await truncate(file, 100)
  const wanted = [received(SMALL), received(LARGE)]
  assert.deepEqual(await place.open().commit('an-area', wanted), wanted)
  for (const bytes of [SMALL, LARGE]) await keep(blobs, bytes)
})

test('a blob that is deleted while a reader has it open is read to its end', async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  const hash = await keep(blobs, LARGE)
  const body = (await blobs.read(hash))!
  await blobs.remove(hash)
  assert.ok(Buffer.concat(await Array.fromAsync(body)).equals(LARGE))
})

for (const what of ['the file', 'its folder'] as const) {
  test(`after a failed flush of ${what} nothing is committed any more`, requires('strace'), async () => {
    await using place = await freshFolder()
    const blobs = place.open()
    await keep(blobs, deterministicBytes('before', 100))
    const { hash } = await blobs.put('an-area', toBody(SMALL), {})
    const [file] = await place.uncommitted()
    const path = what === 'the file' ? file! : join(place.folder, hash.slice(0, 2))
    {
      await using _ = await attachStrace(process.pid, ['-P', path, ...FAILING_FLUSH])
      await assert.rejects(blobs.commit('an-area', [received(SMALL)]), { code: 'UNAVAILABLE' })
    }
    await assert.rejects(blobs.commit('an-area', [received(SMALL)]), { code: 'UNAVAILABLE' })
    await blobs.put('another', toBody(LARGE), {})
    await assert.rejects(blobs.commit('another', [received(LARGE)]), { code: 'UNAVAILABLE' })
    await assert.rejects(blobs.check(), { code: 'UNAVAILABLE' })
    assert.ok(
      await blobs.bytes(received(deterministicBytes('before', 100)).hash),
      'what was durable is still served',
    )
  })
}

for (const size of [1000, 300_000]) {
  test(`bytes that are uploaded again during commit do not replace the flushed ones: ${size}`, async (t) => {
    await using place = await freshFolder()
    const blobs = place.open()
    const bytes = deterministicBytes('again', size)
    const receive = () => blobs.put('an-area', toBody(bytes), { size })
    await receive()
    const flushed = await afterEachFlush(t, receive)

    assert.deepEqual(await blobs.commit('an-area', [received(bytes)]), [])
    const { hash } = received(bytes)
    const { ino } = await stat(join(place.folder, hash.slice(0, 2), hash))
    assert.ok(flushed.has(ino), 'the file in place is one that was flushed')
  })
}

test('bytes whose flush failed have to be uploaded again after a restart', requires('strace'), async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  await blobs.put('an-area', toBody(SMALL), {})
  {
    const [file] = await place.uncommitted()
    await using _ = await attachStrace(process.pid, ['-P', file!, ...FAILING_FLUSH])
    await assert.rejects(blobs.commit('an-area', [received(SMALL)]))
  }
  const restarted = place.open('later-run')
  assert.deepEqual(await restarted.commit('an-area', [received(SMALL)]), [received(SMALL)])
  await keep(restarted, SMALL)
})

test('commit flushes every file and its folder before it returns', requires('strace'), async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  for (const bytes of [SMALL, LARGE]) await blobs.put('an-area', toBody(bytes), {})
  const files = await place.uncommitted()
  await using strace = await attachStrace(process.pid, ['-e', 'trace=fsync,fdatasync,/^rename,/^mkdir'])
  assert.deepEqual(await blobs.commit('an-area', [received(SMALL), received(LARGE)]), [])
  const lines = await strace.stop()
  for (const { hash } of [received(SMALL), received(LARGE)]) {
    const folder = join(place.folder, hash.slice(0, 2))
    assertInOrder(lines, [
      ['mkdir', `"${folder}"`],
      ['sync(', `<${place.folder}>`],
      ['sync(', `<${files.find((file) => file.includes(hash))}>`],
      ['rename', `"${join(folder, hash)}"`],
      ['sync(', `<${folder}>`],
    ])
  }
})

test('a full disk is INSUFFICIENT_STORAGE and leaves no partial file', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(4 * 2 ** 20)
  const folder = join(disk.folder, 'blobs')
  const blobs = diskBlobs({ folder, bootId: 'this-run' })
  const kept = await keep(blobs, deterministicBytes('before', 2000))
  for (const round of [1, 2]) {
    await disk.fill(8192)
    for (const expected of [{ size: LARGE.length }, { limit: LARGE.length }, {}]) {
      await assert.rejects(blobs.put('full', toBody(LARGE), expected), { code: 'INSUFFICIENT_STORAGE' })
    }
    const small = deterministicBytes('small', 100_000)
    await assert.rejects(blobs.put('full', toBody(small), { size: 100_000 }), {
      code: 'INSUFFICIENT_STORAGE',
    })
    assert.deepEqual(await filesIn(join(folder, 'staged')), [])
    assert.equal((await blobs.bytes(kept))?.length, 2000)
    await disk.clear()
    await keep(blobs, deterministicBytes(`round ${round}`, 300_000))
  }
})

test('on a full disk no encoding is stored until space is free', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(4 * 2 ** 20)
  const folder = join(disk.folder, 'blobs')
  const blobs = diskBlobs({ folder, bootId: 'this-run' })
  const hash = await keep(blobs, deterministicBytes('before', 2000))
  await blobs.putEncoding(hash, 'br', deterministicBytes('br', 1000))
  await disk.fill(8192)
  for (const encoding of ['br', 'zstd'] as const)
    await assert.rejects(blobs.putEncoding(hash, encoding, LARGE), { code: 'INSUFFICIENT_STORAGE' })
  assert.deepEqual(await readdir(join(folder, 'staged')), ['an-area'])
  assert.ok((await blobs.bytes(hash, 'br'))?.equals(deterministicBytes('br', 1000)))
  assert.equal(await blobs.bytes(hash, 'zstd'), undefined)
  await disk.clear()
  await blobs.putEncoding(hash, 'zstd', LARGE)
  assert.ok((await blobs.bytes(hash, 'zstd'))?.equals(LARGE))
})

test('an encoding and its folder are flushed before it is stored', requires('strace'), async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  const hash = await keep(blobs, SMALL)
  await using strace = await attachStrace(process.pid, ['-e', 'trace=fsync,fdatasync,/^rename'])
  await blobs.putEncoding(hash, 'br', LARGE)
  const lines = await strace.stop()
  const shard = join(place.folder, hash.slice(0, 2))
  assertInOrder(lines, [
    ['sync(', `<${join(place.folder, 'staged')}`],
    ['rename', `"${join(shard, `${hash}.br`)}"`],
    ['sync(', `<${shard}>`],
  ])
})

test('after a failed flush no encoding is stored', requires('strace'), async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  const hash = await keep(blobs, SMALL)
  {
    await using _ = await attachStrace(process.pid, FAILING_FLUSH)
    await assert.rejects(blobs.putEncoding(hash, 'br', SMALL), { code: 'UNAVAILABLE' })
  }
  assert.equal(await blobs.bytes(hash, 'br'), undefined)
  await assert.rejects(blobs.putEncoding(hash, 'br', SMALL), { code: 'UNAVAILABLE' })
})

test('a disk that became read-only is UNAVAILABLE, also in its check', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(4 * 2 ** 20)
  const blobs = diskBlobs({ folder: join(disk.folder, 'blobs'), bootId: 'this-run' })
  const kept = await keep(blobs, SMALL)
  await disk.readOnly(true)
  for (const area of ['an-area', 'new-area'])
    await assert.rejects(blobs.put(area, toBody(LARGE), {}), { code: 'UNAVAILABLE' })
  await assert.rejects(blobs.check(), { code: 'UNAVAILABLE' })
  assert.ok((await blobs.bytes(kept))?.equals(SMALL))
  await disk.readOnly(false)
  await blobs.check()
  await keep(blobs, LARGE)
})

const OPERATIONS: Record<
  string,
  { path(hash: string): string; run(blobs: Blobs, hash: string): Promise<unknown> }
> = {
  bytes: { path: pathOf, run: (blobs, hash) => blobs.bytes(hash) },
  read: { path: pathOf, run: (blobs, hash) => blobs.read(hash) },
  remove: { path: pathOf, run: (blobs, hash) => blobs.remove(hash) },
  list: { path: (hash) => hash.slice(0, 2), run: (blobs) => Array.fromAsync(blobs.list()) },
  stagingAreas: { path: () => 'staged', run: (blobs) => Array.fromAsync(blobs.stagingAreas()) },
  discard: { path: () => 'staged/an-area', run: (blobs) => blobs.discard('an-area') },
  'discard of all but some copies': {
    path: () => 'staged/an-area',
    run: (blobs, hash) => blobs.discard('an-area', new Map([[hash, 1]])),
  },
}

for (const [operation, { path, run }] of Object.entries(OPERATIONS)) {
  test(`an I/O error is UNAVAILABLE and loses nothing: ${operation}`, requires('strace'), async () => {
    await using place = await freshFolder()
    const blobs = place.open()
    const hash = await keep(blobs, SMALL)
    await blobs.put('an-area', toBody(LARGE), {})
    {
      const failing = join(place.folder, path(hash))
      await using _ = await attachStrace(process.pid, ['-P', failing, '-e', 'inject=%file:error=EIO'])
      await assert.rejects(run(blobs, hash), { code: 'UNAVAILABLE' })
    }
    assert.ok((await blobs.bytes(hash))?.equals(SMALL))
    assert.deepEqual(await blobs.commit('an-area', [received(LARGE)]), [])
  })
}

test('nothing outside the folder is created, changed or deleted', requires('strace'), async () => {
  await using place = await freshFolder()
  await using strace = await attachStrace(process.pid, ['-e', `trace=${CHANGING}`])
  const blobs = place.open()
  const hash = await keep(blobs, SMALL)
  await keep(blobs, LARGE)
  await assert.rejects(blobs.put('an-area', cutOff(LARGE, 70_000), {}))
  await place.open('later-run').commit('an-area', [received(SMALL), received(LARGE)])
  await blobs.remove(hash)
  await blobs.discard('an-area')
  await Array.fromAsync(blobs.stagingAreas())
  await blobs.check()
  const lines = await strace.stop()
  const changed = lines.filter((line) => !/ = -1 E|O_RDONLY/.test(line)).flatMap(pathsIn)
  assert.ok(changed.length > 10, 'strace tells what is changed')
  assert.deepEqual(
    changed.filter((path) => !path.startsWith(`${place.folder}`)),
    [],
  )
})

test('a version id is a valid folder name and cannot leave the folder', () => {
  for (let number = 0; number < 20_000; number++) {
    assert.match(newId(Math.floor(Math.random() * 4e12)), /^[0-9a-hjkmnp-tv-z]{26}$/)
  }
})

const CHANGING =
  'openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,symlink,symlinkat,truncate'

/** The path of a committed blob in its folder. */
function pathOf(hash: string): string {
  return join(hash.slice(0, 2), hash)
}

/** The absolute paths in a line of strace. */
function pathsIn(line: string): string[] {
  return [...line.matchAll(/(?:<([^<>]*)>, )?"([^"]*)"/g)].map(([, folder, name]) =>
    name!.startsWith('/') ? name! : join(folder ?? '', name!),
  )
}

/** Asserts that these system calls with these paths occur in this order. */
function assertInOrder(lines: string[], steps: [string, string][]): void {
  let from = 0
  for (const [call, about] of steps) {
    const at = lines.findIndex((line, index) => index >= from && line.includes(call) && line.includes(about))
    assert.ok(at >= 0, `${call} of ${about} comes in its order:\n${lines.join('\n')}`)
    from = at + 1
  }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
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
