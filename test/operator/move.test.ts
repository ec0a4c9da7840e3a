import assert from 'node:assert/strict'
import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, mock, test } from 'node:test'
import { openForOperator, startService } from '../../server/app.ts'
import type { BlobLocation } from '../../server/blobs/blobs.ts'
import { readConfig } from '../../server/config/settings.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { moveData, type StorageSettings } from '../../server/operations/copies.ts'
import type { MoveResult } from '../../server/operations/move.ts'
import { TABLES } from '../../server/store/schema.ts'
import { sqliteStore, sqliteTables } from '../../server/store/sqlite.ts'
import { Transfer } from '../../server/store/transfer.ts'
import { sha256, toFiles } from '../api/content.ts'
import { listObjects, recordsOf } from '../blobs/bytes.ts'
import { compressibleText } from '../precompress/encoded.ts'
import { SiteVisitor } from '../publishing/site-visitor.ts'
import { storedBlob } from '../store/rows.ts'
import { PATIENT } from '../support/patient.ts'
import { startTestService } from '../support/service.ts'
import { silentLog } from '../support/silent-log.ts'
import { sharedCeph } from '../tools/ceph.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { run } from './program.ts'

const SECRET = 'a secret of thirty-two characters'
const SURROUNDINGS = { log: silentLog, version: 'test', deadlines: PATIENT }

/** Contents of a site with more files than a page of rows has. */
const CONTENTS = {
  'index.html': compressibleText('home', 3000),
  ...Object.fromEntries(Array.from({ length: 250 }, (_, number) => [`${number}.txt`, `text ${number}`])),
}

function configOf(settings: Partial<StorageSettings>) {
  const { data = '', databaseUrl = '', blobsUrl = '' } = settings
  const config = readConfig({ SLIPWAY_DATA: data, SLIPWAY_SECRET: SECRET, SLIPWAY_LOG: 'silent' })
  return { ...config, databaseUrl, blobsUrl }
}

function move(from: Partial<StorageSettings>, to: Partial<StorageSettings>, report = () => undefined) {
  const target = { data: '', databaseUrl: '', blobsUrl: '', ...to }
  return moveData(configOf(from), target, { ...SURROUNDINGS, report }) as Promise<MoveResult>
}

/** Throws at the second report of progress. */
function stopAtSecondPage(): () => undefined {
  let reports = 0
  return () => {
    if (++reports === 2) throw new Error('stopped')
  }
}

async function assertServes(
  data: string,
  slugs: readonly string[],
  settings: Record<string, string> = {},
): Promise<void> {
  await using service = await startTestService({ DATA: data, SECRET, ...settings })
  using visitor = new SiteVisitor(service.port)
  for (const slug of slugs)
    for (const [path, text] of Object.entries(CONTENTS).slice(-10)) {
      const { status, body } = await visitor.get(slug, path)
      assert.deepEqual([status, String(body)], [200, text], `${slug}/${path}`)
    }
}

describe('a move', () => {
  const disposal = new AsyncDisposableStack()
  /** The data of a stopped service: a site with its files and a draft, and another with the same files. */
  let original: string
  const slugs: string[] = []
  before(async () => {
    original = disposal.use(await memoryFolder()).path
    await using service = await startTestService({ DATA: original, SECRET })
    const client = service.client(await service.signIn('owner@example.test'))
    for (const title of ['One', 'Two'])
      slugs.push((await client.publish({ files: toFiles(CONTENTS), title })).slug)
    await client.publish({ files: toFiles({ 'draft.txt': 'draft' }), slug: slugs[0]!, live: false })
    await service.service.precompressor.onIdle()
  })
  after(() => disposal.disposeAsync())

  async function copyOriginal() {
    const folder = await memoryFolder()
    await cp(original, folder.path, { recursive: true })
    return folder
  }

  test('takes all data to a database and back, and can be stopped', requires('postgres'), async () => {
    await using middle = await memoryFolder()
    await using last = await memoryFolder()
    await using database = await (await sharedPostgres()).borrowDatabase()
    const shared = { databaseUrl: database.url, data: middle.path }
    await assert.rejects(move({ data: original }, shared, stopAtSecondPage()), /stopped/)
    const { files, ofFiles, bytes, damaged } = await move({ data: original }, shared)
    assert.deepEqual([files, damaged], [ofFiles, []])
    assert.ok(bytes < Object.values(CONTENTS).join('').length, 'the second run copies what the first has not')

    const back = await move(shared, { data: last.path })
    assert.equal(back.files, files)
    await assertServes(last.path, slugs)
    await using context = await openForOperator(configOf({ data: last.path }), SURROUNDINGS, {
      uses: 'storage',
    })
    const { store, blobs } = context
    const site = (await store.read.sites.find(slugs[0]!))!
    const records = await recordsOf(store.read, [site.liveVersionId!])
    const { encodings } = records.find(({ hash }) => hash === sha256(CONTENTS['index.html']))!
    assert.equal(sha256((await blobs.bytes(encodings!.br!))!), encodings!.br!.hash)
    assert.equal((await listObjects(blobs)).length, await countObjects(original))
  })

  test(
    'is not needed to restore a backup of one machine into a fleet, and takes the fleet back to one machine',
    requires('postgres', 'ceph'),
    async () => {
      await using stack = new AsyncDisposableStack()
      const [target, node, last] = [
        stack.use(await memoryFolder()),
        stack.use(await memoryFolder()),
        stack.use(await memoryFolder()),
      ]
      const { url } = stack.use(await (await sharedPostgres()).borrowDatabase())
      const blobs = (await sharedCeph()).storageUrl()
      const made = await run(['backup', target.path], { DATA: original, SECRET })
      assert.deepEqual([made.code, made.stderr], [0, ''])
      const options = ['--to-data', node.path, '--to-database', url, '--to-blobs', blobs]
      const restored = await run(['restore', target.path, ...options])
      assert.deepEqual([restored.code, restored.stderr], [0, ''])
      assert.match(restored.lines.at(-1)!, /SLIPWAY_SECRET set to the contents of .*\/secret\.$/)
      const fleet = {
        DATABASE_URL: url,
        BLOBS_URL: blobs,
        SMTP_URL: 'smtp://127.0.0.1:1',
        BASE_URL: 'http://localhost',
      }
      await assertServes(node.path, slugs, fleet)
      const again = await run(['restore', target.path, ...options])
      assert.equal(again.code, 1, 'the folder is not empty')

      await move({ databaseUrl: url, blobsUrl: blobs, data: node.path }, { data: last.path })
      await assertServes(last.path, slugs)
    },
  )

  test('that is repeated after changes makes the target equal to the source', async () => {
    await using source = await copyOriginal()
    await using target = await memoryFolder()
    await assert.rejects(move({ data: source.path }, { data: target.path }, stopAtSecondPage()), /stopped/)
    {
      await using service = await startTestService({ DATA: source.path, SECRET, BLOB_GRACE: '0' })
      const client = service.client(await service.signIn('owner@example.test'))
      await client.delete(slugs[1]!, { permanent: true })
      await client.publish({ files: toFiles({ 'new.txt': 'new' }), slug: slugs[0]! })
    }
    const { damaged } = await move({ data: source.path }, { data: target.path })
    assert.deepEqual(damaged, [])
    await using context = await openForOperator(configOf({ data: target.path }), SURROUNDINGS, {
      uses: 'storage',
    })
    assert.equal((await context.store.read.sites.find(slugs[1]!))?.deletionReason, 'deleted')
    const kept = await context.store.read.versions.bySlug(slugs[0]!)
    assert.deepEqual(kept.map(({ state }) => state).sort(), ['former', 'ready', 'ready', 'ready'])
  })

  test('leaves a part of the data, on which no service or command starts', requires('postgres'), async () => {
    await using target = await memoryFolder()
    await using other = await memoryFolder()
    await using database = await (await sharedPostgres()).createDatabase()
    const databaseUrl = database.url
    for (const to of [{ data: target.path }, { databaseUrl, data: other.path }]) {
      await assert.rejects(move({ data: original }, to, stopAtSecondPage()), /stopped/)
      const rows = mock.method(Transfer.prototype, 'copyRows', () => Promise.reject(new Error('no rows')))
      await assert.rejects(move({ data: original }, to), /no rows/)
      rows.mock.restore()
      const refused = /only a part of the data/
      const config = { ...configOf(to), port: 0 }
      await assert.rejects(startService(config, SURROUNDINGS), refused)
      await assert.rejects(openForOperator(config, SURROUNDINGS), refused)
      await assert.rejects(move(to, { data: original }), refused, 'a part is not moved on')
    }
  })

  test('is refused while a service has the data folder of the source or of the target open, and into the data of one', async () => {
    await using target = await copyOriginal()
    const refused = () =>
      assert.rejects(move({ data: original }, { data: target.path }), { name: 'DatabaseInUseError' })
    for (const DATA of [original, target.path]) {
      await using _ = await startTestService({ DATA, SECRET })
      await refused()
    }
    await refused()
  })

  test('is refused each time where files of a service are, which one of the two would delete', async () => {
    await using target = await memoryFolder()
    const [from, to] = [{ data: original }, { data: target.path }]
    await cp(join(original, 'blobs'), join(target.path, 'blobs'), { recursive: true })
    for (const _ of [1, 2])
      await assert.rejects(move(from, to), { name: 'DatabaseInUseError', message: /has files of a service/ })
    await rm(join(target.path, 'blobs'), { recursive: true })
    await move(from, to)
  })

  test('is refused each time while a node uses the source or the target', requires('postgres'), async () => {
    await using target = await memoryFolder()
    await using database = await (await sharedPostgres()).borrowDatabase()
    const shared = { databaseUrl: database.url, data: target.path }
    await assert.rejects(move({ data: original }, shared, stopAtSecondPage()), /stopped/)
    const seen = (ageMs: number) => `
      insert into nodes (id, host, release, started_at, seen_at, numbers)
      values ('node', 'host', 'release', 0, extract(epoch from now()) * 1000 - ${ageMs}, '{}')
      on conflict (id) do update set seen_at = excluded.seen_at`
    const inUse = (name: string) => ({
      name: 'DatabaseInUseError',
      message: new RegExp(`The ${name} is in use`),
    })
    await database.run(seen(0))
    await assert.rejects(move({ data: original }, shared), inUse('target'))
    await database.run(seen(120_000))
    await move({ data: original }, shared)
    await database.run(seen(0))
    await assert.rejects(move(shared, { data: target.path }), inUse('source'))
  })

  test('reports files that the source has lost or cannot read, and moves all others', async () => {
    await using source = await copyOriginal()
    await using target = await memoryFolder()
    {
      await using context = await openForOperator(configOf({ data: source.path }), SURROUNDINGS, {
        uses: 'storage',
      })
      for (const text of ['draft', 'text 0']) {
        const { object } = (await context.store.read.blobs.find(sha256(text)))!
        const path = join(source.path, 'blobs', object.slice(0, 2), object)
        await rm(path)
        if (text !== 'draft') await mkdir(path)
      }
    }
    const { files, ofFiles, damaged } = await move({ data: source.path }, { data: target.path })
    assert.deepEqual([damaged.toSorted(), files], [['draft', 'text 0'].map(sha256).sort(), ofFiles - 2])
    await assertServes(target.path, slugs)
  })

  test('takes the rows of every table but those of one installation', requires('postgres'), async () => {
    await using database = await (await sharedPostgres()).borrowDatabase()
    const found = await database.run('select tablename from pg_tables where schemaname = $$public$$')
    const own = ['changes', 'applied_migrations', 'schema_compatibility', 'changes_trimmed', 'feed_epoch']
    const names = found.rows.map(({ tablename }) => tablename as string).filter((name) => !own.includes(name))
    assert.deepEqual(names.sort(), Object.keys(TABLES).sort())
  })
})

/** The number of objects without those that are to be deleted. */
async function countObjects(data: string): Promise<number> {
  await using context = await openForOperator(configOf({ data }), SURROUNDINGS, { uses: 'storage' })
  await runOnce(sweeps.find(({ name }) => name === 'blobs')!, context)
  return (await listObjects(context.blobs)).length
}

test('an interrupted transfer of large files has recorded each gibibyte of them', async () => {
  await using stack = new AsyncDisposableStack()
  const [source, target] = await Promise.all(
    [true, false].map(async (isSource) => {
      const file = join(stack.use(await memoryFolder()).path, 'slipway.db')
      await using store = await sqliteStore({ file, clock: Date.now, deadlines: PATIENT })
      const large = [1, 2, 3].map((number) => ({ ...storedBlob(number), size: 2 ** 30 }))
      if (isSource) await store.write('relaxed', {}, (tx) => tx.blobs.add('bakery', large))
      return () => sqliteTables(file, { isSource })
    }),
  )
  const tables = [stack.use(await source!()), stack.use(await target!())] as const
  const asked: number[] = []
  const copy = async (locations: readonly BlobLocation[]) => {
    asked.push(locations.length)
    if (asked.length === 3) throw new Error('stopped')
    return locations.map(({ hash }) => ({ hash, size: 2 ** 30, object: `copy-${hash}`, piecesHash: null }))
  }
  await assert.rejects(new Transfer(...tables).copyBlobs(copy), /stopped/)
  await new Transfer(...tables).copyBlobs(copy)
  assert.deepEqual(asked, [1, 1, 1, 0, 0, 1])
})
