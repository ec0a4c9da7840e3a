import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Slipway } from '../../client/sdk/slipway.ts'
import { Program, run } from './program.ts'

/** A folder that all users can enter and read. */
async function openFolder() {
  const path = await mkdtemp(join(tmpdir(), 'slipway-modes-'))
  await chmod(path, 0o755)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Files with permissions for other users; ignores files that are deleted while they are listed. */
async function openToOthers(folder: string, bits = 0o077): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  return names.filter((name) => {
    const stats = statSync(join(folder, name), { throwIfNoEntry: false })
    return stats !== undefined && (stats.mode & bits) !== 0
  })
}

test('no file in the data folder is readable by other users, even if they can enter the folder', async () => {
  await using folder = await openFolder()
  const umask = process.umask(0o022)
  try {
    await using program = await Program.serve({ DATA: folder.path })
    const slipway = new Slipway({ baseUrl: program.baseUrl })
    await slipway.requestCode('user@example.org')
    const page = new TextEncoder().encode('<h1>Hello</h1>')
    const file = { path: 'index.html', size: page.length, contentType: 'text/html', open: () => page }
    await slipway.publish({ files: [file] })
    const names = await readdir(folder.path, { recursive: true })
    for (const kind of [
      /^slipway\.db$/,
      /^slipway\.db-wal$/,
      /^secret$/,
      /^mail\/.+\.eml$/,
      /^blobs\/.+\w{64}/,
      /^spool$/,
    ])
      assert.ok(
        names.some((name) => kind.test(name)),
        `${kind} in ${names.join(' ')}`,
      )
    assert.deepEqual(await openToOthers(folder.path), [])
  } finally {
    process.umask(umask)
  }
})

test('the next start removes permissions that an earlier version granted, and commands grant none', async () => {
  await using folder = await openFolder()
  const settings = { DATA: folder.path, LOG: 'silent' }
  await Program.serve({ DATA: folder.path }).then((program) => program.stop())
  assert.deepEqual(await openToOthers(folder.path), [])
  for (const name of ['slipway.db', 'secret']) await chmod(join(folder.path, name), 0o644)
  for (const name of ['blobs', 'spool']) await chmod(join(folder.path, name), 0o755)
  assert.equal((await run(['sweep', 'sign-ins'], settings)).code, 0)
  assert.deepEqual(await openToOthers(folder.path, 0o007), [])
})
