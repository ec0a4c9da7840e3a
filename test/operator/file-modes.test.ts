import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { chmod, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { memoryFolder } from '../tools/memory-folder.ts'
import { Program, run } from './program.ts'
import { Publisher } from './publisher.ts'

/** Files with permissions for other users; ignores files that are deleted while they are listed. */
async function openToOthers(folder: string): Promise<string[]> {
  const names = ['.', ...(await readdir(folder, { recursive: true }))]
  return names.filter((name) => {
    const stats = statSync(join(folder, name), { throwIfNoEntry: false })
    return stats !== undefined && (stats.mode & 0o077) !== 0
  })
}

test('neither the data folder nor a file in it is readable by other users, even if they were before the start', async (t) => {
  await using folder = await memoryFolder()
  await chmod(folder.path, 0o755)
  const umask = process.umask(0o022)
  t.after(() => process.umask(umask))
  {
    await using program = await Program.serve({ DATA: folder.path })
    using publisher = new Publisher(program)
    await publisher.client.requestCode('user@example.org')
    await publisher.publish({ 'index.html': '<h1>Hello</h1>' })
    const names = await readdir(folder.path, { recursive: true })
    const kinds = [
      /^slipway\.db$/,
      /^slipway\.db-wal$/,
      /^secret$/,
      /^mail\/.+\.eml$/,
      /^blobs\/\w\w\/\w{4}-/,
      /^spool$/,
    ]
    for (const kind of kinds)
      assert.ok(
        names.some((name) => kind.test(name)),
        `${kind} in ${names.join(' ')}`,
      )
    assert.deepEqual(await openToOthers(folder.path), [])
  }
  for (const name of ['slipway.db', 'secret']) await chmod(join(folder.path, name), 0o644)
  for (const name of ['.', 'blobs', 'spool']) await chmod(join(folder.path, name), 0o750)
  assert.equal((await run(['certificates'], { DATA: folder.path, LOG: 'silent' })).code, 0)
  assert.deepEqual(await openToOthers(folder.path), [])
})

test('a command runs no code that another user has put into the temporary folder', async () => {
  await using home = await memoryFolder()
  await using shared = await memoryFolder()
  const script = join(import.meta.dirname, '../../server/bin/slipway-server.js')
  // Nothing can be created in the last one.
  for (const HOME of [home.path, '/proc']) {
    const env = { PATH: process.env.PATH, HOME, TMPDIR: shared.path }
    execFileSync(process.execPath, [script, 'help'], { env })
  }
  assert.deepEqual(await readdir(shared.path), [])
  assert.deepEqual(await readdir(join(home.path, '.cache')), ['slipway-server'])
})
