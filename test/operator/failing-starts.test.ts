import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { readDescriptors } from '../../server/operations/telemetry/process-metrics.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import { nodeSettings } from '../database-faults/node-settings.ts'
import { createStorage } from '../s3/storage.ts'
import { listen } from '../support/listen.ts'
import { PATIENT } from '../support/patient.ts'
import { startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { Program, run } from './program.ts'

test('what stops a start, and commands that use the data, is one line, with exit code 1', async () => {
  await using folder = await memoryFolder()
  const [file, damaged, future, guessable] = ['file', 'damaged', 'future', 'guessable'].map((name) =>
    join(folder.path, name),
  )
  await writeFile(file!, '')
  await mkdir(damaged!)
  await writeFile(join(damaged!, 'slipway.db'), 'x'.repeat(5000))
  await writeFutureData(future!)
  const readFuture = () => readFile(join(future!, 'slipway.db'))
  const written = await readFuture()
  await mkdir(guessable!)
  await writeFile(join(guessable!, 'secret'), '')
  const absent = join(folder.path, 'absent')
  await using server = createServer()
  const PORT = String(await listen(server))
  const inUse = `Port ${PORT} is in use[^\\n]*SLIPWAY_PORT\\.`
  const noAddress = (host: string) => `SLIPWAY_HOST=${host} is not an address of this machine\\.`
  const newer = '[^\\n]*newer version of Slipway[^\\n]*999-of-the-future[^\\n]*'
  const cases: [args: string[], settings: Record<string, string>, line: string][] = [
    [['serve'], { HOST: '192.0.2.1' }, noAddress('192.0.2.1')],
    // The second line is that of a machine without a resolver.
    [
      ['serve'],
      { HOST: 'no-such-host.invalid' },
      `(${noAddress('no-such-host.invalid')}|SLIPWAY_HOST=no-such-host.invalid cannot be looked up[^\\n]*)`,
    ],
    [['serve'], { PORT }, inUse],
    [['serve'], { PORT, WORKERS: '2' }, inUse],
    [['serve'], { DATA: file! }, '[^\\n]*SLIPWAY_DATA[^\\n]*'],
    // The recursive mkdir of Node does not end there.
    [['serve'], { DATA: '/proc/slipway' }, '[^\\n]*SLIPWAY_DATA[^\\n]*'],
    [['sweep', 'all'], { DATA: join(file!, 'below') }, '[^\\n]*SLIPWAY_DATA[^\\n]*'],
    [
      ['serve'],
      { DATA: guessable! },
      '[^\\n]*guessable/secret [^\\n]* at least 32 characters\\. Restore it[^\\n]*',
    ],
    [['serve'], { DATA: damaged! }, '[^\\n]*database[^\\n]*'],
    [['serve'], { DATA: future! }, newer],
    [[], { DATA: future!, WORKERS: '2' }, newer],
    [['sweep', 'all'], { DATA: absent }, 'No Slipway data in [^\\n]+'],
    [['account', 'plan', 'a@b.test', 'hobby'], { DATA: absent }, 'No Slipway data in [^\\n]+'],
  ]
  for (const [args, settings, line] of cases) {
    const { code, lines, stderr } = await run(args, { DATA: folder.path, PORT: '0', ...settings })
    assert.deepEqual([code, lines], [1, []], stderr)
    assert.match(stderr, new RegExp(`^(slipway-server: ${line}\n)+$`))
  }
  assert.equal(existsSync(absent), false, 'a command creates nothing')
  assert.ok(written.equals(await readFuture()), 'nor does it change newer data')
  for (const args of [['serve'], ['sweep', 'all']]) {
    const { code, lines, stderr } = await run(args, { PORT: 'eighty', SECRET: 'hush' })
    assert.deepEqual([code, lines], [1, []])
    assert.equal(
      stderr,
      'slipway-server: SLIPWAY_PORT="eighty" is not allowed: it must be a whole number from 0 to 65535\n' +
        'SLIPWAY_SECRET=(hidden) is not allowed: it must have at least 32 characters\n',
    )
  }
})

test('a start without the files of its sites, as without their disk or bucket, ends before it takes new ones', async () => {
  await using folder = await memoryFolder()
  const DATA = join(folder.path, 'data')
  const [blobs, disk] = [join(DATA, 'blobs'), join(folder.path, 'disk')]
  const start = async (settings: Record<string, string> = {}) => {
    const started = await startTestService({ DATA, ...settings }).catch((error: Error) => error)
    if (started instanceof Error) return started.message
    await started[Symbol.asyncDispose]()
    return 'it has started'
  }
  const publish = async () => {
    await using service = await startTestService({ DATA })
    return await service.client().publishContents({ files: [{ path: 'index.html', content: 'a page' }] })
  }
  await publish()
  assert.match(
    await start({ BLOBS_URL: 's3://another?region=eu-west-1' }),
    /^SLIPWAY_BLOBS_URL is not that of the service .*settings share$/,
  )
  await rename(blobs, disk)
  await mkdir(blobs)
  const empty = `${blobs} is empty, but the database names files: mount its disk, or set SLIPWAY_BLOBS_URL to their bucket. If they are lost, create the folder ${join(blobs, '00')} to start without them.`
  assert.equal(await start(), empty)
  const backup = await run(['backup', folder.path], { DATA })
  assert.deepEqual([backup.code, backup.stderr], [1, `slipway-server: ${empty}\n`])
  await rm(blobs, { recursive: true })
  assert.equal(await start(), empty)
  await mkdir(join(blobs, '00'))
  await publish()
  await rm(blobs, { recursive: true })
  await rename(disk, blobs)
  await publish()
})

for (const engine of ['SQLite', 'PostgreSQL'] as const)
  test(
    `with ${engine}, a new service does not begin in the bucket of another one, unless its operator says so`,
    requires('ceph', ...(engine === 'PostgreSQL' ? (['postgres'] as const) : [])),
    async () => {
      await using stack = new AsyncDisposableStack()
      const { url: BLOBS_URL } = stack.use(await createStorage())
      const files = [{ path: 'index.html', content: 'a page' }]
      const first = { DATA: stack.use(await memoryFolder()).path, BLOBS_URL }
      const publish = async () => {
        await using service = await startTestService(first)
        await service.client().publishContents({ files })
      }
      await publish()
      await publish()
      const database =
        engine === 'SQLite' ? undefined : stack.use(await (await sharedPostgres()).borrowDatabase())
      const second = {
        ...(database ? await nodeSettings(database.url) : {}),
        ...{ DATA: stack.use(await memoryFolder()).path, BLOBS_URL, PROXY_HOST: 'domains.slipway-test.net' },
      }
      for (let count = 0; count < 2; count++)
        await assert.rejects(
          startTestService(second),
          /^Error: SLIPWAY_BLOBS_URL has files, but the database is new/,
        )
      const { code, stderr } = await run(['settings', 'share'], second)
      assert.equal(code, 0, stderr)
      await using service = await startTestService(second)
      await service.client().publishContents({ files })
    },
  )

test(
  'a start that the limit of open files stops says so, in one line with exit code 1',
  requires('descriptors'),
  async () => {
    await using folder = await memoryFolder()
    const { limit } = await readDescriptors()
    const setLimit = (soft: number) =>
      execFileSync('prlimit', ['--pid', `${process.pid}`, `--nofile=${soft}:`])
    setLimit((await readDescriptors()).open + 100)
    const { code, stderr } = await run(['serve'], { DATA: folder.path, PORT: '0' }).finally(() =>
      setLimit(limit),
    )
    assert.equal(code, 1)
    assert.match(stderr, /^slipway-server: The limit of open files is too low [^\n]*LimitNOFILE[^\n]*\n$/)
  },
)

/** A module of the server cannot be read, as in an incomplete installation, and something that was opened stays open. */
const INCOMPLETE = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  setInterval(() => {}, 2 ** 30)
  registerHooks({
    load(url, context, next) {
      if (url.endsWith('/server/app.ts')) throw new Error('app.ts is missing')
      return next(url, context)
    },
  })`)}`

test('a start from an incomplete installation ends with the reason, also with workers', async () => {
  await using folder = await memoryFolder()
  for (const WORKERS of ['1', '2']) {
    await using program = Program.start({ DATA: folder.path, WORKERS }, { modules: [INCOMPLETE] })
    const { code, stderr } = await program.ended
    assert.equal(code, 1)
    assert.match(stderr, /^slipway-server: Error: app\.ts is missing\n/)
  }
})

test('a data folder on a read-only disk stops the start with one line', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(2 ** 20)
  await disk.readOnly(true)
  for (const DATA of [join(disk.folder, 'data'), join(disk.folder, 'data', 'below')]) {
    const { code, stderr } = await run(['serve'], { DATA, PORT: '0' })
    assert.equal(code, 1)
    assert.match(stderr, /^slipway-server: SLIPWAY_DATA=[^\n]+EROFS[^\n]+\n$/)
  }
})

/** Data that only a later version can read. */
async function writeFutureData(folder: string): Promise<void> {
  await mkdir(folder)
  const file = join(folder, 'slipway.db')
  await (await sqliteStore({ file, clock: Date.now, deadlines: PATIENT }))[Symbol.asyncDispose]()
  using database = new DatabaseSync(file)
  database.exec(
    "INSERT INTO applied_migrations VALUES ('999-of-the-future', 0); UPDATE schema_compatibility SET oldest = '999-of-the-future'",
  )
}
