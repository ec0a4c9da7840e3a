import assert from 'node:assert/strict'
import { existsSync, renameSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { readConfig } from '../../server/config/settings.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { MINUTE_MS } from '../../server/lib/time.ts'
import {
  BackupLease,
  type BackupOptions,
  backUp as makeBackup,
} from '../../server/operations/backup/backup.ts'
import { FileListWriter, parseFileList, toContentName } from '../../server/operations/backup/file-list.ts'
import { listBackups, putManifest, readManifest } from '../../server/operations/backup/manifest.ts'
import { prune } from '../../server/operations/backup/prune.ts'
import { partOfDay, verify } from '../../server/operations/backup/verify.ts'
import { type BackupRun, backUpData, openBackupTarget, restoreData } from '../../server/operations/copies.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import { sha256, toFiles } from '../api/content.ts'
import { deterministicBytes, recordsOf } from '../blobs/bytes.ts'
import { run } from '../operator/program.ts'
import { compressibleText } from '../precompress/encoded.ts'
import { SiteVisitor } from '../publishing/site-visitor.ts'
import { PATIENT } from '../support/patient.ts'
import { anySeed } from '../support/random.ts'
import { openOperator, type RunningService, startTestService } from '../support/service.ts'
import { silentLog } from '../support/silent-log.ts'
import { sharedCeph } from '../tools/ceph.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { attachStrace } from '../tools/strace.ts'
import { runRounds } from './rounds.ts'

const SECRET = 'a secret of thirty-two characters'
const SETTINGS = { SECRET, BLOB_GRACE: '0' }
const SURROUNDINGS = { log: silentLog, version: '1.2.3', deadlines: PATIENT }

/** More files than a page of rows has, and one of several pieces. */
const CONTENTS: Record<string, string | Buffer> = {
  'index.html': compressibleText('home', 3000),
  'empty.css': '',
  'large.bin': deterministicBytes(1, 3 * 2 ** 20 + 1),
  ...Object.fromEntries(Array.from({ length: 250 }, (_, number) => [`${number}.txt`, `text ${number}`])),
}
/** Those that are stored. */
const FILES = Object.values(CONTENTS).filter(({ length }) => length > 0).length

function configOf(data: string) {
  return readConfig({ SLIPWAY_DATA: data, SLIPWAY_SECRET: SECRET, SLIPWAY_LOG: 'silent' })
}

function backUp(
  data: string,
  target: string,
  { report = () => undefined, withSecret = true, keep = 0, ...options }: Partial<BackupRun> = {},
) {
  return backUpData(configOf(data), { ...SURROUNDINGS, ...options, target, withSecret, keep, report })
}

async function restore(
  target: string,
  data: string,
  { time, report = () => undefined }: RestoreOptions = {},
) {
  const opened = await openBackupTarget(target)
  const manifest = await readManifest(opened, time)
  return restoreData(configOf(data), { ...SURROUNDINGS, target: opened, manifest, report })
}

interface RestoreOptions {
  time?: string
  report?: () => void
}

async function verifyBackup(target: string, time?: string) {
  const opened = await openBackupTarget(target)
  return verify(opened, await readManifest(opened, time), () => undefined)
}

/** Throws at the second report of progress, or calls `action`. */
function atSecondPage(action: () => void): () => undefined {
  let reports = 0
  return () => {
    if (++reports === 2) action()
  }
}

/** Other bytes of this length that are decompressed without an error. */
function changeCompressed(compressed: Buffer): Buffer {
  const original = zstdDecompressSync(compressed)
  for (let at = compressed.length - 1; at > 0; at--) {
    const changed = Buffer.from(compressed)
    changed[at]! ^= 1
    try {
      if (!zstdDecompressSync(changed).equals(original)) return changed
    } catch {}
  }
  return assert.fail('each change is an error of the compression')
}

/** What a process that was killed leaves behind, in which no site is present. */
async function leaveLog(file: string): Promise<void> {
  const [log, kept] = [`${file}-wal`, `${file}-kept`]
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; UPDATE sites SET deleted_at = 1')
  await cp(log, kept)
  database.close()
  await rename(kept, log)
}

function fail(): never {
  throw new Error('stopped')
}

async function assertServes(data: string, slug: string): Promise<void> {
  await using service = await startTestService({ DATA: data })
  using visitor = new SiteVisitor(service.port)
  for (const path of ['index.html', 'empty.css', 'large.bin', '0.txt', '249.txt']) {
    const { status, body } = await visitor.get(slug, path)
    assert.ok(status === 200 && body.equals(Buffer.from(CONTENTS[path]!)), path)
  }
}

test('backups that are made while files are published and deleted have what was acknowledged, byte for byte', async () => {
  await runRounds({ rounds: 2, sites: 3, seed: anySeed() })
})

describe('a backup', () => {
  const opened = new AsyncDisposableStack()
  let service: RunningService
  let data: string
  let slug: string
  let key: string
  /** A target with a backup of this site, for tests that only read it. */
  let made: string
  let folders = 0
  before(async () => {
    const { path } = opened.use(await memoryFolder())
    data = join(path, 'data')
    service = opened.use(await startTestService({ ...SETTINGS, DATA: data }))
    key = await service.signIn('owner@example.test')
    slug = (await service.client(key).publish({ files: toFiles(CONTENTS) })).slug
    // So that the backup could have encodings.
    await service.service.precompressor.onIdle()
    made = join(path, 'made')
    await mkdir(made)
    await backUp(data, made)
  })
  after(() => opened.disposeAsync())

  /** Deletes the files that nothing refers to. */
  async function collect(): Promise<void> {
    await using operator = await openOperator(service, SETTINGS)
    await runOnce(sweeps.find(({ name }) => name === 'blobs')!, operator)
  }

  /** A new folder, or the path of one that is to be created. */
  async function newFolder({ exists = true } = {}): Promise<string> {
    const path = join(data, '..', `folder-${++folders}`)
    if (exists) await mkdir(path)
    return path
  }

  /** A target with the same backup. */
  async function copyMade(): Promise<string> {
    const target = await newFolder({ exists: false })
    await cp(made, target, { recursive: true })
    return target
  }

  test('copies only what the target does not have, and keeps as many as are wanted', async () => {
    const target = await newFolder()
    const first = await backUp(data, target)
    assert.deepEqual([first.copiedFiles, first.counts.sites, first.release], [FILES, 1, '1.2.3'])
    const client = service.client(key)
    const { slug: other } = await client.publish({ files: toFiles({ 'new.txt': 'new', '0.txt': 'text 0' }) })
    const second = await backUp(data, target)
    assert.equal(second.copiedFiles, 1)
    await client.delete(other, { permanent: true })
    await collect()
    const third = await backUp(data, target)
    assert.equal(third.copiedFiles, 0)

    const opened = await openBackupTarget(target)
    assert.equal((await prune(opened, 2, third.service)).backups, 1)
    assert.deepEqual(await listBackups(opened), [third.time, second.time])
    for (const time of await listBackups(opened)) {
      const { missing, damaged } = await verifyBackup(target, time)
      assert.deepEqual([missing, damaged], [[], []])
    }
    await prune(opened, 1, third.service)
    await assert.rejects(stat(join(target, toContentName(sha256('new')))), { code: 'ENOENT' })
    // More than one request can delete.
    for (let number = 0; number <= 1000; number++) {
      const ofKilled = join(target, toContentName(sha256(`${number} of a killed one`)))
      await mkdir(dirname(ofKilled), { recursive: true })
      await writeFile(ofKilled, '')
    }
    for (const files of [1001, 0])
      assert.partialDeepStrictEqual(await prune(opened, 10_000, third.service), { backups: 0, files })
    const restored = await newFolder({ exists: false })
    await restore(target, restored)
    await assertServes(restored, slug)
  })

  test('keeps all files that the database named at its beginning, until it ends', async () => {
    await using operator = await openOperator(service, SETTINGS)
    const client = service.client(key)
    const { slug: deleted } = await client.publish({ files: toFiles({ 'deleted.txt': 'deleted' }) })
    const find = () => operator.store.read.blobs.find(sha256('deleted'))
    const copies = join(data, 'backup')
    {
      await using _ = await BackupLease.acquire(operator.store)
      await client.delete(deleted, { permanent: true })
      await mkdir(copies)
      await collect()
      assert.ok(await operator.blobs.bytes((await find())!))
      assert.ok(existsSync(copies))
      await assert.rejects(BackupLease.acquire(operator.store), /Another backup of this service is running/)
    }
    await collect()
    assert.equal(await find(), undefined)
    assert.equal(existsSync(copies), false, 'the copy of a backup that was killed is deleted')
  })

  test('deletes earlier ones before another can begin, which would lose what it has copied', async () => {
    const target = await newFolder()
    await backUp(data, target)
    const opened = await openBackupTarget(target)
    let listed: string[] = []
    const store = await sqliteStore({ file: join(data, 'slipway.db'), clock: Date.now, deadlines: PATIENT })
    const openStore = async (): Promise<Store> => ({
      ...store,
      // The last write releases the lease.
      write: async (...args) => {
        listed = await listBackups(opened)
        return store.write(...args)
      },
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    })
    const { time } = await backUp(data, target, { keep: 1, openStore })
    assert.deepEqual(listed, [time])
  })

  test('made with an earlier time than another one fails, and deletes none', async () => {
    const target = await newFolder()
    const at = (clock: () => number) => ({ keep: 1, clock })
    const later = await backUp(
      data,
      target,
      at(() => Date.UTC(2031, 0)),
    )
    await assert.rejects(
      backUp(
        data,
        target,
        at(() => Date.UTC(2030, 0)),
      ),
      /has the new backup 2030-01-01.* one of a later time, 2031-01-01.*correct the clock/,
    )
    const [, made] = await listBackups(await openBackupTarget(target))
    assert.match(made!, /^2030/)
    assert.equal((await readManifest(await openBackupTarget(target))).time, later.time)
  })

  test('of another service does not replace those of a target, and restored data continue theirs', async () => {
    const target = await copyMade()
    const empty = await newFolder({ exists: false })
    await (await startTestService({ DATA: empty, SECRET }))[Symbol.asyncDispose]()
    const { service: id } = await backUp(data, target)
    const earlier = await listBackups(await openBackupTarget(made))
    const refusal = /is of another service, (\S+); this one is (\S+)\. .*backup --other-service$/
    const refused = refusal.exec(await backUp(empty, target, { keep: 1 }).then(String, String))

    const other = await backUp(empty, target, { keep: 1, otherService: true })
    assert.deepEqual([other.counts.sites, other.pruned?.backups], [0, 0])
    const { lines } = await run(['backup', 'list', target], { DATA: data, SECRET, LOG: 'silent' })
    const ids = [id!, other.service!]
    assert.deepEqual(refused?.slice(1), ids)
    for (const [at, one] of ids.reverse().entries())
      assert.ok(lines[at]!.endsWith(`, service ${one.slice(0, 8)}`), lines[at]!)
    const again = await backUp(empty, target, { keep: 1 })
    assert.equal(again.pruned?.backups, 1, 'its own')
    await assert.rejects(backUp(data, target), /is of another service/)
    const restored = await newFolder({ exists: false })
    await restore(target, restored, { time: earlier[0]! })
    await assertServes(restored, slug)
    assert.equal((await backUp(restored, await copyMade(), { keep: 1 })).pruned?.backups, 1)
  })

  test('that lost its lease is not completed', async () => {
    const target = await newFolder()
    let now = Date.now()
    const report = atSecondPage(() => {
      now += 11 * MINUTE_MS
    })
    await assert.rejects(backUp(data, target, { report, clock: () => now }), /interrupted for ten minutes/)
    assert.deepEqual(await listBackups(await openBackupTarget(target)), [])
  })

  test('is readable by its owner only, and has the secret unless it is left out', async () => {
    const { secret } = await readManifest(await openBackupTarget(made))
    assert.equal(secret, SECRET)
    for (const { parentPath, name } of await readdir(made, { recursive: true, withFileTypes: true }))
      assert.equal((await stat(join(parentPath, name))).mode & 0o077, 0, name)
    const other = await newFolder()
    await backUp(data, other, { withSecret: false })
    assert.equal((await readManifest(await openBackupTarget(other))).secret, undefined)
    const restored = await newFolder({ exists: false })
    await restore(other, restored)
    await assert.rejects(stat(join(restored, 'secret')), { code: 'ENOENT' })
  })

  test('that was stopped is not listed, and the next one continues it', async () => {
    const target = await newFolder()
    const stop = new AbortController()
    const report = atSecondPage(() => stop.abort(new Error('stopped')))
    await assert.rejects(backUp(data, target, { report, signal: stop.signal }), /^Error: stopped/)
    assert.deepEqual(await listBackups(await openBackupTarget(target)), [])
    await assert.rejects(stat(join(data, 'backup')), { code: 'ENOENT' })
    assert.ok((await backUp(data, target)).copiedFiles < FILES)
    assert.deepEqual((await verifyBackup(target)).missing, [])
  })

  test('that is stopped while it copies a file ends with the reason', async () => {
    const stop = new AbortController()
    const location = { hash: sha256('a'), size: 1, object: 'a', piecesHash: null }
    const options = {
      target: await openBackupTarget(await newFolder()),
      snapshot: {
        blobs: async function* () {
          yield [location]
        },
      },
      blobs: {
        async bytes() {
          stop.abort(new Error('stopped'))
          return Buffer.from('a')
        },
      },
      workFolder: await newFolder(),
      signal: stop.signal,
    }
    await assert.rejects(makeBackup(options as unknown as BackupOptions), /^Error: stopped/)
  })

  test('to a target that goes away in the middle says so, and creates no folder in its place', async () => {
    const target = await copyMade()
    const away = `${target}-away`
    await service.client(key).publish({ files: toFiles({ 'one.txt': 'one more' }) })

    await rename(target, away)
    await mkdir(target)
    const gone = atSecondPage(() => renameSync(target, `${target}-gone`))
    await assert.rejects(backUp(data, target, { report: gone }), /The backup target cannot be used \(ENOENT/)
    await assert.rejects(backUp(data, target), /is not a folder: create it once/)
    await rename(away, target)
    assert.equal((await backUp(data, target)).copiedFiles, 1)
  })

  test('is listed only once all of its files are flushed, with their names', requires('strace'), async () => {
    const target = await newFolder()
    await using strace = await attachStrace(process.pid, ['-e', 'trace=fsync,fdatasync,/^rename,/^mkdir'])
    const { time, database } = await backUp(data, target)
    const lines = await strace.stop()
    const indexOf = (what: RegExp) => {
      const found = lines.findLastIndex((line) => what.test(line))
      assert.ok(found >= 0, `${what}:\n${lines.join('\n')}`)
      return found
    }
    const manifest = indexOf(new RegExp(`rename.*${time}\\.json"`))
    for (const hash of [database.hash, sha256('text 3')]) {
      const path = RegExp.escape(join(target, toContentName(hash)))
      const renamed = indexOf(new RegExp(`rename.*"${path}"`))
      assert.ok(indexOf(new RegExp(`sync\\(.*<${path}\\.partial>`)) < renamed, 'the bytes, then the name')
      const named = indexOf(
        new RegExp(`sync\\(.*<${RegExp.escape(dirname(join(target, toContentName(hash))))}>`),
      )
      assert.ok(renamed < named && named < manifest, 'the name, then the manifest')
    }
    assert.ok(manifest < indexOf(new RegExp(`sync\\(.*<${RegExp.escape(join(target, 'backups'))}>`)))
  })

  test('that is removed is away on the disk before its contents are', requires('strace'), async () => {
    const target = await newFolder()
    await backUp(data, target)
    await service.client(key).publish({ files: toFiles({ 'later.txt': 'of the second backup' }) })
    const { service: own } = await backUp(data, target)
    const opened = await openBackupTarget(target)
    await using strace = await attachStrace(process.pid, ['-e', 'trace=fsync,fdatasync,/^unlink'])
    await prune(opened, 1, own)
    const lines = await strace.stop()
    const listed = lines.findLastIndex((line) => /unlink.*\/backups\//.test(line))
    const flushed = lines.findIndex((line) => /sync\(.*\/backups>/.test(line))
    const contents = lines.findIndex((line) => /unlink.*\/contents\//.test(line))
    assert.ok(0 <= listed && listed < flushed && flushed < contents, lines.join('\n'))
  })

  test('to a full target says so, and harms no earlier one', requires('small-disk'), async () => {
    await using disk = await mountSmallDisk(24 * 2 ** 20)
    const target = join(disk.folder, 'slipway')
    await mkdir(target)
    const { time } = await backUp(data, target)
    const files = Object.fromEntries(
      Array.from({ length: 8 }, (_, number) => [`${number}.bin`, deterministicBytes(100 + number, 200_000)]),
    )
    await service.client(key).publish({ files: toFiles(files) })
    await disk.fill(700_000)
    await assert.rejects(backUp(data, target), /The backup target is full: make room there/)
    const countFailures = async () =>
      (await service.service.metrics.collect()).slipway_backup_failures?.[0]?.[2]
    assert.equal(await countFailures(), 1)
    assert.deepEqual(await listBackups(await openBackupTarget(target)), [time])
    const { missing, damaged } = await verifyBackup(target)
    assert.deepEqual([missing, damaged], [[], []])
    await disk.clear()
    const { copiedFiles } = await backUp(data, target)
    assert.ok(copiedFiles > 0 && copiedFiles < 8, `${copiedFiles}`)
    assert.deepEqual((await verifyBackup(target)).missing, [])
  })

  test('in a bucket is listed, compared and restored as one in a folder', requires('ceph'), async () => {
    const target = (await sharedCeph()).storageUrl()
    assert.ok((await backUp(data, target)).copiedFiles >= FILES)
    assert.equal((await backUp(data, target)).copiedFiles, 0)
    const opened = await openBackupTarget(target)
    await prune(opened, 1, (await readManifest(opened)).service)
    assert.equal((await listBackups(opened)).length, 1)
    const { missing, damaged } = await verifyBackup(target)
    assert.deepEqual([missing, damaged], [[], []])
    const restored = await newFolder({ exists: false })
    await restore(target, restored)
    await assertServes(restored, slug)
    await opened.remove([toContentName(sha256('text 7'))])
    await assert.rejects(restore(target, await newFolder()), new RegExp(sha256('text 7')))
  })

  test('without a file that the service has lost or cannot read is made, and names it', async () => {
    const target = await newFolder()
    await using operator = await openOperator(service, SETTINGS)
    const large = deterministicBytes(2, 2 ** 20 + 1)
    const contents = ['lost', 'cut off', 'changed', 'a folder', 'a loop', large]
    const named = Object.fromEntries(contents.map((content, at) => [`${at}.bin`, content]))
    const { slug: damaged } = await service.client(key).publish({ files: toFiles(named) })
    const places = await Promise.all(
      contents.map(async (content) => {
        const { object } = (await operator.store.read.blobs.find(sha256(content)))!
        return join(data, 'blobs', object.slice(0, 2), object)
      }),
    )
    const [lost, cutOff, changed, folder, loop, largeFolder] = places as [
      string,
      string,
      string,
      string,
      string,
      string,
    ]
    for (const place of places) await rm(place)
    await writeFile(cutOff, 'cut')
    await writeFile(changed, 'CHANGED')
    // Errors when they are read, and when one is opened.
    for (const place of [folder, largeFolder]) await mkdir(place)
    await symlink(loop, loop)
    const hashes = contents.map(sha256).sort()
    assert.deepEqual((await backUp(data, target)).damaged.toSorted(), hashes)
    const sweep = sweeps.find(({ name }) => name === 'verification')!
    assert.equal(await runOnce(sweep, operator), hashes.length)
    const restored = await newFolder({ exists: false })
    assert.deepEqual((await restore(target, restored)).damaged.toSorted(), hashes)
    await assertServes(restored, slug)
    {
      await using repaired = await startTestService({ ...SETTINGS, DATA: restored })
      await repaired.client(key).publish({ slug: damaged, files: toFiles(named), ifChanged: true })
      using visitor = new SiteVisitor(repaired.port)
      for (const path of Object.keys(named))
        assert.equal((await visitor.get(damaged, path)).status, 200, path)
    }
    for (const place of places.filter((place) => place !== lost)) await rm(place, { recursive: true })
    await service.client(key).delete(damaged, { permanent: true })
  })

  test(
    'with files that its disk cannot read is compared and restored but for these files, however many',
    requires('strace'),
    async () => {
      const target = await copyMade()
      const hashes = Array.from({ length: 101 }, (_, at) => sha256(`text ${at + 20}`)).sort()
      const restored = await newFolder({ exists: false })
      {
        const paths = hashes.flatMap((hash) => ['-P', join(target, toContentName(hash))])
        await using _ = await attachStrace(process.pid, [...paths, '-e', 'inject=read,pread64:error=EIO'])
        assert.deepEqual((await verifyBackup(target)).damaged, hashes)
        assert.deepEqual((await restore(target, restored)).damaged.toSorted(), hashes)
      }
      await assertServes(restored, slug)
    },
  )

  test('of a disk that was disconnected is not reported as damaged', async () => {
    const target = await copyMade()
    for (let number = 0; number < 250; number++) {
      const path = join(target, toContentName(sha256(`text ${number}`)))
      await rm(path)
      await symlink(path, path)
    }
    await assert.rejects(verifyBackup(target), /The backup target cannot be used \(ELOOP/)
  })

  test('with lost or changed files is found, and one with lost files is not restored', async () => {
    const target = await copyMade()
    await backUp(data, target)
    const place = (text: string) => join(target, toContentName(sha256(text)))
    await writeFile(place('text 3'), 'other3')
    await rm(place('text 5'))
    await writeFile(place('text 7'), 'text')
    const { missing, damaged } = await verifyBackup(target)
    const changed = [sha256('text 3'), sha256('text 7')].sort()
    assert.deepEqual([missing, damaged], [[sha256('text 5')], changed])
    const folder = await newFolder()
    await assert.rejects(restore(target, folder), new RegExp(`has lost files .*${sha256('text 5')}`, 's'))
    assert.deepEqual(await readdir(folder), [])
    const opened = await openBackupTarget(target)
    const { list, service: own } = await readManifest(opened)
    const listed = await readFile(join(target, toContentName(list.hash)))
    await writeFile(join(target, toContentName(list.hash)), listed.fill(0, 0, 32))
    await assert.rejects(prune(opened, 1, own), /no backup was deleted/)
    assert.equal((await backUp(data, target)).copiedFiles, 2, 'the next backup repairs what has another size')
    const repaired = await verifyBackup(target)
    assert.deepEqual([repaired.missing, repaired.damaged], [[], [sha256('text 3')]])
    assert.ok((await restore(target, folder)).damaged.includes(sha256('text 3')))
  })

  test('that has lost files is repaired with those of the service, and the rest is listed', async () => {
    const target = await copyMade()
    const slipway = async (...args: string[]) => {
      const { code, lines } = await run(['backup', ...args], { DATA: data, SECRET, LOG: 'silent' })
      return { code, output: lines.join('\n') }
    }
    const path = (hash: string) => join(target, toContentName(hash))
    const [turned, removed, loop, large] = ['0.txt', '1.txt', '2.txt', 'large.bin'].map((name) =>
      sha256(CONTENTS[name]!),
    )
    const damage = async () => {
      await writeFile(path(turned!), 'text O')
      for (const hash of [removed!, loop!]) await rm(path(hash))
      await symlink(path(loop!), path(loop!))
      await writeFile(path(large!), Buffer.alloc(CONTENTS['large.bin']!.length))
    }
    await damage()
    const found = await slipway('verify', target)
    assert.deepEqual([found.code, found.output.includes('1 missing, 3 damaged.')], [1, true])
    const repaired = await slipway('verify', target, '--repair')
    assert.deepEqual([repaired.code, repaired.output.match(/copied again/g)?.length], [0, 4])
    assert.match((await slipway('verify', target)).output, /all are intact/)

    await damage()
    await using operator = await openOperator(service, SETTINGS)
    const { object } = (await operator.store.read.blobs.find(turned!))!
    await writeFile(join(data, 'blobs', object.slice(0, 2), object), 'text o')
    const partly = await slipway('verify', target, '--repair')
    assert.equal(partly.code, 1)
    assert.ok(partly.output.includes(`${turned} is damaged; the service does not have it.`))
    assert.equal(await readFile(path(turned!), 'utf8'), 'text O', 'it keeps what it had')
    assert.match(partly.output, /1 missing, 3 damaged, 3 repaired/)
    const recorded = (await operator.store.read.sweepRuns.list()).find(({ name }) => name === 'backup')
    assert.equal(recorded!.error, 'lost or damaged files of a backup: 1', 'an alert tells the operator')
    await writeFile(join(data, 'blobs', object.slice(0, 2), object), 'text 0')

    const none = await newFolder()
    assert.equal((await slipway('verify', none, '--repair')).code, 1)
    const failed = (await operator.store.read.sweepRuns.list()).find(({ name }) => name === 'backup')
    assert.match(failed!.error!, /has no complete backup/, 'also when it could not be completed')
  })

  test('has a list of files that is read whole, in whatever pieces it arrives', async () => {
    const path = join(await newFolder(), 'list')
    const files = ['a', 'b', 'c'].map((text, size) => ({ hash: sha256(text), size }))
    {
      await using list = await FileListWriter.create(path)
      for (const file of files) await list.add(file)
      await list.finish()
    }
    const bytes = await readFile(path)
    for (const size of [1, 37, 39, 100]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      )
      const found = await Array.fromAsync(parseFileList(Readable.from(pieces)))
      assert.deepEqual(
        found.map(({ hash, size }) => ({ hash, size })),
        files,
      )
    }
  })

  test('is verified file by file once in as many days as there are parts', async () => {
    const opened = await openBackupTarget(made)
    const manifest = await readManifest(opened)
    const counts: number[] = []
    for (const number of [0, 1, 2])
      counts.push((await verify(opened, manifest, () => undefined, { number, of: 3 })).files - 2)
    const all = (await verify(opened, manifest, () => undefined)).files - 2
    assert.equal(counts[0]! + counts[1]! + counts[2]!, all)
    assert.ok(counts.every((count) => count > all / 6))
  })

  test('has each of its parts verified by a daily timer, however long its delay and the backup take', (t) => {
    const zone = process.env.TZ
    t.after(() => {
      if (zone === undefined) delete process.env.TZ
      else process.env.TZ = zone
    })
    for (const TZ of ['UTC', 'Europe/Berlin', 'America/St_Johns']) {
      process.env.TZ = TZ
      const nights = Array.from({ length: 30 }, (_, day) => new Date(2026, 9, 10 + day, 0, day % 2 ? 90 : 1))
      const numbers = new Set(nights.map((night) => partOfDay(night, 30).number))
      assert.equal(numbers.size, 30, TZ)
    }
  })

  test('is restored into an empty folder only, which a second run continues to fill', async () => {
    await assert.rejects(restore(made, data), /is not empty\. Restore into a new folder/)
    const folder = await newFolder()
    await writeFile(join(folder, 'notes.txt'), 'of another user')
    await assert.rejects(restore(made, folder), /is not empty/)
    assert.deepEqual(await readdir(folder), ['notes.txt'])
    await rm(join(folder, 'notes.txt'))
    await assert.rejects(restore(made, folder, { report: atSecondPage(fail) }), /stopped/)
    await assert.rejects(startTestService({ DATA: folder }), /only a part of the data/)
    await leaveLog(join(folder, 'restore', 'slipway.db'))
    await restore(made, folder)
    assert.equal((await readFile(join(folder, 'secret'), 'utf8')).trim(), SECRET)
    await assertServes(folder, slug)
    await assert.rejects(restore(made, folder), /is not empty/)
  })

  test('whose database is damaged leaves a folder on which no service starts', async () => {
    const target = await copyMade()
    const { database } = await readManifest(await openBackupTarget(target))
    const stored = join(target, toContentName(database.hash))
    for (const damaged of [Buffer.alloc(database.size), changeCompressed(await readFile(stored))]) {
      await writeFile(stored, damaged)
      const folder = await newFolder()
      await assert.rejects(restore(target, folder), /has a damaged database/)
      await assert.rejects(startTestService({ DATA: folder }), /only a part of the data/)
    }
  })

  test('of a newer release is not restored', async () => {
    const target = await copyMade()
    const opened = await openBackupTarget(target)
    const manifest = await readManifest(opened)
    const file = join(target, 'newer.db')
    const stored = join(target, toContentName(manifest.database.hash))
    await writeFile(file, zstdDecompressSync(await readFile(stored)))
    const database = new DatabaseSync(file)
    database.exec(`insert into applied_migrations values ('999-later', 0);
      update schema_compatibility set oldest = '999-later'`)
    database.close()
    const bytes = await readFile(file)
    const compressed = zstdCompressSync(bytes)
    const identity = { hash: sha256(compressed), size: compressed.length }
    await opened.put(toContentName(identity.hash), Readable.from([compressed]), identity)
    await putManifest(opened, { ...manifest, database: { ...identity, bytes: bytes.length } })
    await assert.rejects(restore(target, await newFolder()), /A newer version of Slipway wrote this data/)
    await putManifest(opened, { ...manifest, format: 2 as never, release: '9.9.9' })
    await assert.rejects(
      restore(target, await newFolder()),
      /a backup of a newer release, 9\.9\.9: use that release/,
    )
  })

  test('has no encodings: the restored service prepares them', async () => {
    const folder = await newFolder()
    await restore(made, folder)
    await using restored = await startTestService({ DATA: folder })
    await using operator = await openOperator(restored, {})
    await runOnce(sweeps.find(({ name }) => name === 'encodings')!, operator)
    const site = (await operator.store.read.sites.find(slug))!
    const records = await recordsOf(operator.store.read, [site.liveVersionId!])
    assert.ok(records.find(({ hash }) => hash === sha256(CONTENTS['index.html']!))?.encodings?.br)
  })
})
