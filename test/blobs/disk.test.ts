import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { BlobLocation, Blobs, StoredBlob } from '../../server/blobs/blobs.ts'
import { DamageReport } from '../../server/blobs/damage.ts'
import { diskBlobs } from '../../server/blobs/disk.ts'
import { makeLog } from '../../server/lib/log.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { attachStrace } from '../tools/strace.ts'
import { cutOff, deterministicBytes, keep, listObjects, toBody, toLocation } from './bytes.ts'
import { blobsContract, NOW } from './contract.ts'

async function freshFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-blobs-'))
  return {
    folder,
    open: (bootId = 'this-run') => diskBlobs({ folder, bootId, clock: () => NOW }),
    pathOf: ({ object }: Pick<StoredBlob, 'object'>) => join(folder, object.slice(0, 2), object),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

blobsContract('disk', freshFolder)

const SMALL = deterministicBytes('small', 5000)
const LARGE = deterministicBytes('large', 300_000)

/** Arguments of strace. */
const FAILING_FLUSH = ['-e', 'inject=fsync,fdatasync:error=EIO']

/** Puts a small and a large file without committing them. */
function putBoth(blobs: Blobs): Promise<StoredBlob[]> {
  return Promise.all([SMALL, LARGE].map((bytes) => blobs.put(toBody(bytes), { size: bytes.length })))
}

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
    const damaged = await putBoth(place.open('earlier-run'))
    for (const blob of damaged) await damage(place.pathOf(blob))
    const later = place.open('later-run')
    assert.deepEqual(new Set(await later.commit(damaged)), new Set(damaged))
    const again = await putBoth(later)
    assert.deepEqual(await later.commit(again), [])
    for (const blob of again) assert.equal((await later.bytes(toLocation(blob)))?.length, blob.size)
  })
}

test('a byte that changed on the disk is not read, and each object is logged once', async () => {
  await using place = await freshFolder()
  const logged: object[] = []
  const write = (line: string) => void logged.push(JSON.parse(line))
  const metrics = new Metrics()
  const damage = new DamageReport({ log: makeLog({ level: 'error', text: false, write }), metrics })
  const blobs = diskBlobs({ folder: place.folder, bootId: 'this-run', clock: () => NOW, damage })
  const small = await keep(blobs, SMALL)
  const [, encoding] = await blobs.putTogether([SMALL, LARGE])
  for (const { object } of [small, encoding!]) {
    const file = await readFile(place.pathOf({ object }))
    await writeFile(place.pathOf({ object }), file.with(-1, file.at(-1)! ^ 1))
  }
  await assert.rejects(blobs.bytes(small), { code: 'UNAVAILABLE' })
  await assert.rejects(blobs.read(small, { start: 0, end: 0 }), { code: 'UNAVAILABLE' })
  await assert.rejects(blobs.bytes(encoding!), { code: 'UNAVAILABLE' })
  assert.equal(await blobs.verify(encoding!), 'damaged')
  const message = 'a stored file is damaged'
  const expected = [
    { message, object: small.object, start: 0, length: SMALL.length, hash: small.hash },
    { message, object: encoding!.object, start: SMALL.length, length: LARGE.length, hash: encoding!.hash },
  ]
  assert.partialDeepStrictEqual(logged, expected)
  assert.equal(logged.length, expected.length)
  assert.equal(metrics.counter('slipway_damaged_files_total', { found: 'read' }).value, 3)
})

test('a damaged or missing object is logged and recorded once an hour, and again a minute after a failure', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await using place = await freshFolder()
  const recorded: string[] = []
  const record = async (object: string) => {
    if (recorded.push(object) === 1) throw new Error('the database is unreachable')
  }
  let logged = 0
  const log = makeLog({ level: 'error', text: false, write: () => logged++ })
  const damage = new DamageReport({ log, metrics: new Metrics(), record })
  const blobs = diskBlobs({ folder: place.folder, bootId: 'this-run', clock: () => NOW, damage })
  const [small, large] = [await keep(blobs, SMALL), await keep(blobs, LARGE)]
  await writeFile(place.pathOf(small), LARGE)
  await rm(place.pathOf(large))
  for (const [pauseMs, ...expected] of [
    [MINUTE_MS, 1, small.object, large.object],
    [HOUR_MS - MINUTE_MS, 2, small.object, large.object, small.object],
    [MINUTE_MS, 2, small.object, large.object, small.object, large.object],
    [0, 3, small.object, large.object, small.object, large.object, small.object],
  ] as const) {
    for (let times = 0; times < 3; times++) {
      await assert.rejects(blobs.bytes(small), { code: 'UNAVAILABLE' })
      assert.equal(await blobs.read(large), undefined)
    }
    assert.deepEqual([logged, ...recorded], expected)
    t.mock.timers.tick(pauseMs)
  }
  const missing = Array.from({ length: 1002 }, (_, number) => `missing ${number}`)
  for (const object of missing) damage.addMissing(object)
  await turn()
  t.mock.timers.tick(HOUR_MS)
  damage.addMissing(missing.at(-1)!)
  // One place of the first hour was taken.
  assert.deepEqual(recorded.slice(-2), [missing[998], missing.at(-1)])
})

test('a file that a killed process of this run wrote in part is not committed', async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  const stored = await putBoth(blobs)
  for (const blob of stored) await truncate(place.pathOf(blob), 100)
  assert.deepEqual(new Set(await place.open().commit(stored)), new Set(stored))
  for (const bytes of [SMALL, LARGE]) await keep(blobs, bytes)
})

test('an object that cannot be deleted does not keep others', async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  const stored = await Promise.all(Array.from({ length: 50 }, () => keep(blobs, SMALL)))
  const stuck = stored[0]!
  await rm(place.pathOf(stuck))
  // A folder in its place.
  await mkdir(place.pathOf(stuck))
  await assert.rejects(blobs.remove(stored.map(({ object }) => object)))
  assert.deepEqual(await listObjects(blobs), [stuck.object])
})

test('a blob that is deleted while a reader has it open is read to its end', async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  const location = await keep(blobs, LARGE)
  const body = (await blobs.read(location))!
  await blobs.remove([location.object])
  assert.ok(Buffer.concat(await Array.fromAsync(body)).equals(LARGE))
})

for (const what of ['the file', 'its folder'] as const) {
  test(`after a failed flush of ${what} nothing is committed any more`, requires('strace'), async () => {
    await using place = await freshFolder()
    const blobs = place.open()
    const before = await keep(blobs, deterministicBytes('before', 100))
    const blob = await blobs.put(toBody(SMALL), {})
    const path = what === 'the file' ? place.pathOf(blob) : dirname(place.pathOf(blob))
    {
      await using _ = await attachStrace(process.pid, ['-P', path, ...FAILING_FLUSH])
      await assert.rejects(blobs.commit([blob]), { code: 'UNAVAILABLE' })
    }
    await assert.rejects(blobs.commit([blob]), { code: 'UNAVAILABLE' })
    const other = await blobs.put(toBody(LARGE), {})
    await assert.rejects(blobs.commit([other]), { code: 'UNAVAILABLE' })
    await assert.rejects(blobs.check(), { code: 'UNAVAILABLE' })
    assert.ok(await blobs.bytes(before), 'what was durable is still served')
  })
}

test('without its folder, or with an empty one in its place, as without its disk, it is unavailable', async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  const kept = await keep(blobs, SMALL)
  const away = `${place.folder}-away`
  await rename(place.folder, away)
  await assert.rejects(blobs.put(toBody(LARGE), {}), { code: 'UNAVAILABLE' })
  await assert.rejects(blobs.check(), { code: 'UNAVAILABLE' })
  await mkdir(place.folder)
  await assert.rejects(blobs.put(toBody(LARGE), {}), { code: 'UNAVAILABLE' })
  await assert.rejects(blobs.check(), ({ code, cause }) => code === 'UNAVAILABLE' && /mounted/.test(cause))
  await rm(place.folder, { recursive: true })
  await rename(away, place.folder)
  await blobs.check()
  assert.deepEqual(await blobs.bytes(kept), SMALL)
})

test(
  'a file for which the disk had no space at its flush is uploaded again, without a restart',
  requires('strace'),
  async () => {
    await using place = await freshFolder()
    const blobs = place.open()
    const blob = await blobs.put(toBody(SMALL), {})
    const noSpace = ['-e', 'inject=fsync,fdatasync:error=ENOSPC']
    {
      await using _ = await attachStrace(process.pid, ['-P', place.pathOf(blob), ...noSpace])
      await assert.rejects(blobs.commit([blob]), { code: 'INSUFFICIENT_STORAGE' })
    }
    await blobs.check()
    assert.deepEqual(await blobs.commit([blob]), [blob])
    await keep(blobs, SMALL)
  },
)

test('a file that another process deleted because its flush failed is not committed by a flush of the same time', async () => {
  await using place = await freshFolder()
  const blob = await place.open().put(toBody(SMALL), {})
  const committing = place.open().commit([blob])
  rmSync(place.pathOf(blob))
  assert.deepEqual(await committing, [blob])
})

test('bytes whose flush failed have to be uploaded again after a restart', requires('strace'), async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  const blob = await blobs.put(toBody(SMALL), {})
  {
    await using _ = await attachStrace(process.pid, ['-P', place.pathOf(blob), ...FAILING_FLUSH])
    await assert.rejects(blobs.commit([blob]))
  }
  const restarted = place.open('later-run')
  assert.deepEqual(await restarted.commit([blob]), [blob])
  await keep(restarted, SMALL)
})

test(
  'the folder of all files is flushed, and the one that has it, before anything is stored',
  requires('strace'),
  async () => {
    await using place = await freshFolder()
    await using strace = await attachStrace(process.pid, ['-e', 'trace=fsync,fdatasync'])
    place.open()
    const lines = await strace.stop()
    assertInOrder(lines, [
      ['sync(', `<${place.folder}>`],
      ['sync(', `<${dirname(place.folder)}>`],
    ])
  },
)

test('commit flushes every file, its folder and the root before it returns', requires('strace'), async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  await using strace = await attachStrace(process.pid, ['-e', 'trace=fsync,fdatasync,/^rename,/^mkdir'])
  const stored = await putBoth(blobs)
  assert.deepEqual(await blobs.commit(stored), [])
  const lines = await strace.stop()
  for (const blob of stored) {
    const path = place.pathOf(blob)
    assertInOrder(lines, [
      ['mkdir', `"${dirname(path)}"`],
      ['sync(', `<${path}>`],
      ['sync(', `<${dirname(path)}>`],
      ['sync(', `<${place.folder}>`],
    ])
  }
  assert.ok(!lines.some((line) => line.includes('rename')))
})

test('an upload is not flushed before it is committed', requires('strace'), async () => {
  await using place = await freshFolder()
  await using strace = await attachStrace(process.pid, ['-e', 'trace=fsync,fdatasync'])
  await putBoth(place.open())
  const lines = await strace.stop()
  const inFolder = lines.filter((line) => line.includes(`${place.folder}/`))
  assert.deepEqual(inFolder, [])
})

test('a full disk is INSUFFICIENT_STORAGE and leaves no partial file', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(4 * 2 ** 20)
  const folder = join(disk.folder, 'blobs')
  const blobs = diskBlobs({ folder, bootId: 'this-run', clock: () => NOW })
  const kept = await keep(blobs, deterministicBytes('before', 2000))
  const objects = [kept.object]
  for (const round of [1, 2]) {
    await disk.fill(8192)
    for (const expected of [{ size: LARGE.length }, { limit: LARGE.length }, {}]) {
      await assert.rejects(blobs.put(toBody(LARGE), expected), { code: 'INSUFFICIENT_STORAGE' })
    }
    const small = deterministicBytes('small', 100_000)
    await assert.rejects(blobs.put(toBody(small), { size: 100_000 }), {
      code: 'INSUFFICIENT_STORAGE',
    })
    assert.deepEqual(await listObjects(blobs), objects)
    assert.equal((await blobs.bytes(kept))?.length, 2000)
    await disk.clear()
    objects.push((await keep(blobs, deterministicBytes(`round ${round}`, 300_000))).object)
    objects.sort()
  }
})

test('on a full disk nothing is stored together until space is free', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(4 * 2 ** 20)
  const folder = join(disk.folder, 'blobs')
  const blobs = diskBlobs({ folder, bootId: 'this-run', clock: () => NOW })
  const [kept] = await blobs.putTogether([deterministicBytes('br', 1000)])
  await disk.fill(8192)
  await assert.rejects(blobs.putTogether([LARGE]), { code: 'INSUFFICIENT_STORAGE' })
  assert.deepEqual(await listObjects(blobs), [kept!.object])
  await disk.clear()
  const [, second] = await blobs.putTogether([SMALL, LARGE])
  assert.ok((await blobs.bytes(second!))?.equals(LARGE))
})

test('contents put together are flushed with their folder, then returned', requires('strace'), async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  await using strace = await attachStrace(process.pid, ['-e', 'trace=fsync,fdatasync,/^rename'])
  const [stored] = await blobs.putTogether([LARGE, SMALL])
  const path = place.pathOf(stored!)
  assertInOrder(await strace.stop(), [
    ['sync(', `<${path}>`],
    ['sync(', `<${dirname(path)}>`],
  ])
})

test('after a failed flush nothing is stored together', requires('strace'), async () => {
  await using place = await freshFolder()
  const blobs = place.open()
  {
    await using _ = await attachStrace(process.pid, FAILING_FLUSH)
    await assert.rejects(blobs.putTogether([SMALL]), { code: 'UNAVAILABLE' })
  }
  assert.deepEqual(await listObjects(blobs), [])
  await assert.rejects(blobs.putTogether([SMALL]), { code: 'UNAVAILABLE' })
})

test('a disk that became read-only is UNAVAILABLE, also in its check', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(4 * 2 ** 20)
  const blobs = diskBlobs({ folder: join(disk.folder, 'blobs'), bootId: 'this-run', clock: () => NOW })
  const kept = await keep(blobs, SMALL)
  await disk.readOnly(true)
  await assert.rejects(blobs.put(toBody(LARGE), {}), { code: 'UNAVAILABLE' })
  await assert.rejects(blobs.check(), { code: 'UNAVAILABLE' })
  assert.ok((await blobs.bytes(kept))?.equals(SMALL))
  await disk.readOnly(false)
  await blobs.check()
  await keep(blobs, LARGE)
})

const OPERATIONS: Record<string, (blobs: Blobs, location: BlobLocation) => Promise<unknown>> = {
  bytes: (blobs, location) => blobs.bytes(location),
  read: (blobs, location) => blobs.read(location),
  remove: (blobs, { object }) => blobs.remove([object]),
  commit: (blobs, location) => blobs.commit([location]),
  list: (blobs) => listObjects(blobs),
}

for (const [operation, run] of Object.entries(OPERATIONS)) {
  test(`an I/O error is UNAVAILABLE and loses nothing: ${operation}`, requires('strace'), async () => {
    await using place = await freshFolder()
    const blobs = place.open()
    const location = await keep(blobs, SMALL)
    {
      const path = place.pathOf(location)
      const failing = operation === 'list' ? dirname(path) : path
      await using _ = await attachStrace(process.pid, ['-P', failing, '-e', 'inject=%file:error=EIO'])
      await assert.rejects(run(blobs, location), { code: 'UNAVAILABLE' })
    }
    assert.ok((await blobs.bytes(location))?.equals(SMALL))
  })
}

test('nothing outside the folder is created, changed or deleted', requires('strace'), async () => {
  await using place = await freshFolder()
  await using strace = await attachStrace(process.pid, ['-e', `trace=${CHANGING}`])
  const blobs = place.open()
  const small = await keep(blobs, SMALL)
  const large = await keep(blobs, LARGE)
  await assert.rejects(blobs.put(cutOff(LARGE, 70_000), {}))
  await place.open('later-run').commit([small, large])
  await blobs.remove([small.object])
  await listObjects(blobs)
  await blobs.check()
  const lines = await strace.stop()
  const changed = lines.filter((line) => !/ = -1 E|O_RDONLY/.test(line)).flatMap(pathsIn)
  assert.ok(changed.length > 5, 'strace tells what is changed')
  const elsewhere = changed.filter((path) => !path.startsWith(`${place.folder}`))
  assert.deepEqual(elsewhere, [])
})

const CHANGING =
  'openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,symlink,symlinkat,truncate'

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
