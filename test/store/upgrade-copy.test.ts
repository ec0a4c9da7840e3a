import assert from 'node:assert/strict'
import { copyFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeLog } from '../../server/lib/log.ts'
import { migrations } from '../../server/store/migrate.ts'
import type { Migration } from '../../server/store/migration.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import { createNextRelease } from '../fleet/next-release.ts'
import { PATIENT } from '../support/patient.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { ADDS_COLUMN, LAST_KNOWN, REMOVES_COLUMN } from './later-release.ts'
import { siteRow } from './rows.ts'

const INDEX: Migration = {
  name: '903-index',
  compatibleWith: LAST_KNOWN,
  indexes: [{ name: 'sites_by_title', on: 'sites (title)' }],
}

/** Starts a release with these additional migrations, and stops it. Returns the lines of its log. */
async function start(
  file: string,
  release: string,
  additional: readonly Migration[] = [],
  slug?: string,
): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = []
  const log = makeLog({ level: 'info', text: false, write: (line) => void lines.push(JSON.parse(line)) })
  const upgrade = { release, log, steps: [...migrations, ...additional] }
  await using store = await sqliteStore({ file, clock: Date.now, deadlines: PATIENT, upgrade })
  if (slug) await store.write('durable', {}, (tx) => tx.sites.insert(siteRow(slug)))
  return lines
}

async function listCopies(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.includes('before')).sort()
}

test('a release copies the database before it migrates it, logs that, and keeps the last two copies', async () => {
  await using folder = await memoryFolder()
  const file = join(folder.path, 'slipway.db')
  assert.deepEqual(await start(file, '1.0.0', [], 'bakery'), [], 'a new database has nothing to copy')
  assert.deepEqual(await start(file, '1.0.0'), [])
  const [copied, migrated] = await start(file, '1.1.0', [ADDS_COLUMN])
  const copy = join(folder.path, 'slipway-before-1.1.0.db')
  const { size } = await stat(copy)
  assert.deepEqual(
    [copied?.message, copied?.copy, copied?.bytes],
    ['copied the database before its migration', copy, size],
  )
  assert.deepEqual(
    [migrated?.message, migrated?.release, migrated?.migrations],
    ['migrated the database', '1.1.0', ['901-adds-column']],
  )
  assert.equal((await start(file, '1.2.0', [ADDS_COLUMN, INDEX])).length, 1, 'an index rewrites nothing')
  await start(file, '1.3.0', [ADDS_COLUMN, INDEX, REMOVES_COLUMN])
  await start(file, '1.4.0', [
    ADDS_COLUMN,
    INDEX,
    REMOVES_COLUMN,
    { ...ADDS_COLUMN, name: '904-adds-column' },
  ])
  assert.deepEqual(await listCopies(folder.path), ['slipway-before-1.3.0.db', 'slipway-before-1.4.0.db'])
})

test('the release before runs on a migrated database, or refuses it and runs on the copy', async () => {
  await using folder = await memoryFolder()
  const file = join(folder.path, 'slipway.db')
  await start(file, '1.0.0', [], 'bakery')
  await start(file, '1.1.0', [ADDS_COLUMN])
  await start(file, '1.0.0', [], 'florist')
  await start(file, '1.2.0', [ADDS_COLUMN, REMOVES_COLUMN])
  await assert.rejects(
    start(file, '1.0.0'),
    /newer version of Slipway.*go back as docs\/backup\.md describes/,
  )
  for (const suffix of ['-wal', '-shm']) await rm(file + suffix, { force: true })
  await copyFile(join(folder.path, 'slipway-before-1.2.0.db'), file)
  await start(file, '1.0.0')
  await using store = await sqliteStore({ file, clock: Date.now, deadlines: PATIENT })
  assert.ok(await store.read.sites.find('florist'))
})

test('this release runs on the database of the next one, to which the fleet is upgraded', async () => {
  await using folder = await memoryFolder()
  await using next = await createNextRelease()
  const file = join(folder.path, 'slipway.db')
  await start(file, '1.0.0', [], 'bakery')
  const upgraded: { migrations: Migration[] } = await import(join(next.root, 'server/store/migrate.ts'))
  const added = upgraded.migrations.slice(migrations.length)
  assert.equal((await start(file, '1.1.0', added)).length, 2)
  assert.deepEqual(await start(file, '1.0.0', [], 'florist'), [])
})

test('without room for the copy, no release starts and nothing changes', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(8 * 2 ** 20)
  const file = join(disk.folder, 'slipway.db')
  await start(file, '1.0.0', [], 'bakery')
  await disk.fill(300_000)
  await assert.rejects(start(file, '1.1.0', [ADDS_COLUMN]), {
    code: 'INSUFFICIENT_STORAGE',
    message: /copies it first: that needs .* are free\. Make room and start it again/,
  })
  await disk.clear()
  assert.deepEqual(await listCopies(disk.folder), [])
  const { size } = await stat(file)
  await disk.fill(2.5 * size)
  await writeFile(join(disk.folder, 'slipway-before-1.0.9.db.partial'), Buffer.alloc(size))
  assert.equal((await start(file, '1.1.0', [ADDS_COLUMN])).length, 2, 'what a killed start left is deleted')
  assert.deepEqual(await listCopies(disk.folder), ['slipway-before-1.1.0.db'])
})
