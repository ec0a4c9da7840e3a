import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { listBackups } from '../../server/operations/backup/manifest.ts'
import { openBackupTarget } from '../../server/operations/copies.ts'
import { run } from '../operator/program.ts'
import { startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'

const SECRET = 'a secret of thirty-two characters'

describe('slipway-server backup', () => {
  const opened = new AsyncDisposableStack()
  /** The data of a stopped service. */
  let data: string
  before(async () => {
    data = join(opened.use(await memoryFolder()).path, 'data')
    await using _ = await startTestService({ DATA: data, SECRET })
  })
  after(() => opened.disposeAsync())

  test('refuses what it cannot back up, with a sentence', async () => {
    await using folder = await memoryFolder()
    const postgres = { DATABASE_URL: 'postgres://a@127.0.0.1:1/b', SECRET, BASE_URL: 'https://a.test' }
    for (const [args, settings, code, sentence] of [
      [[], {}, 2, /A target is missing/],
      [[folder.path, '--keep', '0'], {}, 2, /--keep needs a number of backups/],
      [[folder.path, '--fast'], {}, 2, /backup: Unknown option '--fast'/],
      [[join(data, 'copy')], {}, 1, /is in the data folder/],
      [[join(folder.path, 'absent')], {}, 1, /absent is not a folder: create it once, on the disk/],
      [
        ['list', join(folder.path, 'absent')],
        {},
        1,
        /absent is not a folder: check its path, and that its disk/,
      ],
      [['verify', join(folder.path, 'absent')], {}, 1, /absent is not a folder: check its path/],
      [
        [folder.path],
        { ...postgres, SMTP_URL: 'smtp://127.0.0.1:1' },
        1,
        /docs\/scale\.md describes under "Backup"/,
      ],
      [['list', folder.path, 'more'], {}, 2, /One target is enough/],
      [
        ['lits'],
        {},
        2,
        /^lits is not a target\. Did you mean backup list\? Type a folder with a slash: \.\/lits\n/,
      ],
      [['verify', 'mnt'], {}, 2, /^mnt is not a target\. Type a folder/],
      [['./docs.ts'], {}, 1, /docs\.ts is not a folder/],
      [['verify', folder.path], {}, 1, /has no complete backup/],
      [['verify', folder.path, '2026-01-01T00-00-00.000Z'], {}, 1, /has no backup 2026-01-01/],
    ] as const) {
      const ended = await run(['backup', ...args], { DATA: data, SECRET, ...settings })
      assert.equal(ended.code, code, args.join(' '))
      assert.match(ended.stderr, sentence)
    }
  })

  test('uses the target of the settings, and lists, compares and restores what it made', async () => {
    await using folder = await memoryFolder()
    const settings = { DATA: data, SECRET, BACKUP_TARGET: folder.path, BACKUP_KEEP: '1', LOG: 'warn' }
    for (const args of [[], ['--other-service']])
      assert.equal((await run(['backup', ...args], settings)).code, 0)
    const { lines } = await run(['backup', 'list', '--json'], settings)
    const listed = JSON.parse(lines[0]!)
    assert.deepEqual([listed.length, listed[0].hasSecret], [1, true])
    assert.match((await run(['backup', 'verify'], settings)).lines[0]!, /compared, all are intact/)
    const restored = await run(['restore', '--to-data', join(folder.path, 'new')], settings)
    assert.match(restored.lines.at(-1)!, /Start the service with SLIPWAY_DATA=/)
    assert.equal(restored.code, 0)
    const withBucket = { ...settings, BLOBS_URL: 's3://bucket?region=eu-west-1' }
    const { lines: more } = await run(['restore', '--to-data', join(folder.path, 'newer')], withBucket)
    assert.match(more.at(-1)!, /Unset SLIPWAY_BLOBS_URL/)
  })

  test('to another target than that of the settings hides no failure of the timer, and is none itself', async () => {
    await using folder = await memoryFolder()
    const settings = { DATA: data, SECRET, LOG: 'warn' }
    const timer = { ...settings, BACKUP_TARGET: join(folder.path, 'unmounted') }
    const readRun = () => {
      using database = new DatabaseSync(join(data, 'slipway.db'))
      return database.prepare("select started_at, failures from sweep_runs where name = 'backup'").get()!
    }
    assert.equal((await run(['backup'], timer)).code, 1)
    const failed = readRun()
    assert.equal(failed.failures, 1)
    assert.equal((await run(['backup', folder.path], timer)).code, 0)
    assert.equal((await run(['backup', join(folder.path, 'absent')], timer)).code, 1)
    assert.deepEqual(readRun(), failed)
    await mkdir(timer.BACKUP_TARGET)
    assert.equal((await run(['backup', `${timer.BACKUP_TARGET}/`], timer)).code, 0)
    assert.equal(readRun().failures, 0)
    assert.equal((await run(['backup', join(folder.path, 'absent')], settings)).code, 1)
    assert.equal(readRun().failures, 1, 'without a setting all targets count')
  })

  test('is restored with keys and, only if that is wanted, with sessions, access of programs and review links', async () => {
    await using folder = await memoryFolder()
    const source = join(folder.path, 'data')
    await cp(data, source, { recursive: true })
    const kept = ['accounts', 'named_keys', "oauth_records where kind = 'Client'"]
    const ended = ['sessions', 'sign_in_codes', 'device_sign_ins', 'review_links', 'oauth_records']
    const count = (folder: string, tables: readonly string[]) => {
      using database = new DatabaseSync(join(folder, 'slipway.db'))
      const counts = tables.map((table) => database.prepare(`select count(*) as count from ${table}`).get()!)
      return counts.map((row) => row.count)
    }
    {
      using database = new DatabaseSync(join(source, 'slipway.db'))
      for (const table of [...kept.slice(0, 2), ...ended]) {
        const columns = database.prepare(`select name, type from pragma_table_info('${table}')`).all()
        const values = columns.map(({ name, type }) => (type === 'TEXT' ? `'${table} ${name}'` : 1))
        database.exec(`insert into ${table} values (${values})`)
      }
      database.exec("insert into oauth_records select 'id', 'Client', null, null, '{}', 1, 1, null")
    }
    const target = join(folder.path, 'target')
    await mkdir(target)
    assert.equal((await run(['backup', target], { DATA: source, SECRET, LOG: 'warn' })).code, 0)
    for (const [options, counts, advice] of [
      [
        [],
        [0, 0, 0, 0, 1],
        /not restored: users sign in again.* API keys that were revoked after .*slipway keys revoke/,
      ],
      [
        ['--with-sessions'],
        [1, 1, 1, 1, 2],
        /^Sessions, .* API keys that ended after the backup are valid again/,
      ],
    ] as const) {
      const to = join(folder.path, `restored${options}`)
      const { code, lines } = await run(['restore', target, '--to-data', to, ...options], { SECRET })
      assert.equal(code, 0)
      assert.match(lines.at(-2)!, advice)
      assert.deepEqual([count(to, kept), count(to, ended)], [[1, 1, 1], counts])
    }
  })

  test('with a damaged manifest is listed beside the others, and no earlier one is deleted in its place', async () => {
    await using folder = await memoryFolder()
    const settings = { DATA: data, SECRET, BACKUP_TARGET: folder.path, LOG: 'warn' }
    for (const _ of [1, 2]) assert.equal((await run(['backup'], settings)).code, 0)
    const [damaged] = await listBackups(await openBackupTarget(folder.path))
    const path = join(folder.path, 'backups', `${damaged}.json`)
    const manifest = JSON.parse(await readFile(path, 'utf8'))
    for (const [text, problem] of [
      ['{"format": 1, "ti', 'damaged manifest'],
      ['null', 'damaged manifest'],
      [JSON.stringify({ ...manifest, secret: 'a' }), 'unusable secret'],
      [JSON.stringify({ ...manifest, release: '\u001b[31m9' }), 'damaged manifest'],
      [JSON.stringify({ ...manifest, service: '\u001b[31m9' }), 'damaged manifest'],
      [JSON.stringify({ ...manifest, release: '\u001b[31m9', format: 99 }), 'newer release, not named'],
      [`{"format": 1, "time": "${damaged}"}`, 'damaged manifest'],
    ] as const) {
      await writeFile(path, text)
      const { code, lines } = await run(['backup', 'list'], settings)
      assert.equal(code, 1, text)
      assert.match(lines[0]!, new RegExp(`^${damaged} .*${problem}`))
      assert.match(lines[1]!, /0 sites/)
    }
    const { code, lines } = await run(['backup', 'list', '--json'], settings)
    const [other, intact] = JSON.parse(lines[0]!)
    assert.deepEqual([code, intact.hasSecret, other.time], [1, true, damaged])
    assert.match(other.problem, /damaged manifest/)
    // With 1, the damaged one is not among those to keep; it may be of another service.
    for (const keep of ['2', '1']) {
      const next = await run(['backup', '--keep', keep], settings)
      assert.equal(next.code, 1)
      assert.match(
        next.stderr,
        /backup \S+ is complete, but earlier ones could not be deleted.*damaged manifest/,
      )
    }
    assert.equal((await run(['backup', 'list'], settings)).lines.length, 4)
  })

  test('of the timer verifies also after a backup that failed, and fails when one of the two does', async () => {
    const unit = await readFile(
      new URL('../../deploy/debian/slipway-backup.service', import.meta.url),
      'utf8',
    )
    const [, script] = /^ExecStart=\/bin\/sh -c '(.*)'$/m.exec(unit)!
    for (const [made, verified, code] of [
      [0, 0, 0],
      [1, 0, 1],
      [0, 1, 1],
      [1, 1, 1],
    ] as const) {
      const stub = `run() { echo "$*"; [ "$2" = verify ] && return ${verified}; return ${made}; }`
      const command = script!.replaceAll('/usr/bin/slipway-server', 'run').replaceAll('$$', '$')
      const { status, stdout } = spawnSync('/bin/sh', ['-c', `${stub}; ${command}`], { encoding: 'utf8' })
      assert.deepEqual([status, stdout], [code, 'backup\nbackup verify --parts 30 --repair\n'])
    }
  })

  test('says what lacks room when the disk of the data folder is full', requires('small-disk'), async () => {
    await using disk = await mountSmallDisk(16 * 2 ** 20)
    await using target = await memoryFolder()
    const settings = { DATA: join(disk.folder, 'data'), SECRET, BACKUP_TARGET: target.path, LOG: 'warn' }
    await cp(data, settings.DATA, { recursive: true })
    const full = /The disk of \S+ has too little free space besides SLIPWAY_DISK_RESERVE\. Make room there/
    const refused = await run(['backup'], { ...settings, DISK_RESERVE: '16MB' })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, full)
    const { size } = await stat(join(settings.DATA, 'slipway.db'))
    await disk.fill(1_000_000 + 1.5 * size)
    assert.match((await run(['backup'], { ...settings, DISK_RESERVE: '1MB' })).stderr, full)
    assert.deepEqual(await readdir(target.path), [], 'no file was copied in vain')
    await disk.clear()
    await disk.fill(400_000)
    assert.match((await run(['backup'], { ...settings, DISK_RESERVE: '0' })).stderr, full)
    assert.ok(!(await readdir(settings.DATA)).includes('backup'), 'the copy of the database is deleted')
  })
})
